"""7. The device compiles the source, and its queue runs the program on buffers."""

from __future__ import annotations

from expression import expression, inputs
from tg_tensor import GlobalCounters, TinyJit

y = expression().realize()
GlobalCounters.reset()
y = expression()
print("result", y.tolist())
print("kernels for it and its inputs:", GlobalCounters.kernel_count)

# captured, the step is replayed as one submit
step = TinyJit(lambda p, q: (p + q).relu().sum(axis=1).realize())
a, b = inputs()
for _ in range(3):
    result = step(a, b)
print("replayed", result.tolist())
