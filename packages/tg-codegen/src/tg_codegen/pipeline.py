"""READ FIRST: the ordered passes from a kernel to linear form, and `to_program`, the one entry.

`to_program` fills PROGRAM's operands in order: SINK (the optimized kernel), DEVICE, LINEAR, SOURCE,
BINARY. What a caller gives is kept, so that own instructions, source or binary can stand in.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from threading import Lock

from tg_uop import KernelInfo, Ops, ProgramInfo, UOp, dtypes
from tg_uop.context import DEBUG, Context
from tg_uop.rewrite.passes import Pass, Pipeline
from tg_uop.spec.forms import EXPANDED, FORMS, KERNEL, LINEAR, LOWERED

from tg_codegen.analyze.bounds import check_accesses
from tg_codegen.analyze.cost import estimate_kernel
from tg_codegen.canonicalize.accesses import flatten_accesses
from tg_codegen.canonicalize.gated_loads import drop_repeated_gates
from tg_codegen.canonicalize.ranges import drop_single_steps, merge_ranges, split_ranges
from tg_codegen.canonicalize.reduces import simplify_reduces
from tg_codegen.canonicalize.siblings import share_loops
from tg_codegen.errors import KernelFormError
from tg_codegen.expand.accumulate import accumulate
from tg_codegen.expand.barriers import add_barriers
from tg_codegen.expand.grid import place_on_grid
from tg_codegen.expand.loops import close_once
from tg_codegen.expand.peel import peel_last_steps
from tg_codegen.expand.replicate import replicate
from tg_codegen.expand.shared import share_group_reduces
from tg_codegen.expand.threads import number_threads
from tg_codegen.expand.work_items import loop_over_items
from tg_codegen.legalize.passes import STEPS
from tg_codegen.linearize.linear import linearize
from tg_codegen.optimize.choose import optimized
from tg_codegen.options import Options, current_options
from tg_codegen.program_info import program_info, unique_name
from tg_codegen.render.renderer import Renderer
from tg_codegen.running import is_scan, with_last_terms
from tg_codegen.simplify import Simplifier, simplify_indices
from tg_codegen.target.caps import Capabilities
from tg_codegen.target.choices import used_capabilities


def canonicalization(restructure: bool = True) -> Pipeline:
    """Choose one spelling among equal kernels, so that Opts find plain loops.

    Without `restructure` the loops stay as they are, for Opts that name them by number.
    """
    simplifier = Simplifier()
    plain = Pipeline(
        Pass("flatten-accesses", flatten_accesses, KERNEL, KERNEL),
        Pass("drop-single-steps", drop_single_steps, KERNEL, KERNEL),
        Pass("simplify", simplifier, KERNEL, KERNEL),
        Pass("simplify-reduces", simplify_reduces, KERNEL, KERNEL),
        Pass("simplify-collapsed", simplifier, KERNEL, KERNEL),
        Pass("drop-repeated-gates", drop_repeated_gates, KERNEL, KERNEL),
    )
    if not restructure:
        return plain
    return plain + Pipeline(
        Pass("split-ranges", split_ranges, KERNEL, KERNEL),
        Pass(
            "simplify-split-reduces",
            simplify_reduces,
            KERNEL,
            KERNEL,
            place="after split-ranges: of two loops a value may depend on one",
        ),
        Pass("simplify-parts", simplifier, KERNEL, KERNEL),
        Pass("share-loops", share_loops, KERNEL, KERNEL),
        Pass(
            "merge-ranges",
            merge_ranges,
            KERNEL,
            KERNEL,
            place="after split-ranges: only loops that no address takes apart can merge",
        ),
    )


def canonical(kernel: UOp) -> UOp:
    """The kernel as Opts see it.

    Opts found by a search name the loops of this form; `to_program` keeps the loops of a kernel
    that comes with Opts.
    """
    info = kernel.arg
    has_opts = isinstance(info, KernelInfo) and info.opts_to_apply is not None
    return canonicalization(restructure=not has_opts).run(kernel)


def optimization(renderer: Renderer, options: Options) -> Pipeline:
    """Apply Opts: give the loops their roles."""
    run = partial(_optimize, renderer=renderer, options=options)
    return Pipeline(
        Pass("optimize", run, KERNEL, KERNEL),
        Pass("simplify-optimized", Simplifier(), KERNEL, KERNEL),
    )


def _optimize(kernel: UOp, renderer: Renderer, options: Options) -> UOp:
    return optimized(kernel, renderer, options)


def lowering(caps: Capabilities) -> Pipeline:
    """From an optimized kernel to linear form."""
    return Pipeline(
        Pass("loop-over-items", partial(loop_over_items, caps=caps), KERNEL, KERNEL),
        Pass(
            "share-group-reduces",
            share_group_reduces,
            KERNEL,
            KERNEL,
            place="before place-on-grid: it makes LOCAL axes",
        ),
        Pass("place-on-grid", partial(place_on_grid, caps=caps), KERNEL, KERNEL),
        Pass("number-threads", number_threads, KERNEL, KERNEL),
        Pass("add-barriers", partial(add_barriers, caps=caps), KERNEL, KERNEL),
        Pass(
            "close-once",
            close_once,
            KERNEL,
            KERNEL,
            place="after axes have left for the grid: what remains are loops",
        ),
        Pass(
            "peel-last-steps",
            partial(peel_last_steps, caps=caps),
            KERNEL,
            KERNEL,
            place="after close-once: loops that are peeled close in one place",
        ),
        Pass("expand", expand, KERNEL, EXPANDED),
        Pass("simplify-copies", simplify_indices, EXPANDED, EXPANDED),
        *(
            Pass(step.name, _for_target(step.run, caps), FORMS[step.before], FORMS[step.after])
            for step in STEPS
        ),
        Pass("linearize", linearize, LOWERED, LINEAR),
    )


def _for_target(
    run: Callable[[UOp, Capabilities], UOp], caps: Capabilities
) -> Callable[[UOp], UOp]:
    return lambda kernel: run(kernel, caps)


def expand(kernel: UOp) -> UOp:
    """Reductions become loops over registers, then replicated axes are copied out.

    Registers come first, on the small graph: they are arrays indexed by the replicated ranges, so
    that copying turns each into as many accumulators as there are copies.
    """
    return replicate(accumulate(kernel))


# *** programs ***

MOST_PROGRAMS = 4096


class _ProgramCache:
    """The programs made last, by kernel, target and options."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.programs: OrderedDict[object, UOp] = OrderedDict()
        self.lock = Lock()

    def get(self, key: object) -> UOp | None:
        with self.lock:
            found = self.programs.get(key)
            if found is not None:
                self.programs.move_to_end(key)
            return found

    def put(self, key: object, program: UOp) -> None:
        with self.lock:
            self.programs[key] = program
            while len(self.programs) > self.limit:
                self.programs.popitem(last=False)

    def clear(self) -> None:
        with self.lock:
            self.programs.clear()


