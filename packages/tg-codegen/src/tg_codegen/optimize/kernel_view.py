"""Scheduler: the kernel as Opts see it, with its numbered axes, and the record of those applied."""

from __future__ import annotations

from dataclasses import replace

from tg_uop import AxisType, Ops, Opt, UOp, sint

from tg_codegen.optimize.apply import apply_to
from tg_codegen.optimize.loop_nest import HasCapabilities, LoopNest
from tg_codegen.optimize.loop_rewrite import LoopReplacement, replace_loops

_COLORS = {
    AxisType.GLOBAL: "34",
    AxisType.THREAD: "94",
    AxisType.LOCAL: "36",
    AxisType.WARP: "96",
    AxisType.LOOP: "97",
    AxisType.UPCAST: "33",
    AxisType.GROUP_REDUCE: "92",
    AxisType.REDUCE: "31",
    AxisType.UNROLL: "35",
}


class Scheduler(LoopNest):
    """The state that Opts apply to.

    `rngs` numbers the axes; UPCAST, LANES, LOCAL, THREAD, PADTO and SWAP name an axis by that
    number, UNROLL counts within `unrollable_dims`, GROUP and GROUPTOP within the REDUCE axes.
    An amount of 0 takes the whole axis. STAGE names an axis and an operand of `bufs`.
    """

    def __init__(self, ast: UOp, renderer: HasCapabilities) -> None:
        super().__init__(ast, renderer)
        self.applied_opts: list[Opt] = list(self.info.applied_opts)

    def copy(self) -> Scheduler:
        """The same state, to go on with on its own."""
        twin = Scheduler(self.ast, self.renderer)
        twin.applied_opts = list(self.applied_opts)
        return twin

    def apply_opt(self, opt: Opt) -> None:
        """Apply one Opt.

        Raises `KernelOptError`, which says why it cannot be and what could; nothing changes then.
        """
        apply_to(self, opt)
        self.applied_opts.append(opt)

    def convert_loop_to_global(self) -> None:
        """Give each loop that all outputs share to the device's grid."""
        shared = [r for r in self.shared_output_loops if r.axis_type is AxisType.LOOP]
        replacements = {}
        for loop in shared:
            moved = loop.replace(arg=loop.range_arg.with_type(AxisType.GLOBAL))
            replacements[loop] = LoopReplacement(moved, (moved,))
        if replacements:
            self.set_ast(replace_loops(self.ast, replacements))

    def get_optimized_ast(self, name: str | None = None) -> UOp:
        """The kernel with the Opts in it; its KernelInfo records them and asks for no more."""
        info = replace(
            self.info,
            name=name or self.kernel_name(),
            axis_types=tuple(self.axis_types),
            applied_opts=tuple(self.applied_opts),
            opts_to_apply=(),
        )
        return self.ast.replace(arg=info)

    # *** reports ***

    def kernel_name(self) -> str:
        """The name that was given, or one that tells kind and axes: r_8_16_4 is a reduction."""
        if self.info.name != "test":
            return self.info.name
        reducing = (Ops.REDUCE, Ops.WMMA)
        kind = "r" if any(n.op in reducing for n in self.ast.toposort()) else "E"
        sizes = [size if isinstance(size, int) else "n" for size in self.full_shape]
        return "_".join(str(part) for part in [kind, *sizes])

    def shape_str(self) -> list[str]:
        """Each axis as its role's letter and its number within the role."""
        seen: dict[str, int] = {}
        names = []
        for role in self.axis_types:
            number = seen.get(role.letter, 0)
            seen[role.letter] = number + 1
            names.append(f"{role.letter}{number}")
        return names

    def colored_shape(self, pad: int | None = None, dense: bool = False) -> str:
        """The sizes of the axes, each in the terminal color of its role."""
        sizes = [_size_text(size, dense) for size in self.full_shape]
        colored = [
            f"\x1b[{_COLORS[role]}m{text}\x1b[0m"
            for role, text in zip(self.axis_types, sizes, strict=True)
        ]
        separator = "_" if dense else " "
        missing = 0 if pad is None else max(0, pad - len(separator.join(sizes)))
        return separator.join(colored) + " " * missing

    @property
    def group_for_reduces(self) -> int:
        """The number of axes that a group reduces together."""
        return len(self.axes_of(AxisType.GROUP_REDUCE))

    @property
    def upcasted(self) -> int:
        """The number of axes that are replicated."""
        return len(self.axes_of(AxisType.UPCAST, AxisType.UNROLL))

    @property
    def output_shape(self) -> list[sint]:
        """The sizes of the output axes."""
        return [self.rngs[i].size for i in self.output_axes]

    def __repr__(self) -> str:
        axes = ", ".join(
            f"{name}:{_size_text(size, dense=True)}"
            for name, size in zip(self.shape_str(), self.full_shape, strict=True)
        )
        return f"Scheduler({self.kernel_name()}: {axes})"


def _size_text(size: sint, dense: bool) -> str:
    text = str(size) if isinstance(size, int) else size.render()
    return text if dense else f"{text:>4}"


def is_given_structure(ast: UOp) -> bool:
    """Whether a kernel comes with roles for its axes beyond plain loops."""
    plain = (AxisType.LOOP, AxisType.REDUCE)
    return any(n.op is Ops.RANGE and n.axis_type not in plain for n in ast.toposort())
