"""A schedule as text."""

from __future__ import annotations

import numpy as np
from tg_tensor import Tensor
from tg_tensor.viz.schedule import describe_schedule


def test_each_call_has_a_line() -> None:
    x = Tensor(np.ones((300, 20), np.float32)).realize()
    shown = describe_schedule((x.softmax(1) * 2).to("CPU:1").schedule_linear()).splitlines()
    assert shown[0].startswith("   0  L300 R20")
    assert "<-" in shown[0]
    assert "copy 24000 CPU -> CPU:1" in shown[-2]
    assert shown[-1].startswith("3 calls")