PROGRAMS = _ProgramCache(MOST_PROGRAMS)


def to_program(ast: UOp, renderer: Renderer, options: Options | None = None) -> UOp:
    """PROGRAM with everything filled in that the renderer can make.

    `ast` is a kernel (SINK), or a PROGRAM with any prefix of its operands: what is there stays.
    Without a compiler in the renderer the last operand is SOURCE. Results are kept in memory.
    Raises `KernelFormError` when `ast` is neither, and what a pass raises for a kernel it refuses.
    """
    chosen = options or current_options()
    key = (_key(ast, renderer, chosen), renderer.compiler)
    found = PROGRAMS.get(key)
    if found is None:
        found = with_binary(to_source(ast, renderer, chosen), renderer)
        PROGRAMS.put(key, found)
    return found


def to_source(ast: UOp, renderer: Renderer, options: Options | None = None) -> UOp:
    """PROGRAM up to SOURCE: the first half of `to_program`, the same in all else."""
    chosen = options or current_options()
    key = _key(ast, renderer, chosen)
    found = PROGRAMS.get(key)
    if found is None:
        found = _rendered(ast, renderer, chosen)
        PROGRAMS.put(key, found)
    return found


def with_binary(program: UOp, renderer: Renderer) -> UOp:
    """PROGRAM that ends at SOURCE with its BINARY, where the renderer has a compiler.

    It generates no code: several may be compiled side by side.
    """
    parts = program.src
    if len(parts) > 4 or renderer.compiler is None:
        return program
    text = parts[3].arg
    assert isinstance(text, str), "SOURCE carries text"
    binary = UOp(Ops.BINARY, dtypes.void, (), renderer.compiler(text))
    return UOp(Ops.PROGRAM, dtypes.void, (*parts, binary), program.arg)


