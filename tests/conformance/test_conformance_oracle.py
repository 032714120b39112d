"""Every row of the table beside PyTorch itself; with `--full` on every dtype and shape."""

from __future__ import annotations

import pytest
from tensor_table.cases import Case
from tensor_table.check import gradient_failures, value_failures
from tensor_table.reference import torch_oracle
from tensor_table.table import all_rows

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

ORACLE = torch_oracle(torch)
CASES = [
    pytest.param(case, id=f"{row.name}: {case.ours}"[:90])
    for row in all_rows()
    for case in row.cases
    if case.torch is not None
]


@pytest.mark.parametrize("case", CASES)
def test_like_pytorch(case: Case, pytestconfig: pytest.Config) -> None:
    failures = value_failures(case, ORACLE, full=pytestconfig.getoption("--full"))
    if case.gradient:
        failures += gradient_failures(case, ORACLE)
    assert not failures, "\n".join(failures)
