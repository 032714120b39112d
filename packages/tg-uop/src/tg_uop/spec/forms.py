"""The forms as passes and pipelines name them: each with its verifier."""

from __future__ import annotations

from collections.abc import Callable

from tg_uop.ir.uop import UOp
from tg_uop.rewrite import passes
from tg_uop.spec import node
from tg_uop.spec.verify import verify


def _verifier(form: node.Form) -> Callable[[UOp], None]:
    return lambda graph: verify(graph, form)


def _pass_form(form: node.Form) -> passes.Form:
    return passes.Form(form.name.lower(), _verifier(form))


TENSOR = _pass_form(node.Form.TENSOR)
KERNEL = _pass_form(node.Form.KERNEL)
EXPANDED = _pass_form(node.Form.EXPANDED)
LOWERED = _pass_form(node.Form.LOWERED)
LINEAR = _pass_form(node.Form.LINEAR)
