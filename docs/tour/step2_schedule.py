"""2. The schedule is a LINEAR of CALLs: here one, since everything fits in one kernel."""

from __future__ import annotations

from expression import expression
from tg_uop.text.dump import dump

linear = expression().schedule_linear()
for call in linear.src:
    print("a call of", call.called.op, "on", [argument.op.name for argument in call.call_args])
    print()

    # kernel form: loops are RANGEs, memory is read by INDEX, a loop ends at REDUCE or END
    print(dump(call.called, lines=False))
