"""Rows of real ONNX models beside onnxruntime, for those that are on this machine.

`ONNX_PKGS` is the folder with the packages that carry the models, `ONNX_ORACLES` the one with
`manifest.json`, which says where in a package a model is, and `oracles/MODEL.npz` with its inputs.
Without them, or without onnxruntime, there are no such rows.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from bench.case import Array, Competitors, Row
from bench.measure import Run

PACKAGES, ORACLES = "ONNX_PKGS", "ONNX_ORACLES"
# its threads spin for some 20 ms after a run, on the core that a thread of the next one needs
PAUSE_SECONDS = 40e-3


def onnx_rows() -> tuple[tuple[Row, ...], str]:
    """The rows, and why there are none or fewer than the manifest lists; "" if none are lacking."""
    if importlib.util.find_spec("onnxruntime") is None:
        return (), "no rows of ONNX models: onnxruntime is not here"
    folders = [os.environ.get(name) for name in (PACKAGES, ORACLES)]
    if folders[0] is None or folders[1] is None:
        return (), f"no rows of ONNX models: {PACKAGES} and {ORACLES} say where they are"
    packages, oracles = Path(folders[0]), Path(folders[1])
    manifest = json.loads((oracles / "manifest.json").read_text())
    rows, lacking = [], []
    for name, about in manifest.items():
        path = packages / about["file"]
        if not path.exists():
            lacking.append(name)
            continue
        arrays = oracles / "oracles" / f"{name}.npz"
        rows.extend(_row(f"{name} {which}", path, arrays, which) for which in about["sets"])
    return tuple(rows), f"ONNX models that are not here: {', '.join(lacking)}" if lacking else ""


def _row(name: str, path: Path, arrays: Path, which: str) -> Row:
    def build(libraries: frozenset[str]) -> Competitors:
        inputs = inputs_of(arrays, which)
        threads = int(os.environ["CPU_COUNT"])
        return {"tg": tg_run(path, inputs), "onnxruntime": onnxruntime_run(path, inputs, threads)}

    return Row(name, build, budget=2.0, pause=PAUSE_SECONDS, group="onnx")


def inputs_of(arrays: Path, which: str) -> dict[str, Array]:
    """The inputs of one of the sets that a file holds."""
    start = f"{which}/in/"
    with np.load(arrays) as file:
        return {name[len(start) :]: file[name] for name in file.files if name.startswith(start)}


def tg_run(path: Path, inputs: Mapping[str, Array]) -> Run:
    """A call with arrays that gives arrays."""
    from tg_onnx import OnnxRunner

    runner = OnnxRunner(path)

    def run() -> object:
        return {name: value.numpy() for name, value in runner(inputs).items()}  # type: ignore[union-attr]

    return run


def onnxruntime_run(path: Path, inputs: Mapping[str, Array], threads: int) -> Run:
    """The same call of onnxruntime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, dict(inputs))
