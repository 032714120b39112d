"""3. Opts decide about loops. A Scheduler applies them and says why one does not fit."""

from __future__ import annotations

from expression import RENDERER, kernel
from tg_codegen.errors import KernelOptError
from tg_codegen.optimize.kernel_view import Scheduler
from tg_codegen.pipeline import canonical
from tg_uop import Opt, OptOps

view = Scheduler(canonical(kernel()), RENDERER)
print("loops:", view.shape_str())

view.apply_opt(Opt(OptOps.UPCAST, 0, 2))
print("after UPCAST of axis 0 by 2:", view.shape_str())

view.apply_opt(Opt(OptOps.UNROLL, 0, 4))
print("after UNROLL of the first reduce axis by 4:", view.shape_str())

try:
    view.apply_opt(Opt(OptOps.UPCAST, 0, 3))
except KernelOptError as refusal:
    print("refused:", refusal.explain())
