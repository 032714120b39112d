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


FORMS = {form: _pass_form(form) for form in node.Form}

TENSOR = FORMS[node.Form.TENSOR]
KERNEL = FORMS[node.Form.KERNEL]
EXPANDED = FORMS[node.Form.EXPANDED]
LOWERED = FORMS[node.Form.LOWERED]
LINEAR = FORMS[node.Form.LINEAR]
