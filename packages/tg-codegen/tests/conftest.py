"""Run kernels in tests: a direct reading of kernel form, and a machine for lists of instructions.

Both work on Python lists as memory; integers wrap at their width, floats are Python's.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from tg_uop import DType, GroupOp, Invalid, Ops, UOp, dtypes
from tg_uop.dtype.dtype import wrap_int
from tg_uop.ir.args import ParamArg, SpecialArg

Number = int | float | bool
Memory = dict[int, list[Number]]


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` writes the golden files that a test compares with."""
    try:
        parser.addoption("--update-golden", action="store_true", help="rewrite golden files")
    except ValueError:
        return  # another package's conftest has added it


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the golden file of a name, or write it there."""
    folder = Path(__file__).parent / "golden"

    def check(name: str, text: str) -> None:
        path = folder / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            return
        assert path.exists(), f"{path.name} is missing: run pytest --update-golden"
        assert text == path.read_text(), f"{path.name} differs: look at pytest --update-golden"

    return check


def wrap(value: Number, dtype: DType) -> Number:
    """The value as a dtype holds it: integers wrap, floats stay as they are."""
    scalar = dtype.scalar()
    if scalar == dtypes.bool:
        return bool(value)
    if dtypes.is_int(scalar) and isinstance(value, int):
        return wrap_int(int(value), scalar)
    return value


def quotient(x: int, y: int) -> int:
    if y == 0:
        return 0
    found = abs(x) // abs(y)
    return found if (x < 0) == (y < 0) else -found


MEANING: dict[Ops, Callable[..., Number]] = {
    Ops.ADD: lambda x, y: x + y,
    Ops.SUB: lambda x, y: x - y,
    Ops.MUL: lambda x, y: x * y,
    Ops.MAX: max,
    Ops.IDIV: quotient,
    Ops.MOD: lambda x, y: x - y * quotient(x, y) if y else 0,
    Ops.CMPLT: lambda x, y: x < y,
    Ops.CMPNE: lambda x, y: x != y,
    Ops.CMPEQ: lambda x, y: x == y,
    Ops.AND: lambda x, y: x & y,
    Ops.OR: lambda x, y: x | y,
    Ops.XOR: lambda x, y: x ^ y,
    Ops.SHL: lambda x, y: x << y,
    Ops.SHR: lambda x, y: x >> y,
    Ops.NEG: lambda x: -x,
    Ops.WHERE: lambda c, x, y: x if c else y,
    Ops.MULACC: lambda x, y, z: x * y + z,
    Ops.RECIPROCAL: lambda x: 1.0 / x,
    # between integers of one width: the machine wraps the number at the result's dtype
    Ops.BITCAST: lambda x: x,
}


class KernelReader:
    """Runs kernel form by its meaning: loops of END and REDUCE, no order but that of effects."""

    def __init__(self, memory: Memory, variables: dict[str, int]) -> None:
        self.memory = memory
        self.variables = variables
        self.scratch: dict[UOp, list[Number]] = {}
        self.happened: dict[UOp, tuple[int, ...]] = {}

    def _run_once(self, effect: UOp, env: dict[UOp, int]) -> None:
        """Run what an AFTER waits for, once in each step of the loops around it."""
        step = tuple(env[loop] for loop in effect.ranges)
        if self.happened.get(effect) != step:
            self.happened[effect] = step
            self.run(effect, dict(env))

    def run(self, node: UOp, env: dict[UOp, int]) -> None:
        if node.op in (Ops.SINK, Ops.GROUP):
            for effect in node.src:
                self.run(effect, env)
        elif node.op is Ops.END:
            self._loop(node.ended_ranges, env, lambda: self.run(node.ended_effect, env))
        elif node.op is Ops.STORE:
            target = node.stored_target
            cells = self._cells(target.index_buffer, env)
            place = self.value(target.index_expr, env)
            value = self.value(node.stored_value, env)
            if place is not Invalid:
                cells[int(place)] = value
        elif node.op not in (Ops.RANGE, Ops.NOOP):
            raise AssertionError(f"{node.op} is no effect")

    def _loop(self, ranges: Sequence[UOp], env: dict[UOp, int], body: Callable[[], None]) -> None:
        loops = [r for r in ranges if r.op is Ops.RANGE]
        sizes = [range(int(self.value(r.range_size, env))) for r in loops]
        for steps in itertools.product(*sizes):
            env.update(zip(loops, steps, strict=True))
            body()

    def _cells(self, node: UOp, env: dict[UOp, int]) -> list[Number]:
        if node.op is Ops.AFTER:
            cells = self._cells(node.src[0], env)
            for effect in node.effects:
                self._run_once(effect, env)
            return cells
        if node.op is Ops.PARAM:
            assert isinstance(node.arg, ParamArg)
            return self.memory[node.arg.slot]
        return self.scratch.setdefault(node, [0] * node.dtype.size)  # type: ignore[attr-defined]

    def value(self, node: UOp, env: dict[UOp, int]) -> Number:
        if node in env:
            return env[node]
        if node.op is Ops.CONST:
            return node.arg  # type: ignore[return-value]
        if node.op is Ops.DEFINE_VAR:
            return self.variables[node.var_name]
        if node.op is Ops.INDEX:
            cells = self._cells(node.index_buffer, env)
            place = self.value(node.index_expr, env)
            return wrap(0, node.dtype) if place is Invalid else cells[int(place)]
        if node.op is Ops.REDUCE:
            return self._reduce(node, env)
        if node.op is Ops.CAST:
            return _converted(self.value(node.src[0], env), node.dtype)
        if node.op is Ops.WHERE:
            condition = self.value(node.src[0], env)
            return self.value(node.src[1] if condition else node.src[2], env)
        assert node.op in GroupOp.ALU, f"{node.op} is no value"
        operands = [self.value(s, env) for s in node.src]
        return wrap(MEANING[node.op](*operands), node.dtype)

    def _reduce(self, node: UOp, env: dict[UOp, int]) -> Number:
        total: list[Number] = []
        inner = dict(env)

        def take() -> None:
            value = self.value(node.reduced_value, inner)
            if total:
                value = wrap(MEANING[node.reduce_op](total[0], value), node.dtype)
            total[:] = [value]

        self._loop(node.reduce_ranges, inner, take)
        return total[0]


def _converted(value: Number, dtype: DType) -> Number:
    if dtypes.is_float(dtype):
        return float(value)
    if dtypes.is_bool(dtype):
        return bool(value)
    return wrap(int(value), dtype)


class LinearMachine:
    """Runs a list of instructions, in expanded form (an INDEX is its value) or lowered form."""

    def __init__(
        self,
        memory: Memory,
        variables: dict[str, int],
        specials: dict[str, int],
        shared: dict[UOp, list[Number]],
    ) -> None:
        self.memory = memory
        self.variables = variables
        self.specials = specials
        self.shared = shared
        self.values: dict[UOp, object] = {}

    def run(self, instructions: Sequence[UOp]) -> Iterator[None]:
        """Execute; stop at each BARRIER until all work-items of the group have come to it."""
        ends = self._partners(instructions)
        at = 0
        while at < len(instructions):
            node = instructions[at]
            if node.op is Ops.RANGE:
                self.values[node] = 0
                if self._scalar(node.range_size) <= 0:
                    at = ends[at]
            elif node.op is Ops.END:
                loop = node.src[0]
                self.values[loop] = self.values[loop] + 1  # type: ignore[operator]
                if self.values[loop] < self._scalar(loop.range_size):  # type: ignore[operator]
                    at = ends[at]
            elif node.op is Ops.IF:
                if not self.values[node.src[0]]:
                    at = ends[at]
            elif node.op is Ops.BARRIER:
                yield
            elif node.op is not Ops.ENDIF:
                self.values[node] = self._execute(node)
            at += 1

    def _partners(self, instructions: Sequence[UOp]) -> dict[int, int]:
        """The position of the other end of each loop and branch."""
        opened: list[int] = []
        found: dict[int, int] = {}
        for at, node in enumerate(instructions):
            if node.op in (Ops.RANGE, Ops.IF):
                opened.append(at)
            elif node.op in (Ops.END, Ops.ENDIF):
                start = opened.pop()
                assert instructions[start] is node.src[0], "loops and branches nest"
                found[start], found[at] = at, start
        assert not opened, "all loops and branches are closed"
        return found

    def _scalar(self, node: UOp) -> int:
        return int(self.values[node])  # type: ignore[call-overload]

    def _lanes(self, node: UOp, count: int) -> list[Number]:
        value = self.values[node]
        return value if isinstance(value, list) else [value] * count  # type: ignore[list-item]

    def _execute(self, node: UOp) -> object:
        if node.op is Ops.CONST:
            return node.arg if node.dtype.count == 1 else [node.arg] * node.dtype.count
        if node.op is Ops.VCONST:
            return list(node.arg)  # type: ignore[call-overload]
        if node.op is Ops.DEFINE_VAR:
            return self.variables[node.var_name]
        if node.op is Ops.SPECIAL:
            assert isinstance(node.arg, SpecialArg)
            return self.specials[node.arg.name]
        if node.op is Ops.PARAM:
            assert isinstance(node.arg, ParamArg)
            return self.memory[node.arg.slot]
        if node.op is Ops.DEFINE_LOCAL:
            return self.shared.setdefault(node, [0] * node.dtype.size)  # type: ignore[attr-defined]
        if node.op is Ops.DEFINE_REG:
            return [0] * node.dtype.size  # type: ignore[attr-defined]
        if node.op is Ops.AFTER:
            return self.values[node.src[0]]
        if node.op is Ops.NOOP:
            return None
        if node.op is Ops.INDEX:
            return self._index(node)
        if node.op is Ops.LOAD:
            return self._load(node)
        if node.op is Ops.STORE:
            return self._store(node)
        return self._compute(node)

    def _compute(self, node: UOp) -> object:
        count = node.dtype.count
        if node.op is Ops.STACK:
            return [self.values[s] for s in node.src]
        if node.op is Ops.GEP:
            lanes = self._lanes(node.src[0], node.src[0].dtype.count)
            picked = [lanes[i] for i in node.arg]  # type: ignore[attr-defined]
            return picked if len(picked) > 1 else picked[0]
        if node.op is Ops.CAST:
            found = [_converted(v, node.dtype.scalar()) for v in self._lanes(node.src[0], count)]
        else:
            columns = [self._lanes(s, count) for s in node.src]
            assert all(len(c) == count for c in columns), f"{node} mixes widths"
            meaning = MEANING[node.op]
            found = [wrap(meaning(*lane), node.dtype) for lane in zip(*columns, strict=True)]
        return found if count > 1 else found[0]

    def _index(self, node: UOp) -> object:
        cells, place = self.values[node.src[0]], self.values[node.src[1]]
        if len(node.src) > 2 or node.dtype.__class__.__name__ == "PtrDType":
            return cells, place, self.values[node.src[2]] if len(node.src) > 2 else True
        if isinstance(place, list):
            return [wrap(0, node.dtype) if p is Invalid else cells[p] for p in place]  # type: ignore[index]
        return wrap(0, node.dtype) if place is Invalid else cells[place]  # type: ignore[index]

    def _load(self, node: UOp) -> object:
        cells, place, gate = self.values[node.load_index]  # type: ignore[misc]
        count = node.dtype.count
        alt = None if node.load_alt is None else self._lanes(node.load_alt, count)
        found = []
        for lane in range(count):
            is_open = gate[lane] if isinstance(gate, list) else gate
            if not is_open:
                assert alt is not None
                found.append(alt[lane])
            elif isinstance(cells[0], list) and isinstance(cells, list):
                found = cells[place]
            else:
                found.append(cells[place + lane])
        return found if count > 1 else found[0]

    def _store(self, node: UOp) -> None:
        target, value = node.stored_target, self.values[node.stored_value]
        cells = self.values[target.src[0]]
        place = self.values[target.src[1]]
        gate = self.values[target.src[2]] if len(target.src) > 2 else True
        if isinstance(place, list):
            for p, v in zip(place, value, strict=True):  # type: ignore[call-overload]
                if p is not Invalid:
                    cells[p] = v  # type: ignore[index]
        elif place is Invalid:
            return
        elif isinstance(value, list) and target.src[0].dtype.base.count == 1:  # type: ignore[attr-defined]
            for lane, v in enumerate(value):
                if gate[lane] if isinstance(gate, list) else gate:
                    cells[place + lane] = v  # type: ignore[index, operator]
        elif gate:
            cells[place] = value  # type: ignore[index]


def read_kernel(kernel: UOp, memory: Memory, variables: dict[str, int] | None = None) -> Memory:
    """The memory after a kernel in kernel form has run on a copy of it."""
    after = {slot: list(cells) for slot, cells in memory.items()}
    KernelReader(after, variables or {}).run(kernel, {})
    return after


def run_linear(
    instructions: Sequence[UOp], memory: Memory, variables: dict[str, int] | None = None
) -> Memory:
    """The memory after a list of instructions has run on a copy, once for each launch index."""
    after = {slot: list(cells) for slot, cells in memory.items()}
    specials = [n for n in instructions if n.op is Ops.SPECIAL]
    launch = {n.arg.name: range(int(n.size)) for n in specials}  # type: ignore[attr-defined, call-overload]
    items = {name: steps for name, steps in launch.items() if name.startswith("lidx")}
    groups = {name: steps for name, steps in launch.items() if name not in items}
    for group in itertools.product(*groups.values()):
        shared: dict[UOp, list[Number]] = {}
        running = []
        for item in itertools.product(*items.values()):
            where = dict(zip((*groups, *items), (*group, *item), strict=True))
            machine = LinearMachine(after, variables or {}, where, shared)
            running.append(machine.run(instructions))
        while running:
            waiting = [machine for machine in running if next(machine, "done") is None]
            assert len(waiting) in (0, len(running)), "all work-items pass a barrier, or none"
            running = waiting
    return after


@pytest.fixture(name="read_kernel", scope="session")
def read_kernel_fixture() -> Callable[..., Memory]:
    """`read_kernel`, for tests that cannot import this file."""
    return read_kernel


@pytest.fixture(name="run_linear", scope="session")
def run_linear_fixture() -> Callable[..., Memory]:
    """`run_linear`, for tests that cannot import this file."""
    return run_linear
