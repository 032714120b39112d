"""Make up models of one node: random attributes, shapes, dtypes, opsets and symbolic sizes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from onnx import TensorProto, ValueInfoProto, helper, numpy_helper

F16, F32, F64 = np.float16, np.float32, np.float64
I8, I32, I64, U8 = np.int8, np.int32, np.int64, np.uint8
FLOATS = [F32, F32, F32, F64, F16]
NUMBERS = [F32, F32, F64, I32, I64]
INTEGERS = [I32, I64, I8, U8]


@dataclass
class Fixed:
    """An input that is an initializer."""

    array: np.ndarray


@dataclass
class Case:
    """One node with its inputs; those that are None are left out."""

    operator: str
    inputs: list
    attributes: dict = field(default_factory=dict)
    outputs: int = 1
    opset: int = 17
    loose: float = 1.0

    def feeds(self) -> dict[str, np.ndarray]:
        return {f"x{i}": x for i, x in enumerate(self.inputs) if isinstance(x, np.ndarray)}

    def model(self, symbolic: bool) -> bytes:
        names = ["" if x is None else f"x{i}" for i, x in enumerate(self.inputs)]
        while not names[-1]:
            # onnxruntime crashes on inputs left out at the end
            names.pop()
        results = [f"y{i}" for i in range(self.outputs)]
        node = helper.make_node(self.operator, names, results, name="n", **self.attributes)
        constants, declared = [], []
        for name, x in zip(names, self.inputs, strict=False):
            if isinstance(x, Fixed):
                constants.append(numpy_helper.from_array(x.array, name))
            elif x is not None:
                shape = [f"{name}_{i}" if symbolic else n for i, n in enumerate(x.shape)]
                kind = helper.np_dtype_to_tensor_dtype(x.dtype)
                declared.append(helper.make_tensor_value_info(name, kind, shape))
        opens = [ValueInfoProto(name=r) for r in results]
        graph = helper.make_graph([node], "g", declared, opens, constants)
        opsets = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        return model.SerializeToString()


class Make:
    """Random parts of cases."""

    def __init__(self, seed: int) -> None:
        self.py = random.Random(seed)
        self.np = np.random.default_rng(seed)

    def flip(self, chance: float = 0.5) -> bool:
        return self.py.random() < chance

    def one(self, options):
        return self.py.choice(list(options))

    def size(self, low: int = 1, high: int = 5) -> int:
        return self.py.randint(low, high)

    def shape(self, low: int = 1, high: int = 4) -> tuple[int, ...]:
        return tuple(self.size() for _ in range(self.size(low, high)))

    def values(self, shape, dtype=F32, low=None, high=None) -> np.ndarray:
        kind = np.dtype(dtype).kind
        if kind == "b":
            return self.np.random(shape) < 0.5
        if kind in "iu":
            least = 0 if kind == "u" else -9
            bounds = (least if low is None else low, 10 if high is None else high)
            return self.np.integers(*bounds, shape).astype(dtype)
        if low is not None:
            return self.np.uniform(low, high, shape).astype(dtype)
        return (self.np.standard_normal(shape) * 2).astype(dtype)

    def array(self, dtype=F32, low: int = 1, high: int = 4) -> np.ndarray:
        return self.values(self.shape(low, high), dtype)

    def broadcast(self, shape) -> tuple[int, ...]:
        """A shape that broadcasts with another, often to it."""
        cut = shape[self.py.randint(0, len(shape)) :] if self.flip() else shape
        return tuple(1 if self.flip(0.3) else n for n in cut)

    def given(self, array) -> np.ndarray | Fixed:
        """As an initializer or fed."""
        return Fixed(np.asarray(array)) if self.flip(0.7) else np.asarray(array)

    def ints(self, values) -> np.ndarray | Fixed:
        return self.given(np.asarray(values, I64))

    def axis(self, rank: int) -> int:
        return self.py.randint(-rank, rank - 1)

    def axes(self, rank: int) -> list[int]:
        chosen = self.py.sample(range(rank), self.py.randint(1, rank))
        return [a - rank if self.flip() else a for a in chosen]

    def some(self, **options) -> dict:
        """Some of the attributes."""
        return {name: value for name, value in options.items() if self.flip()}


FAMILIES: dict[str, Callable[[Make], Case]] = {}


def family(*names: str):
    def register(function):
        for name in names:
            FAMILIES[name] = lambda m, name=name: function(m, name)
        return function

    return register


@family(
    "Exp", "Ceil", "Floor", "Round", "Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Asinh",
    "Tanh", "Sigmoid", "Erf", "Softplus", "Softsign", "Mish", "HardSwish", "Reciprocal",
    "Identity", "IsNaN", "Selu",
)  # fmt: skip
def unary(m, name):
    opset = 18 if name == "Mish" else m.one([14, 17, 20])
    return Case(name, [m.array(m.one(FLOATS), 0)], opset=opset)


@family("Abs", "Neg", "Sign", "Relu")
def unary_numbers(m, name):
    return Case(name, [m.array(m.one([*NUMBERS, I8]), 0)], opset=m.one([14, 17]))


@family("Log", "Sqrt", "Acos", "Asin", "Acosh", "Atanh")
def unary_bounded(m, name):
    low, high = {"Log": (0.01, 9), "Sqrt": (0, 9), "Acosh": (1, 9)}.get(name, (-0.99, 0.99))
    return Case(name, [m.values(m.shape(0), m.one([F32, F64]), low, high)])


@family("LeakyRelu", "Elu", "Celu", "ThresholdedRelu", "HardSigmoid", "Selu", "Shrink", "Gelu",
        "IsInf", "Swish")  # fmt: skip
def activation(m, name):
    names = {
        "HardSigmoid": ("alpha", "beta"),
        "Selu": ("alpha", "gamma"),
        "Shrink": ("bias", "lambd"),
        "Gelu": (),
        "IsInf": (),
    }.get(name, ("alpha",))
    attributes = m.some(**{n: m.py.uniform(0.1, 2) for n in names})
    if name == "Gelu":
        attributes = m.some(approximate=m.one(["none", "tanh"]))
    x = m.array(F32 if name == "Celu" else m.one([F32, F64]), 0)
    if name == "IsInf":
        attributes = m.some(detect_positive=m.size(0, 1), detect_negative=m.size(0, 1))
        x = np.where(m.values(x.shape, bool), x * np.inf, x).astype(F32)
    opset = {"Gelu": 20, "Swish": 24}.get(name, 17)
    return Case(name, [x], attributes, opset=opset)


@family("Add", "Sub", "Mul", "Div", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual",
        "PRelu")  # fmt: skip
def binary(m, name):
    dtype = m.one(NUMBERS)
    shape = m.shape()
    x, y = m.values(shape, dtype), m.values(m.broadcast(shape), dtype)
    if name == "Div" and np.dtype(dtype).kind == "i":
        y = np.where(y == 0, 3, y).astype(dtype)
    pair = [x, y] if m.flip(0.7) or name == "PRelu" else [y, x]
    if name == "Div":
        pair = [x, y]
    return Case(name, pair, opset=m.one([13, 16, 17]))


@family("Mod")
def mod(m, name):
    dtype = m.one([F32, I32, I64, I8, U8])
    shape = m.shape()
    y = m.values(m.broadcast(shape), dtype)
    y = np.where(y == 0, 3, y).astype(dtype)
    fmod = 1 if dtype is F32 else m.size(0, 1)
    return Case(name, [m.values(shape, dtype), y], {"fmod": fmod})


@family("Pow")
def power(m, name):
    shape = m.shape()
    dtype = m.one([F32, F64, I32, I64])
    base = m.values(shape, dtype, 1, 4)
    exponent = m.one([F32, I32, I64, F64])
    return Case(name, [base, m.values(m.broadcast(shape), exponent, 0, 4)])


@family("And", "Or", "Xor")
def logic(m, name):
    shape = m.shape()
    return Case(name, [m.values(shape, bool), m.values(m.broadcast(shape), bool)])


@family("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift")
def bits(m, name):
    shape, dtype = m.shape(), m.one([np.uint8, np.uint32, np.uint64])
    more = {"direction": m.one(["LEFT", "RIGHT"])} if name == "BitShift" else {}
    y = m.values(m.broadcast(shape), dtype, 0, 7)
    return Case(name, [m.values(shape, dtype, 0, 200), y], more, opset=18)


@family("Not", "BitwiseNot")
def invert(m, name):
    dtype = bool if name == "Not" else m.one([I32, U8, I64])
    return Case(name, [m.array(dtype)], opset=18)


@family("Max", "Min", "Sum", "Mean")
def variadic(m, name):
    dtype = m.one(NUMBERS if name in ("Max", "Min") else [F32, F64])
    shape = m.shape()
    count = m.size(1, 4)
    return Case(name, [m.values(m.broadcast(shape), dtype) for _ in range(count)])


@family("Clip")
def clip(m, name):
    dtype = m.one(NUMBERS)
    low = m.given(np.array(-1, dtype)) if m.flip(0.7) else None
    high = m.given(np.array(2, dtype)) if m.flip(0.7) else None
    return Case(name, [m.array(dtype, 0), low, high], opset=m.one([12, 13]))


@family("Cast")
def cast(m, name):
    kinds = ["FLOAT", "DOUBLE", "INT32", "INT64", "BOOL", "FLOAT16", "BFLOAT16", "UINT8", "INT8"]
    dtype = m.one([F32, F64, I32, I64, bool, F16])
    x = m.values(m.shape(0), dtype, 0, 9) if dtype is not bool else m.array(bool)
    return Case(name, [x], {"to": getattr(TensorProto, m.one(kinds))}, opset=m.one([13, 19]))


@family("CastLike")
def cast_like(m, name):
    return Case(name, [m.array(m.one(NUMBERS)), m.array(m.one(NUMBERS))])


@family("Where")
def where(m, name):
    shape, dtype = m.shape(), m.one(NUMBERS)
    parts = [m.values(m.broadcast(shape), bool)]
    return Case(name, [*parts, m.values(shape, dtype), m.values(m.broadcast(shape), dtype)])


@family("CumSum")
def cumulative(m, name):
    x = m.array(m.one(NUMBERS))
    axis = m.given(np.array(m.axis(x.ndim), m.one([I32, I64])))
    return Case(name, [x, axis], m.some(exclusive=m.size(0, 1), reverse=m.size(0, 1)))


@family("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
        "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")  # fmt: skip
def reduction(m, name):
    dtype = m.one(
        [F32, F32, F64, I32, I64]
        if name not in ("ReduceLogSum", "ReduceLogSumExp", "ReduceL2")
        else [F32, F64]
    )
    x = m.array(dtype)
    if name == "ReduceLogSum":
        x = np.abs(x) + 1
    opset = m.one([11, 13, 18])
    axes = m.axes(x.ndim) if m.flip(0.8) else None
    more = m.some(keepdims=m.size(0, 1))
    if opset >= (13 if name == "ReduceSum" else 18):
        more |= m.some(noop_with_empty_axes=m.size(0, 1))
        return Case(name, [x, None if axes is None else m.ints(axes)], more, opset=opset)
    if axes is not None:
        more["axes"] = axes
    return Case(name, [x], more, opset=opset)


@family("ArgMax", "ArgMin")
def extreme(m, name):
    x = m.values(m.shape(), m.one([F32, I32, F64]))
    x = np.round(x)
    more = m.some(axis=m.axis(x.ndim), keepdims=m.size(0, 1), select_last_index=m.size(0, 1))
    return Case(name, [x.astype(x.dtype)], more)


@family("TopK")
def top_k(m, name):
    x = m.array(m.one([F32, F64, I32, I64]))
    axis = m.axis(x.ndim)
    k = m.ints([m.size(1, x.shape[axis])])
    more = {"axis": axis, **m.some(largest=m.size(0, 1))}
    return Case(name, [x, k], more, outputs=2, opset=m.one([11, 17]))


@family("Softmax", "LogSoftmax", "Hardmax")
def softmax(m, name):
    x = m.array(m.one([F32, F64]))
    return Case(name, [x], m.some(axis=m.axis(x.ndim)), opset=m.one([11, 13, 17]))


@family("LpNormalization")
def lp_norm(m, name):
    x = m.array(m.one([F32, F64]))
    return Case(name, [x], m.some(axis=m.axis(x.ndim), p=m.size(1, 2)))


@family("MeanVarianceNormalization")
def mean_variance(m, name):
    x = m.values((2, 3, 4, 5))
    return Case(name, [x], m.some(axes=m.one([[0, 2, 3], [1], [2, 3]])), loose=10)


@family("Concat")
def concat(m, name):
    shape, dtype = m.shape(), m.one([*NUMBERS, bool])
    axis = m.axis(len(shape))
    parts = []
    for _ in range(m.size(1, 4)):
        size = list(shape)
        size[axis] = m.size(0, 4)
        parts.append(m.values(tuple(size), dtype))
    return Case(name, parts, {"axis": axis})


@family("Split")
def split(m, name):
    x = m.array()
    axis = m.axis(x.ndim)
    parts = m.size(1, 3)
    if m.flip():
        sizes = [m.size(0, 3) for _ in range(parts)]
        shape = list(x.shape)
        shape[axis] = sum(sizes)
        return Case(name, [m.values(tuple(shape)), m.ints(sizes)], {"axis": axis}, outputs=parts)
    if x.shape[axis] < parts:
        parts = 1
    more = {"axis": axis, "num_outputs": parts}
    return Case(name, [x], more, outputs=parts, opset=18)


@family("Slice")
def slices(m, name):
    x = m.array(m.one(NUMBERS))
    axes = m.axes(x.ndim)
    extremes = [-(2**31), 2**31 - 1, -(2**63) + 1, 2**63 - 1]
    starts = [m.one([m.py.randint(-6, 6), *extremes[:1]]) for _ in axes]
    ends = [m.one([m.py.randint(-6, 6), m.one(extremes)]) for _ in axes]
    steps = [m.one([1, 1, 2, -1, -2, 3]) for _ in axes]
    # the greatest integers are no end for steps backward, whatever onnxruntime makes of them
    ends = [e if s > 0 else min(e, 7) for e, s in zip(ends, steps, strict=True)]
    return Case(name, [x, m.ints(starts), m.ints(ends), m.ints(axes), m.ints(steps)])


@family("Gather")
def gather(m, name):
    x = m.array(m.one([*NUMBERS, bool]))
    axis = m.axis(x.ndim)
    n = x.shape[axis]
    places = m.values(m.shape(0, 3), m.one([I32, I64]), -n, n)
    return Case(
        name, [x, m.given(places)], m.some(axis=axis) if x.shape[0] >= n else {"axis": axis}
    )


@family("GatherElements", "ScatterElements")
def elements(m, name):
    x = m.array(m.one(NUMBERS))
    axis = m.axis(x.ndim)
    n = x.shape[axis]
    shape = tuple(m.size(1, size) for size in x.shape)
    if name == "GatherElements":
        return Case(name, [x, m.given(m.values(shape, I64, -n, n))], {"axis": axis})
    reduction = m.one(["none", "add", "mul", "max", "min"])
    places = m.values(shape, I64, -n, n)
    if reduction == "none":
        order = np.argsort(m.np.random(x.shape), axis)[tuple(slice(0, s) for s in shape)]
        places = order.astype(I64)
    more = {"axis": axis, "reduction": reduction}
    return Case(name, [x, m.given(places), m.values(shape, x.dtype)], more, opset=18)


@family("GatherND")
def gather_nd(m, name):
    x = m.array(m.one(NUMBERS), 2, 4)
    batch = m.size(0, 1)
    depth = m.size(1, x.ndim - batch)
    lead = (x.shape[0],) if batch else ()
    shape = (*lead, *m.shape(1, 2))
    columns = [m.values(shape, I64, -n, n) for n in x.shape[batch : batch + depth]]
    return Case(name, [x, m.given(np.stack(columns, -1))], {"batch_dims": batch})


@family("ScatterND")
def scatter_nd(m, name):
    x = m.array(m.one(NUMBERS), 1, 3)
    depth = m.size(1, x.ndim)
    rows = np.array(list(np.ndindex(*x.shape[:depth])), I64)
    reduction = m.one(["none", "add", "mul", "max", "min"])
    count = m.size(1, len(rows))
    chosen = (
        m.np.permutation(len(rows))[:count]
        if reduction == "none"
        else m.np.integers(0, len(rows), count)
    )
    updates = m.values((count, *x.shape[depth:]), x.dtype)
    return Case(name, [x, m.given(rows[chosen]), updates], {"reduction": reduction}, opset=18)


@family("Pad")
def pad(m, name):
    x = m.values(tuple(m.size(3, 5) for _ in range(m.size(1, 4))), m.one([F32, I32, F64]))
    mode = m.one(["constant", "reflect", "edge", "wrap"])
    low = -1 if mode == "constant" else 0
    chosen = m.axes(x.ndim) if m.flip() else None
    count = x.ndim if chosen is None else len(chosen)
    pads = m.ints([m.py.randint(low, 2) for _ in range(2 * count)])
    value = m.given(np.array(2, x.dtype)) if mode == "constant" and m.flip() else None
    inputs = [x, pads, value, None if chosen is None else m.ints(chosen)]
    return Case(name, inputs, {"mode": mode}, opset=19)


@family("Tile", "Expand", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten")
def movement(m, name):
    x = m.array(m.one([*NUMBERS, bool]))
    if name == "Tile":
        return Case(name, [x, m.ints([m.size(0, 3) for _ in x.shape])])
    if name == "Expand":
        target = tuple(m.size() for _ in range(m.size(0, 2))) + m.broadcast(x.shape)
        base = m.values(m.broadcast(x.shape), x.dtype)
        try:
            np.broadcast_shapes(base.shape, target)
        except ValueError:
            target = base.shape
        return Case(name, [base, m.ints(target)])
    if name == "Reshape":
        target = list(x.shape)
        m.py.shuffle(target)
        if m.flip():
            target[m.size(0, len(target) - 1)] = -1
        elif m.flip():
            target = [0] * x.ndim
        return Case(name, [x, m.ints(target)])
    if name == "Transpose":
        order = list(range(x.ndim))
        m.py.shuffle(order)
        return Case(name, [x], m.some(perm=order))
    if name == "Squeeze":
        shape = tuple(1 if m.flip() else n for n in x.shape)
        ones = [i - len(shape) if m.flip() else i for i, n in enumerate(shape) if n == 1]
        return Case(name, [m.values(shape, x.dtype), m.ints(ones) if ones and m.flip() else None])
    if name == "Unsqueeze":
        rank = x.ndim + 2
        return Case(name, [x, m.ints(m.py.sample([0, 1, -1, rank - 2 - rank], 2))])
    return Case(name, [x], m.some(axis=m.py.randint(-x.ndim, x.ndim)))


@family("OneHot")
def one_hot(m, name):
    dtype = m.one([I64, I32, F32])
    depth = m.size(1, 6)
    indices = np.round(m.values(m.shape(1, 3), dtype, -depth - 1, depth + 1)).astype(dtype)
    values = m.given(np.array([2, 5], m.one([F32, I64])))
    more = m.some(axis=m.axis(indices.ndim + 1))
    return Case(name, [indices, m.given(np.array(depth, m.one([I64]))), values], more)


@family("Trilu", "EyeLike", "Range", "ConstantOfShape")
def creation(m, name):
    if name == "Trilu":
        x = m.array(m.one(NUMBERS), 2, 4)
        k = m.given(np.array(m.py.randint(-3, 3), I64)) if m.flip() else None
        return Case(name, [x, k], m.some(upper=m.size(0, 1)))
    if name == "EyeLike":
        x = m.array(m.one([F32, I32]), 2, 2)
        return Case(name, [x], m.some(k=m.py.randint(-3, 3), dtype=TensorProto.DOUBLE))
    if name == "Range":
        dtype = m.one([F32, I64, I32, F64])
        bounds = [np.array(v, dtype) for v in (m.size(-3, 3), m.size(-3, 9), m.one([1, 2, 3, -1]))]
        return Case(name, [m.given(b) for b in bounds])
    value = numpy_helper.from_array(np.array([3], m.one([F32, I64, I32])))
    return Case(name, [m.ints(m.shape(0))], m.some(value=value))


@family("NonZero", "Unique", "Compress")
def data_dependent(m, name):
    x = m.values(m.shape(), m.one([F32, I64]), -1, 2)
    if name == "NonZero":
        return Case(name, [np.round(x).astype(x.dtype)])
    if name == "Unique":
        more = m.some(axis=m.axis(x.ndim), sorted=m.size(0, 1))
        return Case(name, [np.round(x).astype(x.dtype)], more, outputs=4)
    axis = m.axis(x.ndim)
    count = x.shape[axis] if m.flip() else max(x.shape[axis] - 1, 1)
    return Case(name, [x, m.values((count,), bool)], {"axis": axis})


@family("DepthToSpace", "SpaceToDepth")
def blocks(m, name):
    b = m.size(1, 3)
    shape = (m.size(1, 2), 2 * b * b, 2, 3) if name == "DepthToSpace" else (1, 2, 2 * b, 3 * b)
    more = m.some(mode=m.one(["DCR", "CRD"])) if name == "DepthToSpace" else {}
    return Case(name, [m.values(shape)], {"blocksize": b, **more})


@family("ReverseSequence")
def reverse_sequence(m, name):
    x = m.values((4, 3, 2))
    lengths = m.values((3,), I64, 1, 4)
    if m.flip():
        return Case(name, [x, m.given(lengths)])
    lengths = m.values((4,), I64, 1, 4)
    return Case(name, [x, m.given(lengths)], {"batch_axis": 0, "time_axis": 1})


def window(m, x, kernel, ceil=False, dilate=True):
    more = m.some(strides=[m.size(1, 3) for _ in kernel])
    if dilate:
        more |= m.some(dilations=[m.size(1, 2) for _ in kernel])
    if m.flip(0.3) and "dilations" not in more:
        more["auto_pad"] = m.one(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif m.flip():
        more["pads"] = [m.size(0, max(k - 1, 0)) for k in kernel] * 2
    if ceil and "auto_pad" not in more:
        more |= m.some(ceil_mode=1)
    return more


@family("Conv", "ConvTranspose")
def convolution(m, name):
    rank = m.size(1, 3)
    group = m.one([1, 1, 2])
    channels, outputs = 2 * group, m.size(1, 2) * group
    kernel = [m.size(1, 3) for _ in range(rank)]
    x = m.values((m.size(1, 2), channels, *(m.size(5, 8) for _ in range(rank))))
    more = window(m, x, kernel) | ({"group": group} if group > 1 or m.flip() else {})
    if name == "Conv":
        w = m.values((outputs, channels // group, *kernel))
    else:
        w = m.values((channels, outputs // group, *kernel))
        if more.get("auto_pad", "").startswith("SAME"):
            # with strides beyond the kernel onnxruntime gives less than the stated input * stride
            more["strides"] = [1 for _ in kernel]
        if "auto_pad" not in more and "strides" in more and m.flip():
            more["output_padding"] = [m.size(0, s - 1) for s in more["strides"]]
    bias = m.given(m.values((outputs,))) if m.flip() else None
    return Case(name, [x, m.given(w), bias], more | m.some(kernel_shape=kernel), loose=5)


@family("MaxPool", "AveragePool", "LpPool")
def pool(m, name):
    rank = m.size(1, 3)
    kernel = [m.size(1, 3) for _ in range(rank)]
    x = m.values((m.size(1, 2), 2, *(m.size(5, 8) for _ in range(rank))))
    more = window(m, x, kernel, name != "LpPool", name == "MaxPool") | {"kernel_shape": kernel}
    outputs = 1
    if name == "MaxPool":
        more |= m.some(storage_order=m.size(0, 1)) if rank == 2 else {}
        outputs = m.size(1, 2)
    if name == "AveragePool":
        more |= m.some(count_include_pad=1)
    if name == "LpPool":
        more |= m.some(p=m.size(1, 3))
    opset = m.one([11, 12]) if name == "LpPool" else m.one([12, 19])
    return Case(name, [x], more, outputs=outputs, opset=opset)


@family("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(m, name):
    more = m.some(p=m.size(1, 3)) if name == "GlobalLpPool" else {}
    return Case(name, [m.array(F32, 3, 5)], more)


@family("BatchNormalization", "InstanceNormalization", "LayerNormalization", "LRN",
        "GroupNormalization", "RMSNormalization")  # fmt: skip
def normalization(m, name):
    x = m.values((m.size(1, 3), 4, *m.shape(1, 3)))
    epsilon = m.some(epsilon=m.py.uniform(1e-4, 1e-2))
    if name == "BatchNormalization":
        parts = [m.given(m.values((4,))) for _ in range(3)]
        return Case(name, [x, *parts, m.given(m.values((4,), F32, 0.1, 2))], epsilon)
    if name == "InstanceNormalization":
        return Case(name, [x, m.values((4,)), m.values((4,))], epsilon, loose=20)
    if name == "LRN":
        more = m.some(alpha=0.3, beta=0.6, bias=1.5)
        return Case(name, [x], {"size": m.size(1, 4), **more})
    if name == "GroupNormalization":
        more = {"num_groups": m.one([1, 2, 4]), **epsilon}
        return Case(name, [x, m.values((4,)), m.values((4,))], more, opset=21, loose=20)
    axis = m.axis(x.ndim)
    scale = m.values(x.shape[axis:])
    if name == "RMSNormalization":
        return Case(name, [x, scale], {"axis": axis, **epsilon}, opset=23, loose=20)
    bias = m.values(x.shape[axis:]) if m.flip() else None
    more = {"axis": axis, **epsilon}
    return Case(name, [x, scale, bias], more, outputs=m.one([1, 3]), loose=20)


@family("MatMul", "MatMulInteger")
def matmul(m, name):
    n, k, p = m.size(), m.size(), m.size()
    lead = m.shape(1, 2) if m.flip() else ()
    a, b = (*m.broadcast(lead), n, k), (*lead, k, p)
    a, b = m.one([(a, b), ((k,), b), (a, (k,)), ((n, k), (k, p))])
    if name == "MatMul":
        dtype = m.one([F32, F64, I32])
        return Case(name, [m.values(a, dtype), m.given(m.values(b, dtype))], loose=5)
    if len(a) < 2 or len(b) < 2:
        a, b = (n, k), (k, p)
    kinds = U8, m.one([U8, I8])
    zeros = [m.given(np.array(m.size(1, 9), kind)) if m.flip() else None for kind in kinds]
    return Case(name, [m.values(a, kinds[0], 0, 255), m.values(b, kinds[1], 0, 127), *zeros])


@family("Gemm")
def gemm(m, name):
    n, k, p = m.size(), m.size(), m.size()
    more = m.some(transA=1, transB=1, alpha=0.5, beta=1.5)
    a = m.values((k, n) if "transA" in more else (n, k))
    b = m.values((p, k) if "transB" in more else (k, p))
    c = m.values(m.one([(p,), (n, p), (1, p), (n, 1), (), (1,)])) if m.flip(0.7) else None
    return Case(name, [a, b, c], more, loose=5)


@family("Einsum")
def einsum(m, name):
    equation = m.one(["ij,jk->ik", "bij,bjk->bik", "ij->ji", "ii->i", "ij,ij->", "i,j->ij",
                      "...ij,...jk->...ik", "bhqd,bhkd->bhqk", "ij->i", "ii", "ij,kj"])  # fmt: skip
    sizes = dict.fromkeys("bhijkqd", 0)
    sizes = {letter: m.size(1, 4) for letter in sizes}
    shapes = []
    for term in equation.split("->")[0].split(","):
        lead = (2,) if "..." in term else ()
        shapes.append(lead + tuple(sizes[c] for c in term.replace("...", "")))
    return Case(name, [m.values(s) for s in shapes], {"equation": equation}, loose=5)


@family("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear")
def quantize(m, name):
    x = m.array(F32, 2, 4)
    if name == "DynamicQuantizeLinear":
        return Case(name, [x], outputs=3)
    kind = m.one([U8, I8])
    axis = m.axis(x.ndim)
    each = m.flip()
    shape = (x.shape[axis],) if each else ()
    scale = m.given(m.values(shape, F32, 0.05, 0.5))
    zero = m.given(m.values(shape, kind, 0, 9)) if m.flip(0.8) else None
    more = {"axis": axis} if each else {}
    if name == "QuantizeLinear":
        return Case(name, [x, scale, zero], more)
    return Case(name, [m.values(x.shape, kind if zero is not None else U8), scale, zero], more)


@family("Resize")
def resize(m, name):
    x = m.values((1, 2, m.size(2, 6), m.size(2, 6)))
    mode = m.one(["nearest", "linear", "cubic"])
    more = {"mode": mode}
    more |= m.some(
        coordinate_transformation_mode=m.one(
            ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
             "half_pixel_symmetric"]
        )
    )  # fmt: skip
    if mode == "nearest":
        modes = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
        more |= m.some(nearest_mode=m.one(modes))
    if mode == "cubic":
        more |= m.some(cubic_coeff_a=-0.5, exclude_outside=1)
    where = more.get("coordinate_transformation_mode")
    if mode != "nearest" and where != "pytorch_half_pixel":
        # onnxruntime has other positions there for results of size 1
        more |= m.some(antialias=1)
    if m.flip():
        sizes = m.ints([1, 2, m.size(1, 9), m.size(1, 9)])
        return Case(name, [x, None, None, sizes], more, opset=19, loose=10)
    scales = np.array([1, 1, m.one([0.5, 1.5, 2, 3]), m.one([0.6, 1, 2.5, 2])], F32)
    return Case(name, [x, None, m.given(scales)], more, opset=19, loose=10)


@family("RNN", "GRU", "LSTM")
def recurrent(m, name):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[name]
    steps, batch, size, hidden = m.size(1, 5), m.size(1, 3), m.size(1, 4), m.size(1, 4)
    direction = m.one(["forward", "reverse", "bidirectional"])
    d = 2 if direction == "bidirectional" else 1
    inputs = [
        m.values((steps, batch, size)),
        Fixed(m.values((d, gates * hidden, size))),
        Fixed(m.values((d, gates * hidden, hidden))),
        Fixed(m.values((d, 2 * gates * hidden))) if m.flip() else None,
        m.values((batch,), I32, 1, steps + 1) if m.flip() else None,
        m.values((d, batch, hidden)) if m.flip() else None,
    ]
    more = {"hidden_size": hidden, "direction": direction} | m.some(clip=1.5)
    if name == "GRU":
        more |= m.some(linear_before_reset=1)
    if name == "LSTM":
        inputs.append(m.values((d, batch, hidden)) if m.flip() else None)
        inputs.append(Fixed(m.values((d, 3 * hidden))) if m.flip() else None)
        more |= m.some(input_forget=m.size(0, 1))
    return Case(name, inputs, more, outputs=3 if name == "LSTM" else 2, opset=14, loose=10)


@family("GridSample")
def grid_sample(m, name):
    x, grid = m.values((2, 2, 4, 5)), m.values((2, 3, 4, 2), F32, -1.3, 1.3)
    modes = ["linear", "nearest", "cubic"]
    more = m.some(
        mode=m.one(modes), padding_mode=m.one(["zeros", "border", "reflection"]), align_corners=1
    )
    return Case(name, [x, grid], more, opset=20, loose=10)


@family("RoiAlign")
def roi_align(m, name):
    rois = np.sort(m.values((3, 2, 2), F32, 0, 8), 1).reshape(3, 4)
    more = m.some(mode=m.one(["avg", "max"]), output_height=m.size(1, 3), output_width=m.size(1, 3),
                  sampling_ratio=m.size(0, 3), spatial_scale=0.5,
                  coordinate_transformation_mode=m.one(["half_pixel", "output_half_pixel"]),
    )  # fmt: skip
    return Case(name, [m.values((2, 2, 8, 8)), rois, m.values((3,), I64, 0, 2)], more, loose=10)


@family("NonMaxSuppression")
def suppression(m, name):
    corners = np.sort(m.values((2, 8, 2, 2), F32, 0, 1), 2).reshape(2, 8, 4)
    scores = m.values((2, 2, 8), F32, 0, 1)
    inputs = [corners, scores, m.ints([m.size(1, 4)]), m.given(np.array([0.4], F32)),
              m.given(np.array([0.2], F32)) if m.flip() else None]  # fmt: skip
    return Case(name, inputs, m.some(center_point_box=m.size(0, 1)))


@family("Det")
def determinant(m, name):
    n = m.size(1, 4)
    return Case(name, [m.values((*m.shape(0, 2), n, n))], loose=20)


@family("CenterCropPad")
def crop(m, name):
    x = m.array(F32, 2, 3)
    axes = m.axes(x.ndim)
    return Case(name, [x, m.ints([m.size(1, 7) for _ in axes])], {"axes": axes}, opset=18)


@family("Col2Im")
def col2im(m, name):
    image, block = [5, 6], [m.size(1, 3), m.size(1, 3)]
    more = m.some(strides=[m.size(1, 2), m.size(1, 2)], pads=[0, 1, 1, 0], dilations=[1, 2])
    strides, pads = more.get("strides", [1, 1]), more.get("pads", [0] * 4)
    spread = more.get("dilations", [1, 1])
    counts = [
        (image[i] + pads[i] + pads[i + 2] - spread[i] * (block[i] - 1) - 1) // strides[i] + 1
        for i in range(2)
    ]
    x = m.values((2, 3 * block[0] * block[1], counts[0] * counts[1]))
    return Case(name, [x, m.ints(image), m.ints(block)], more, opset=18)


@family("HannWindow", "HammingWindow", "BlackmanWindow")
def windows(m, name):
    size = m.given(np.array(m.size(2, 12), I64))
    return Case(name, [size], m.some(periodic=m.size(0, 1)))


@family("DFT")
def dft(m, name):
    x = m.values((2, m.size(2, 9), m.size(1, 2)))
    length = m.ints(m.size(2, 9)) if m.flip() else None
    more = {"inverse": 1} if m.flip(0.3) and x.shape[-1] == 2 else m.some(onesided=1)
    if x.shape[-1] == 2:
        more.pop("onesided", None)
    return Case(name, [x, length], more, opset=17, loose=20)


@family("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(m, name):
    lead = m.shape(0, 2)
    x = m.values((3, 4, *lead))
    labels = m.values((3, *lead), I64, 0, 4)
    weight = m.values((4,), F32, 0.1, 1) if m.flip() else None
    more = m.some(reduction=m.one(["mean", "sum", "none"]), ignore_index=1)
    return Case(name, [x, labels, weight], more, outputs=1, opset=13)


@family("Shape", "Size")
def size_of(m, name):
    x = m.array(F32, 0)
    more = m.some(start=m.py.randint(-5, 5), end=m.py.randint(-5, 5)) if name == "Shape" else {}
    return Case(name, [x], more)


@family("Dropout")
def dropout(m, name):
    opset = m.one([10, 12, 13])
    return Case(name, [m.array()], outputs=1 if opset == 10 else m.size(1, 2), opset=opset)


@family("QLinearMatMul", "ConvInteger", "QLinearConv")
def quantized_products(m, name):
    kind = m.one([U8, I8])
    low = 0 if kind is U8 else -128

    def code(*shape):
        return m.values(shape, kind, low, low + 256)

    def parameters():
        return [m.given(np.array(m.py.uniform(0.01, 0.1), F32)), m.given(code())]

    if name == "QLinearMatMul":
        a, b = code(3, 4), code(4, 5)
        return Case(name, [a, *parameters(), b, *parameters(), *parameters()], opset=10)
    x, w = m.values((1, 2, 6, 6), U8, 0, 256), m.values((4, 2, 3, 3), kind, low, low + 256)
    more = window(m, x, [3, 3])
    if name == "ConvInteger":
        zero = m.given(np.array(7, U8)) if m.flip() else None
        return Case("ConvInteger", [x, Fixed(w), zero], more, opset=10)
    scale = [Fixed(np.array(0.05, F32)), Fixed(np.array(100, U8))]
    middle = [Fixed(m.values((4,), F32, 0.01, 0.05)), Fixed(np.zeros(4, kind))]
    out = [Fixed(np.array(0.5, F32)), Fixed(np.array(128, U8))]
    bias = Fixed(m.values((4,), I32, -99, 99)) if m.flip() else None
    return Case(name, [x, *scale, Fixed(w), *middle, *out, bias], more, opset=10)
