"""Write nodes of tensor form as nodes of ONNX."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from string import ascii_letters
from typing import Any, cast

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper
from tg_tensor import Tensor
from tg_uop import DType, dtypes
from tg_uop.ir.args import ReduceArg
from tg_uop.ir.ops import Ops
from tg_uop.ir.uop import UOp

from tg_onnx.errors import ExportError
from tg_onnx.export.calls import Call, Notes, Size
from tg_onnx.export.counting import is_counting
from tg_onnx.host import as_array
from tg_onnx.proto import DTYPE_OF_ELEMENT

OPSET = 21
ELEMENTS = {dtype: element for element, dtype in DTYPE_OF_ELEMENT.items()}
ELEMENTS[dtypes.weakint] = TensorProto.INT64
BINARY = {
    Ops.ADD: "Add",
    Ops.SUB: "Sub",
    Ops.MUL: "Mul",
    Ops.FDIV: "Div",
    Ops.IDIV: "Div",
    Ops.POW: "Pow",
    Ops.MAX: "Max",
    Ops.CMPLT: "Less",
    Ops.CMPEQ: "Equal",
}
LOGIC = {
    Ops.ADD: "Or",
    Ops.MAX: "Or",
    Ops.OR: "Or",
    Ops.MUL: "And",
    Ops.AND: "And",
    Ops.XOR: "Xor",
    Ops.CMPNE: "Xor",
}
BITS = {Ops.AND: "BitwiseAnd", Ops.OR: "BitwiseOr", Ops.XOR: "BitwiseXor"}
UNARY = {Ops.SIN: "Sin", Ops.SQRT: "Sqrt", Ops.NEG: "Neg", Ops.RECIPROCAL: "Reciprocal"}
REDUCTIONS = {Ops.ADD: "ReduceSum", Ops.MUL: "ReduceProd", Ops.MAX: "ReduceMax"}
AS_IT_IS = frozenset((Ops.CONTIGUOUS, Ops.CONTIGUOUS_BACKWARD, Ops.DETACH, Ops.COPY))
MADE = frozenset((Ops.BUFFER, Ops.BUFFER_VIEW))
LONGEST = 1 << 12
"""How many numbers that count are written out; longer lists are made by Range."""
# dtypes in which runtimes compute everything; others are widened and cast back
COMPUTED = frozenset(
    (dtypes.float32, dtypes.float64, dtypes.float16, dtypes.int32, dtypes.int64, dtypes.bool)
)


def element_of(dtype: DType, node: UOp) -> int:
    """The element type of a dtype. Raises `ExportError` for one that there is none for."""
    if dtype not in ELEMENTS:
        raise refused(node, f"there is no element type for {dtype}")
    return ELEMENTS[dtype]


def refused(node: UOp, reason: str) -> ExportError:
    """The error for what cannot be written, with the line that made it."""
    return ExportError(operation=node.op.name, reason=reason).about(node.source_line)


class Emitter:
    """Collects the nodes and constants of a graph.

    `other` are results of a second trace: memory that only one of the traces knows, with values
    that the other does not have, was computed from arguments. `notes` are values to write as one
    operator. `variables` are the axes of inputs whose sizes they stand for, and `most` the size
    that no axis written into the model has.
    """

    def __init__(
        self,
        other: Sequence[UOp],
        notes: Notes | None = None,
        variables: Mapping[str, tuple[str, int]] | None = None,
        most: float = math.inf,
    ) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self._names: dict[UOp, str] = {}
        self._notes = notes or {}
        self._variables = variables or {}
        self._most = most
        self._shared = dict.fromkeys(node for result in other for node in result.toposort())
        self._other = [node for node in self._shared if node.op is Ops.BUFFER]
        # what depends on no input, with memory or random numbers: made once, as a constant
        self._fixed: dict[UOp, bool] = {}
        self._made: dict[UOp, np.ndarray] = {}

    def add_input(self, name: str, node: UOp) -> None:
        """A value that is given, and its elements as they lie in memory."""
        self._names[node] = name
        if node.base is not node and node.base.op is Ops.BUFFER:
            self._names[node.base] = self._node("Reshape", [name, self._ints([-1])])

    def add_output(self, name: str, result: UOp) -> None:
        """A value under its own name, with all that it needs."""
        for node in self._in_order(result):
            if node.op is not Ops.DEVICE:
                self._names[node] = self._emit(node)
        self.nodes.append(helper.make_node("Identity", [self._names[result]], [name]))

    def needed(self, outputs: Sequence[str]) -> list[NodeProto]:
        """The nodes that the outputs need: values that were taken in another way are left."""
        wanted = set(outputs)
        kept = []
        for node in self.nodes[::-1]:
            if wanted.intersection(node.output):
                kept.append(node)
                wanted.update(node.input)
        names = {name for node in kept for name in node.input}
        self.constants = [tensor for tensor in self.constants if tensor.name in names]
        return kept[::-1]

    def _in_order(self, result: UOp) -> Iterable[UOp]:
        """The nodes to write, operands before users."""
        order: dict[UOp, None] = {}
        stack = [(result, False)]
        while stack:
            node, is_ready = stack.pop()
            if is_ready:
                order[node] = None
            elif node not in order and node not in self._names:
                stack.append((node, True))
                stack.extend((operand, False) for operand in self._operands(node)[::-1])
        return order

    def make_constants(self, results: Sequence[UOp]) -> None:
        """Compute at once what no input changes: the state of random numbers moves with each."""
        for result in results:
            self._find_fixed(result)
        wanted = {
            node: Tensor(node)
            for result in results
            for node in self._in_order(result)
            if node.op is not Ops.BUFFER and self._is_made_once(node)
        }
        if wanted:
            Tensor.realize(*wanted.values())
        self._made = {node: np.asarray(as_array(tensor)) for node, tensor in wanted.items()}

    def _find_fixed(self, result: UOp) -> None:
        """Note of each node that depends on no input whether there is something in it to make."""
        for node in result.toposort():
            if node in self._fixed or node.op is Ops.BIND or node in self._names:
                continue
            operands = [operand for operand in node.src if operand.op is not Ops.DEVICE]
            if all(operand in self._fixed for operand in operands):
                is_made = node.op in MADE or node.dtype is dtypes.uint64
                self._fixed[node] = is_made or any(self._fixed[o] for o in operands)

    def _is_made_once(self, node: UOp) -> bool:
        if node.op is Ops.EXPAND or node not in self._shared:
            return False
        return self._fixed.get(node, False)

    def _operands(self, node: UOp) -> tuple[UOp, ...]:
        if self._is_made_once(node):
            return ()
        call = self._notes.get(node)
        if call is not None:
            return tuple(value for given in call.inputs for value in _values_of(given))
        if node.op is Ops.BIND or _counts(node):
            return ()
        if node.op is Ops.SHRINK and _counts(node.src[0]):
            return node.src[1:]
        return node.src

    def _node(self, operator: str, inputs: Sequence[str], **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def _constant(self, array: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def _ints(self, values: Sequence[int]) -> str:
        return self._constant(np.asarray(values, np.int64))

    def _sizes(self, sizes: Sequence[Size]) -> str:
        """A list of sizes as one value of one axis."""
        if all(isinstance(size, int) for size in sizes):
            return self._ints(cast(Sequence[int], sizes))
        parts = [
            self._ints([size])
            if isinstance(size, int)
            else self._node("Reshape", [self._names[size], self._ints([1])])
            for size in sizes
        ]
        return parts[0] if len(parts) == 1 else self._node("Concat", parts, axis=0)

    def _number(self, value: object, dtype: DType, node: UOp) -> str:
        kind = helper.tensor_dtype_to_np_dtype(element_of(dtype, node))
        return self._constant(np.asarray(value).astype(kind))

    def _cast(self, name: str, dtype: DType, node: UOp) -> str:
        return self._node("Cast", [name], to=element_of(dtype, node))

    def _emit(self, node: UOp) -> str:
        if node in self._made:
            return self._constant(self._made[node])
        call = self._notes.get(node)
        if call is not None:
            return self._called(node, call)
        if node.op is Ops.CONST:
            return self._number(node.arg, node.dtype, node)
        if node.op is Ops.BIND:
            return self._variable(node)
        if _counts(node):
            return self._counting(node, cast(int, node.shape[0]))
        if any(isinstance(size, int) and size >= self._most for size in node.shape):
            reason = "it goes through all sizes that an axis may have; bound the variable"
            raise refused(node, reason)
        if node.op is Ops.BUFFER:
            return self._memory(node)
        if node.op is Ops.SHRINK and _counts(node.src[0]):
            return self._shortened(node)
        inputs = [self._names[source] for source in node.src if source in self._names]
        if node.op in AS_IT_IS:
            return inputs[0]
        if node.op is Ops.CAST:
            return self._cast(inputs[0], node.dtype, node)
        if node.op in _MOVEMENT:
            return self._moved(node, inputs[0])
        return self._computed(node, inputs)

    def _called(self, node: UOp, call: Call) -> str:
        inputs = []
        for given in call.inputs:
            if given is None:
                inputs.append("")
            elif isinstance(given, tuple):
                inputs.append(self._sizes(given))
            elif isinstance(given, int):
                inputs.append(self._number(given, dtypes.int64, node))
            else:
                inputs.append(self._names[given])
        names = [f"v{len(self.nodes)}_{i}" for i in range(call.outputs)]
        made = helper.make_node(call.operator, inputs, names, **call.attributes)
        self.nodes.append(made)
        found = names[call.place]
        return found if call.dtype is node.dtype else self._cast(found, node.dtype, node)

    def _variable(self, node: UOp) -> str:
        place = self._variables.get(node.var_name)
        if place is None:
            return self._number(node.bound_value, dtypes.int64, node)
        whole = self._node("Shape", [place[0]])
        return self._node("Gather", [whole, self._number(place[1], dtypes.int64, node)])

    def _counting(self, node: UOp, size: Size) -> str:
        """0, 1, ... up to a size."""
        if isinstance(size, int) and size <= LONGEST:
            return self._number(np.arange(size), node.dtype, node)
        zero, one = (self._number(value, dtypes.int64, node) for value in (0, 1))
        end = self._number(size, dtypes.int64, node) if isinstance(size, int) else self._names[size]
        found = self._node("Range", [zero, end, one])
        return found if node.dtype is dtypes.int64 else self._cast(found, node.dtype, node)

    def _shortened(self, node: UOp) -> str:
        """Some of 0, 1, ..., without those before and after."""
        ((start, end),) = cast(tuple[tuple[Size, Size]], node.movement_arg)
        whole = self._counting(node, end)
        if isinstance(start, int) and start == 0:
            return whole
        return self._node("Slice", [whole, self._sizes([start]), self._sizes([end])])

    def _memory(self, node: UOp) -> str:
        array = as_array(Tensor(node))
        assert isinstance(array, np.ndarray), "a tensor has elements"
        if node in self._shared or any(_is_same(array, other) for other in self._other):
            return self._constant(array)
        raise refused(node, "the function computes it by reading values of its arguments")

    def _moved(self, node: UOp, x: str) -> str:
        if node.op is Ops.RESHAPE:
            return self._reshaped(node, x)
        if node.op is Ops.EXPAND:
            return self._node("Expand", [x, self._sizes(_shape(node))])
        if node.op in (Ops.PERMUTE, Ops.FLIP):
            return self._reordered(node, x)
        arg = cast(tuple[tuple[Size, Size], ...], node.movement_arg)
        first, second = [low for low, _ in arg], [high for _, high in arg]
        if node.op is Ops.PAD:
            return self._node("Pad", [x, self._sizes(first + second)])
        if node.op is Ops.SHRINK:
            return self._node("Slice", [x, self._sizes(first), self._sizes(second)])
        raise refused(node, "it is no view that is known")

    def _reshaped(self, node: UOp, x: str) -> str:
        sizes = _shape(node)
        unknown = [i for i, size in enumerate(sizes) if not isinstance(size, int)]
        if len(unknown) == 1 and 0 not in [size for size in sizes if isinstance(size, int)]:
            sizes[unknown[0]] = -1
        return self._node("Reshape", [x, self._sizes(sizes)], allowzero=1)

    def _reordered(self, node: UOp, x: str) -> str:
        arg = cast(tuple[int, ...], node.arg)
        if node.op is Ops.PERMUTE:
            return self._node("Transpose", [x], perm=list(arg))
        starts, ends = self._ints([-1] * len(arg)), self._ints([-(2**63)] * len(arg))
        return self._node("Slice", [x, starts, ends, self._ints(arg), self._ints([-1] * len(arg))])

    def _computed(self, node: UOp, inputs: list[str]) -> str:
        """In a dtype that runtimes compute in, then as what it is."""
        kind = node.src[-1].dtype
        if kind in COMPUTED or kind is dtypes.weakint:
            return self._arithmetic(node, inputs, kind)
        if kind.itemsize == 8 and kind.is_int:
            raise refused(node, f"no wider integers hold {kind}")
        wide = dtypes.int64 if kind.is_int else dtypes.float32
        first = 1 if node.op is Ops.WHERE else 0
        cast = [self._cast(name, wide, node) for name in inputs[first:]]
        result = self._arithmetic(node, [*inputs[:first], *cast], wide)
        return result if node.dtype.is_bool else self._cast(result, node.dtype, node)

    def _arithmetic(self, node: UOp, inputs: list[str], kind: DType) -> str:
        op = node.op
        if op is Ops.REDUCE:
            return self._reduced(node, inputs[0], kind)
        if op is Ops.WHERE:
            return self._node("Where", inputs)
        if kind.is_bool and op in LOGIC:
            return self._node(LOGIC[op], inputs)
        if kind.is_bool and op is Ops.CMPLT:
            return self._node("And", [self._node("Not", inputs[:1]), inputs[1]])
        if op is Ops.CMPNE:
            return self._node("Not", [self._node("Equal", inputs)])
        if op is Ops.MOD:
            return self._node("Mod", inputs, fmod=1)
        if op in (Ops.SHL, Ops.SHR):
            return self._shifted(node, inputs[0], kind)
        if kind.is_int and op in BITS:
            return self._node(BITS[op], inputs)
        power = _unscaled(node, math.log(2)) if op is Ops.MUL else None
        if power is not None and power.op is Ops.LOG2:
            return self._node("Log", [self._names[power.src[0]]])
        if op in BINARY:
            return self._node(BINARY[op], inputs)
        if op in UNARY:
            return self._node(UNARY[op], inputs)
        special = _SPECIAL.get(op)
        if special is None:
            raise refused(node, f"opset {OPSET} has no such operation")
        return special(self, node, inputs[0], kind)

    def _product(self, node: UOp) -> str | None:
        """A sum of products of values that were repeated along axes: without repeating them."""
        factors = node.src[0]
        axes = cast(ReduceArg, node.arg).axes
        if factors.op is not Ops.MUL or not factors.dtype.is_float:
            return None
        parts = [self._unrepeated(factor) for factor in factors.src]
        terms = ["".join(ascii_letters[axis] for axis in own) for _, own in parts]
        kept = "".join(
            letter for i, letter in enumerate(ascii_letters[: len(node.shape)]) if i not in axes
        )
        if any(ascii_letters[i] not in terms[0] + terms[1] for i in range(len(node.shape))):
            return None
        equation = f"{terms[0]},{terms[1]}->{kept}"
        found = self._node("Einsum", [name for name, _ in parts], equation=equation)
        return self._node("Unsqueeze", [found, self._ints(axes)])

    def _unrepeated(self, node: UOp) -> tuple[str, list[int]]:
        """A value without the axes along which it is repeated, and the axes that it has."""
        if node.op is not Ops.EXPAND:
            return self._names[node], list(range(len(node.shape)))
        inner = node.src[0]
        pairs = list(zip(inner.shape, node.shape, strict=True))
        own = [i for i, (size, wide) in enumerate(pairs) if size is wide or size == wide]
        repeated = [i for i in range(len(pairs)) if i not in own]
        return self._node("Squeeze", [self._names[inner], self._ints(repeated)]), own

    def _reduced(self, node: UOp, x: str, kind: DType) -> str:
        arg = cast(ReduceArg, node.arg)
        product = self._product(node) if arg.op is Ops.ADD else None
        if product is not None:
            return product
        axes = self._ints(arg.axes)
        if not kind.is_bool:
            return self._node(REDUCTIONS[arg.op], [x, axes], keepdims=1)
        whole = self._cast(x, dtypes.int32, node)
        found = self._node(REDUCTIONS[arg.op], [whole, axes], keepdims=1)
        return self._cast(found, dtypes.bool, node)

    def _shifted(self, node: UOp, x: str, kind: DType) -> str:
        """By a number that is known: a product, or a quotient toward minus infinity."""
        count = node.src[1]
        while count.op in (Ops.EXPAND, Ops.RESHAPE, Ops.CAST):
            count = count.src[0]
        if count.op is not Ops.CONST:
            raise refused(node, "integers are shifted by numbers that are not known")
        factor = self._number(2 ** int(cast(int, count.arg)), kind, node)
        if node.op is Ops.SHL:
            return self._node("Mul", [x, factor])
        rest = self._node("Mod", [x, factor])
        return self._node("Div", [self._node("Sub", [x, rest]), factor])

    def _power_of_two(self, node: UOp, x: str, kind: DType) -> str:
        exponent = _unscaled(node.src[0], 1 / math.log(2))
        if exponent is not None and kind is node.dtype:
            return self._node("Exp", [self._names[exponent]])
        return self._node("Pow", [self._number(2.0, kind, node), x])

    def _logarithm(self, node: UOp, x: str, kind: DType) -> str:
        natural = self._node("Log", [x])
        return self._node("Mul", [natural, self._number(1 / math.log(2), kind, node)])

    def _truncated(self, node: UOp, x: str, kind: DType) -> str:
        is_below = self._node("Less", [x, self._number(0, kind, node)])
        return self._node("Where", [is_below, self._node("Ceil", [x]), self._node("Floor", [x])])


_MOVEMENT = frozenset((Ops.RESHAPE, Ops.EXPAND, Ops.PERMUTE, Ops.PAD, Ops.SHRINK, Ops.FLIP))
_SPECIAL: dict[Ops, Callable[[Emitter, UOp, str, DType], str]] = {
    Ops.EXP2: Emitter._power_of_two,
    Ops.LOG2: Emitter._logarithm,
    Ops.TRUNC: Emitter._truncated,
}


def _unscaled(node: UOp, factor: float) -> UOp | None:
    """What a product with a number is taken of, if this is the number."""
    if node.op is not Ops.MUL or not node.dtype.is_float:
        return None
    kind = helper.tensor_dtype_to_np_dtype(ELEMENTS[node.dtype])
    for value, other in (node.src, node.src[::-1]):
        number = other
        while number.op in (Ops.EXPAND, Ops.RESHAPE, Ops.CAST):
            number = number.src[0]
        if number.op is Ops.CONST and np.asarray(number.arg, kind) == np.asarray(factor, kind):
            return value
    return None


def _shape(node: UOp) -> list[Size]:
    return cast(list[Size], list(node.shape))


def _counts(node: UOp) -> bool:
    return node.op is Ops.RESHAPE and is_counting(node)


def _values_of(given: object) -> list[UOp]:
    values = given if isinstance(given, tuple) else (given,)
    return [value for value in values if isinstance(value, UOp)]


def _is_same(array: np.ndarray, other: UOp) -> bool:
    if other.shape != array.shape:
        return False
    found = as_array(Tensor(other))
    return isinstance(found, np.ndarray) and np.array_equal(
        array, found, equal_nan=array.dtype.kind == "f"
    )
