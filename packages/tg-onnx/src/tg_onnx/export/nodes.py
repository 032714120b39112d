"""Write nodes of tensor form as nodes of ONNX."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
# dtypes in which runtimes compute everything; others are widened and cast back
COMPUTED = frozenset(
    (dtypes.float32, dtypes.float64, dtypes.float16, dtypes.int32, dtypes.int64, dtypes.bool)
)


def element_of(dtype: DType, node: UOp) -> int:
    """The element type of a dtype. Raises `ExportError` for one that there is none for."""
    if dtype not in ELEMENTS:
        raise _refused(node, f"there is no element type for {dtype}")
    return ELEMENTS[dtype]


def sizes_of(node: UOp) -> list[int]:
    """The shape of a value. Raises `ExportError` for one with variables."""
    sizes = [size for size in node.shape if isinstance(size, int)]
    if len(sizes) < len(node.shape):
        raise _refused(node, "its shape is symbolic")
    return sizes


def _refused(node: UOp, reason: str) -> ExportError:
    return ExportError(operation=node.op.name, reason=reason).about(node.source_line)


class Emitter:
    """Collects the nodes and constants of a graph.

    `other` are results of a second trace: memory that only one of the traces knows, with values
    that the other does not have, was computed from arguments.
    """

    def __init__(self, other: Sequence[UOp]) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self._names: dict[UOp, str] = {}
        found = [node for result in other for node in result.toposort() if node.op is Ops.BUFFER]
        self._other = dict.fromkeys(found)

    def add_input(self, name: str, node: UOp) -> None:
        """A value that is given, and its elements as they lie in memory."""
        self._names[node] = name
        if node.base is not node and node.base.op is Ops.BUFFER:
            self._names[node.base] = self._node("Reshape", [name, self._ints([-1])])

    def add_output(self, name: str, result: UOp) -> None:
        """A value under its own name, with all that it needs."""
        for node in result.toposort():
            if node.op is not Ops.DEVICE and node not in self._names:
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

    def _number(self, value: object, dtype: DType, node: UOp) -> str:
        kind = helper.tensor_dtype_to_np_dtype(element_of(dtype, node))
        return self._constant(np.asarray(value).astype(kind))

    def _cast(self, name: str, dtype: DType, node: UOp) -> str:
        return self._node("Cast", [name], to=element_of(dtype, node))

    def _emit(self, node: UOp) -> str:
        sizes_of(node)
        if node.op is Ops.CONST:
            return self._number(node.arg, node.dtype, node)
        if node.op is Ops.BUFFER:
            return self._memory(node)
        inputs = [self._names[source] for source in node.src if source in self._names]
        if node.op in AS_IT_IS:
            return inputs[0]
        if node.op is Ops.CAST:
            return self._cast(inputs[0], node.dtype, node)
        if node.op in _MOVEMENT:
            return self._moved(node, inputs[0])
        return self._computed(node, inputs)

    def _memory(self, node: UOp) -> str:
        array = as_array(Tensor(node))
        assert isinstance(array, np.ndarray), "a tensor has elements"
        if node in self._other or any(_is_same(array, other) for other in self._other):
            return self._constant(array)
        raise _refused(node, "the function computes it by reading values of its arguments")

    def _moved(self, node: UOp, x: str) -> str:
        if node.op is Ops.RESHAPE:
            return self._node("Reshape", [x, self._ints(sizes_of(node))], allowzero=1)
        if node.op is Ops.EXPAND:
            return self._node("Expand", [x, self._ints(sizes_of(node))])
        if node.op in (Ops.PERMUTE, Ops.FLIP):
            return self._reordered(node, x)
        arg = cast(tuple[tuple[int, int], ...], node.arg)
        if node.op is Ops.PAD:
            amounts = [low for low, _ in arg] + [high for _, high in arg]
            return self._node("Pad", [x, self._ints(amounts)])
        if node.op is Ops.SHRINK:
            bounds = self._ints([low for low, _ in arg]), self._ints([high for _, high in arg])
            return self._node("Slice", [x, *bounds])
        raise _refused(node, "it is no view that is known")

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
            raise _refused(node, f"no wider integers hold {kind}")
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
        if kind.is_int and op in BITS:
            return self._node(BITS[op], inputs)
        if op in BINARY:
            return self._node(BINARY[op], inputs)
        if op in UNARY:
            return self._node(UNARY[op], inputs)
        special = _SPECIAL.get(op)
        if special is None:
            raise _refused(node, f"opset {OPSET} has no such operation")
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
        return self._node("Reshape", [found, self._ints(sizes_of(node))], allowzero=1)

    def _unrepeated(self, node: UOp) -> tuple[str, list[int]]:
        """A value without the axes along which it is repeated, and the axes that it has."""
        if node.op is not Ops.EXPAND:
            return self._names[node], list(range(len(node.shape)))
        inner = node.src[0]
        sizes = sizes_of(inner)
        own = [i for i, size in enumerate(sizes_of(node)) if sizes[i] == size]
        shape = self._ints([sizes[i] for i in own])
        return self._node("Reshape", [self._names[inner], shape], allowzero=1), own

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

    def _power_of_two(self, node: UOp, x: str, kind: DType) -> str:
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


def _is_same(array: np.ndarray, other: UOp) -> bool:
    if other.shape != array.shape:
        return False
    found = as_array(Tensor(other))
    return isinstance(found, np.ndarray) and np.array_equal(
        array, found, equal_nan=array.dtype.kind == "f"
    )
