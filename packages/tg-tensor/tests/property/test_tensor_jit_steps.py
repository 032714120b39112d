"""Captured steps over state do what the function does without the JIT."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tg_tensor import Tensor, TinyJit

Step = tuple[str, int, int]

STEPS = st.lists(
    st.tuples(
        st.sampled_from(("assign", "slice", "shift", "read", "swap", "argument", "realize")),
        st.integers(0, 1),
        st.integers(0, 4),
    ),
    min_size=1,
    max_size=6,
)


def run(steps: list[Step], state: list[Tensor], x: Tensor) -> list[Tensor]:
    """Change the state and read from it."""
    reads: list[Tensor] = []
    for kind, which, place in steps:
        t, o = state[which], state[1 - which]
        match kind:
            case "assign":
                t.assign(t + o * 0.5)
            case "slice":
                t[place:] = o[place:] + 1
            case "shift":
                t[1:] = t[:-1]
            case "read":
                reads.append(t * 2 + place)
            case "swap":
                old_t, old_o = t + 0, o + 0
                t.assign(old_o)
                o.assign(old_t)
            case "argument":
                t.assign(t * 0.5 + x)
            case _:
                t.realize()
    return [*reads, x + state[0].sum()]


@given(STEPS)
@settings(max_examples=40)
def test_replays_are_like_calls(steps: list[Step]) -> None:
    def fresh() -> list[Tensor]:
        return [
            Tensor(np.arange(5, dtype=np.float32)).realize(),
            Tensor(np.arange(5, 10, dtype=np.float32)).realize(),
        ]

    plain, captured = fresh(), fresh()
    jitted = TinyJit(lambda x: [*run(steps, captured, x), *captured])
    for call in range(4):
        x = Tensor(np.full(5, call, np.float32)).realize()
        expected = [t.numpy() for t in [*run(steps, plain, x), *plain]]
        found = [t.numpy() for t in jitted(x)]
        for left, right in zip(found, expected, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-5)
    for left, right in zip(captured, plain, strict=True):
        np.testing.assert_allclose(left.numpy(), right.numpy(), rtol=1e-5)