def _key(ast: UOp, renderer: Renderer, options: Options) -> tuple[object, ...]:
    return (ast.key, type(renderer), renderer.target, renderer.caps, options)


def _rendered(ast: UOp, renderer: Renderer, options: Options) -> UOp:
    program = _as_program(ast)
    if not options.verify:
        return _filled(program, renderer, options)
    with Context(SPEC=1):
        return _filled(program, renderer, options)


def _as_program(ast: UOp) -> UOp:
    if ast.op is Ops.SINK:
        return UOp(Ops.PROGRAM, dtypes.void, (ast,))
    if ast.op is not Ops.PROGRAM:
        raise KernelFormError(
            node=repr(ast),
            reason="a program is made from a SINK or a PROGRAM",
            hint="a schedule's CALL holds the kernel: pass call.called",
        )
    expected = (Ops.SINK, Ops.DEVICE, Ops.LINEAR, Ops.SOURCE, Ops.BINARY)
    given = tuple(s.op for s in ast.src)
    if given != expected[: len(given)] or not given:
        raise KernelFormError(
            node=f"PROGRAM of {', '.join(op.name for op in given) or 'nothing'}",
            reason="its operands are SINK, DEVICE, LINEAR, SOURCE, BINARY, or the first of them",
        )
    return ast


def _filled(program: UOp, renderer: Renderer, options: Options) -> UOp:
    """The program with the operands up to SOURCE that are missing, one after the other."""
    parts = program.src
    info = program.arg if isinstance(program.arg, ProgramInfo) else None
    if len(parts) < 3:
        kernel, linear = kernel_to_linear(parts[0], renderer, options)
        device = parts[1] if len(parts) > 1 else UOp(Ops.DEVICE, arg=renderer.device)
        parts = (kernel, device, linear)
    if info is None:
        info = _launch_data(program.src[0], parts[0], parts[2], renderer.caps)
    if len(parts) < 4:
        source = renderer.render(parts[2].src, info)
        parts = (*parts, UOp(Ops.SOURCE, dtypes.void, (), source))
    return UOp(Ops.PROGRAM, dtypes.void, parts, info)


def kernel_to_linear(kernel: UOp, renderer: Renderer, options: Options) -> tuple[UOp, UOp]:
    """The optimized kernel, and its LINEAR."""
    best = optimization(renderer, options).run(canonical(kernel))
    if options.check_bounds:
        _check_bounds(canonical(kernel))
        _check_bounds(best)
    return best, lowering(used_capabilities(renderer.caps, options)).run(best)


def _check_bounds(kernel: UOp) -> None:
    """Refuse accesses outside of their memory; those that nobody can tell of are said."""
    for access in check_accesses(kernel):
        if DEBUG >= 1:
            print(f"CHECK_OOB: not decided: {access.index_expr.render()}")  # noqa: T201


def _launch_data(given: UOp, kernel: UOp, linear: UOp, caps: Capabilities) -> ProgramInfo:
    """Read off the instructions, or off the kernel where there are none (own source)."""
    nodes: Sequence[UOp] = linear.src
    if not any(n.op in (Ops.PARAM, Ops.STORE) for n in nodes):
        nodes = tuple(kernel.toposort())
    info = kernel.arg if isinstance(kernel.arg, KernelInfo) else KernelInfo()
    if info.estimates is None:
        counted = with_last_terms(kernel) if is_scan(kernel) else given
        info = replace(info, estimates=estimate_kernel(counted))
    return program_info(nodes, info, unique_name(given, kernel), caps.has_local)
