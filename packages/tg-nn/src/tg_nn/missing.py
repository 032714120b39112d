"""What to use where a layer of another library has no class here."""

from __future__ import annotations

from collections.abc import Sequence

from tg_tensor import Tensor
from tg_uop.suggest import alike


def missing_layer(name: str, known: Sequence[str]) -> str:
    """Why there is no such layer, and which method of Tensor or which other name to use.

    Layers without weights are methods: `ReLU` is `Tensor.relu`, `MSELoss` is `Tensor.mse_loss`.
    """
    text = f"module 'tg_nn' has no attribute {name!r}"
    method = _method_named(name)
    if method is not None:
        return f"{text}; Tensor.{method} does this, as layers without weights are methods"
    near = alike(name, known, 2)
    return f"{text}; did you mean {' or '.join(near)}?" if near else text


def _method_named(name: str) -> str | None:
    """The method of Tensor that a class is named after, if there is one."""
    if not name[:1].isupper():
        return None
    methods = {m.replace("_", ""): m for m in dir(Tensor) if m[0] != "_" and m[-1] != "_"}
    word = name.lower()
    return methods.get(word, methods.get(word.removesuffix("loss")))
