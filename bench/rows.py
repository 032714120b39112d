"""All rows of the table, in its order."""

from __future__ import annotations

from bench.kernels import KERNELS
from bench.network_rows import NETWORKS
from bench.onnx_rows import onnx_rows
from bench.process_rows import PROCESS
from bench.schedule_rows import SCHEDULES

MODELS, LACKING = onnx_rows()
ROWS = (*PROCESS, *SCHEDULES, *(case.row() for case in KERNELS), *NETWORKS, *MODELS)
