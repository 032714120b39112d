"""Read launch data off a kernel: its name, sizes, arguments and variables."""

from __future__ import annotations

from collections.abc import Iterable

from tg_uop import KernelInfo, Ops, ProgramInfo, UOp
from tg_uop.ir.args import ParamArg, Size, SpecialArg, TileProduct

UNNAMED = KernelInfo().name
CORE_ID = "core_id"
HASH_DIGITS = 6


def unique_name(given: UOp, optimized: UOp) -> str:
    """A name that says what the loops are: `r_64_32_16n1f03ab`, or the name that was given.

    It is the name of the optimized kernel, `n` and the beginning of the hash of the kernel as it
    was given, so that it is the same in every process.
    """
    info = given.arg
    if isinstance(info, KernelInfo) and info.name not in (UNNAMED, ""):
        return info.name
    described = optimized.arg.name if isinstance(optimized.arg, KernelInfo) else UNNAMED
    return f"{described}n{given.key.hex()[:HASH_DIGITS]}"


def program_info(
    nodes: Iterable[UOp], info: KernelInfo, name: str, has_groups: bool
) -> ProgramInfo:
    """Launch data from the nodes of a kernel, in kernel, lowered or linear form.

    `has_groups` says whether the device launches work-groups (else it numbers threads).
    """
    slots: set[int] = set()
    stored: set[int] = set()
    loaded: set[int] = set()
    variables: dict[str, UOp] = {}
    sizes: dict[str, Size] = {}
    for node in nodes:
        if node.op is Ops.PARAM:
            slots.add(param_slot(node))
        elif node.op is Ops.DEFINE_VAR:
            variables[node.var_name] = node
        elif node.op is Ops.SPECIAL and isinstance(node.arg, SpecialArg):
            sizes[node.arg.name] = node.size
        target = written_place(node)
        if target is not None:
            stored.update(_slots_of(target))
        read = node.src if target is None else node.src[1:]
        for operand in read:
            if operand.op is Ops.INDEX:
                loaded.update(_slots_of(operand))
    return ProgramInfo(
        name=name,
        global_size=_global_size(sizes, has_groups),
        local_size=_three(sizes, "lidx") if has_groups else None,
        vars=tuple(variables[n] for n in sorted(variables)),
        globals=tuple(sorted(slots)),
        outs=tuple(sorted(stored)),
        ins=tuple(sorted(loaded)),
        estimates=info.estimates,
        applied_opts=info.applied_opts,
    )


def param_slot(node: UOp) -> int:
    """Of a PARAM: the number of the argument."""
    assert isinstance(node.arg, ParamArg), f"{node.op} is no PARAM"
    return node.arg.slot


def written_place(node: UOp) -> UOp | None:
    """The address that a statement writes to: a store, or a product of tiles; else None."""
    is_write = node.op is Ops.STORE or isinstance(node.arg, TileProduct)
    return node.src[0] if is_write else None


def _slots_of(address: UOp) -> list[int]:
    """The argument that an address points into; none for scratch memory."""
    node = address
    while node.op in (Ops.INDEX, Ops.AFTER, Ops.CAST, Ops.RESHAPE):
        node = node.src[0]
    return [param_slot(node)] if node.op is Ops.PARAM else []


def _global_size(sizes: dict[str, Size], has_groups: bool) -> tuple[Size, Size, Size]:
    if has_groups:
        return _three(sizes, "gidx")
    return sizes.get(CORE_ID, 1), 1, 1


def _three(sizes: dict[str, Size], prefix: str) -> tuple[Size, Size, Size]:
    first, second, third = (sizes.get(f"{prefix}{i}", 1) for i in range(3))
    return first, second, third
