"""Find the tensors of a model by name, and put saved ones in their place."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module

from tg_tensor import Tensor
from tg_uop.arguments import names_bad_arguments

from tg_nn.errors import StateDictError
from tg_nn.io.archives import TensorIO, tar_extract, zip_extract
from tg_nn.io.gguf_files import gguf_load
from tg_nn.io.safetensors import check_state, safe_load, safe_load_metadata, safe_save
from tg_nn.io.torch_files import torch_load

__all__ = [
    "TensorIO",
    "get_parameters",
    "get_state_dict",
    "gguf_load",
    "load_state_dict",
    "safe_load",
    "safe_load_metadata",
    "safe_save",
    "tar_extract",
    "torch_load",
    "zip_extract",
]

SHOW_PROGRESS_ABOVE = 64 << 20  # bytes; below, loading takes well under two seconds


def get_state_dict(
    model: object, prefix: str = "", tensor_type: type[Tensor] = Tensor
) -> dict[str, Tensor]:
    """Every tensor that is reachable through attributes, dicts, lists and tuples, by dotted name.

    A tensor that is reachable by several names is listed under each; an object that contains
    itself is visited once on each path.

    >>> sorted(get_state_dict(Linear(2, 3)))
    ['bias', 'weight']
    """
    found: dict[str, Tensor] = {}
    stack: list[tuple[str, object, tuple[int, ...]]] = [(prefix.strip("."), model, ())]
    while stack:
        name, value, path = stack.pop()
        if isinstance(value, tensor_type):
            found[name] = value
            continue
        if id(value) in path:
            continue
        inner = tuple(_named_parts(value))
        for key, part in reversed(inner):
            stack.append((f"{name}.{key}" if name else key, part, (*path, id(value))))
    return found


def _named_parts(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, OrderedDict | dict):
        for key, part in value.items():
            yield str(key), part
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        yield from zip(value._fields, value, strict=True)
    elif isinstance(value, list | tuple):
        for position, part in enumerate(value):
            yield str(position), part
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield field.name, getattr(value, field.name)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        yield from vars(value).items()


def get_parameters(model: object) -> list[Tensor]:
    """The tensors of a model, in the order of `get_state_dict`."""
    return list(get_state_dict(model).values())


@names_bad_arguments
def load_state_dict(
    model: object,
    state_dict: Mapping[str, Tensor],
    strict: bool = True,
    verbose: bool = True,
    consume: bool = False,
    realize: bool = True,
) -> list[Tensor]:
    """Put the values of `state_dict` into the tensors of `model`, and return these.

    Values move to the device and dtype of the model's tensor, and are cut over several devices as
    that is. `consume` empties the state dict as it goes, to save memory. With `strict` every name
    must fit; without, names that do not are passed over.

    Raises `StateDictError` naming what is missing, unexpected or of another shape, before
    anything is changed; `OperandError` for what is no dict of Tensors.
    """
    check_state("load_state_dict", "state_dict", state_dict)
    own = get_state_dict(model)
    fits = {name for name in own if name in state_dict}
    mismatched = [
        f"{name} (file {state_dict[name].shape}, model {own[name].shape})"
        for name in sorted(fits)
        if not _same_shape(state_dict[name], own[name])
    ]
    missing = sorted(own.keys() - state_dict.keys())
    unexpected = sorted(state_dict.keys() - own.keys())
    if mismatched or (strict and (missing or unexpected)):
        raise StateDictError(
            missing=missing if strict else (),
            unexpected=unexpected if strict else (),
            mismatched=mismatched,
        )
    total_bytes = sum(int(own[name].nbytes()) for name in fits)
    hidden = not verbose or total_bytes < SHOW_PROGRESS_ABOVE
    for name in _with_progress([n for n in own if n in fits], hidden):
        target, value = own[name], state_dict[name]
        target.replace(value.reshape(target.shape).cast(target.dtype).shard_like(target))
        if realize:
            target.realize()
        if consume and isinstance(state_dict, dict):
            del state_dict[name]
    return [own[name] for name in own if name in fits]


def _with_progress(names: list[str], hidden: bool) -> Iterable[str]:
    """The names, with a bar that shows how far it is through them."""
    if hidden:
        return names
    # it takes longer to load than all of this package
    bar: Iterable[str] = import_module("tqdm").tqdm(names, desc="weights", leave=False)
    return bar


def _same_shape(value: Tensor, target: Tensor) -> bool:
    """PyTorch saves the counter of batches as a scalar; one element is one element."""
    if value.numel() == target.numel() == 1:
        return True
    return tuple(value.shape) == tuple(target.shape)
