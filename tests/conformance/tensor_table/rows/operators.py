"""Arithmetic, comparisons and bit operators, as methods and as signs."""

from __future__ import annotations

from tensor_table.cases import (
    ALL,
    BINARY,
    FLOATS,
    INTS,
    LAYOUTS,
    NUMBERS,
    SIGNED,
    Case,
    Row,
    like_numpy,
    like_torch,
    row,
)
from tensor_table.inputs import Input, every, num, positive

BITS = (*INTS, "bool")


def pair(ours: str, theirs: str | None = None, **options: object) -> Case:
    """Two inputs that broadcast, compared with PyTorch."""
    options.setdefault("x", num())
    options.setdefault("y", num())
    options.setdefault("dtypes", ALL)
    return like_torch(ours, theirs, shapes=BINARY, layouts=LAYOUTS, **options)


def whole(ours: str, theirs: str, **options: object) -> Case:
    """Two inputs over the whole range of integers, compared with NumPy."""
    options.setdefault("x", every())
    options.setdefault("y", every())
    options.setdefault("dtypes", BITS)
    return like_numpy(ours, theirs, shapes=BINARY, layouts=LAYOUTS, **options)


def lone(ours: str, theirs: str | None = None, **options: object) -> Case:
    """One input and a number."""
    options.setdefault("x", num(17))
    options.setdefault("dtypes", NUMBERS)
    return like_torch(ours, theirs, **options)


def in_place(sign: str, name: str, **options: object) -> Row:
    """An operator that changes what its name stands for."""
    options.setdefault("x", num())
    options.setdefault("y", num())
    return row(
        name,
        like_torch(f"x.{name}(y)", f"x {sign} y", gradient=False, shapes=INTO, **options),
        bad={f"Tensor.ones(2, dtype='int32').{name}(Tensor.ones(3, dtype='int32'))": "TgError"},
    )


# the second fits into the first
INTO = (((17,), (17,)), ((3, 4), (1, 4)), ((2, 3), ()), ((0, 3), (3,)))
# the two signs of both operands, and zero as divisor
NUMERATORS = Input("values", values=(7, 7, -7, -7, 6, -6, 0, 0, 5, -5, 100, -100, 1))
DENOMINATORS = Input("values", values=(2, -2, 2, -2, 3, 3, 3, -3, 7, 7, -7, 9, 1))


def unfit(call: str) -> dict[str, str]:
    """The mistakes that every operator of two Tensors refuses.

    `x == None` is none: it asks whether there is a Tensor, and the answer is False.
    """
    if call in ("{} == {}", "{} != {}"):
        other, error = "object()", "OperandError"
    else:
        other, error = "None", "TypeError"
    return {
        call.format("Tensor.ones(2)", "Tensor.ones(3)"): "ShapeError",
        call.format("Tensor.ones(2)", other): error,
    }


ROWS = (
    row(
        "add",
        pair("x.add(y)", "x + y", special=True),
        lone("x.add(3, reverse=True)", "3 + x"),
        bad=unfit("{}.add({})"),
    ),
    row(
        "__add__",
        pair("x + y"),
        whole("x + y", "x + y", dtypes=INTS),
        lone("x + 2"),
        lone("x + 1.5", dtypes=FLOATS),
        bad=unfit("{} + {}"),
    ),
    row("__radd__", lone("2 + x"), lone("1.5 + x", dtypes=(*FLOATS, "int32", "bool"))),
    row(
        "sub",
        pair("x.sub(y)", "x - y", dtypes=NUMBERS, special=True),
        lone("x.sub(3, reverse=True)", "3 - x"),
        bad={**unfit("{}.sub({})"), "Tensor([True]).sub(Tensor([True]))": "DTypeError"},
    ),
    row(
        "__sub__",
        pair("x - y", dtypes=NUMBERS),
        whole("x - y", "x - y", dtypes=INTS),
        lone("x - 2"),
        bad={**unfit("{} - {}"), "Tensor([True]) - Tensor([True])": "DTypeError"},
    ),
    row("__rsub__", lone("2 - x"), lone("1.5 - x", dtypes=(*FLOATS, "int32"))),
    row(
        "mul",
        pair("x.mul(y)", "x * y", special=True),
        lone("x.mul(3, reverse=True)", "3 * x"),
        bad=unfit("{}.mul({})"),
    ),
    row(
        "__mul__",
        pair("x * y"),
        whole("x * y", "x * y", dtypes=INTS),
        lone("x * 2"),
        bad=unfit("{} * {}"),
    ),
    row("__rmul__", lone("2 * x"), lone("1.5 * x", dtypes=(*FLOATS, "int32", "bool"))),
    row(
        "fdiv",
        pair("x.fdiv(y)", "x / y", y=positive(), dtypes=FLOATS, special=True),
        lone("x.fdiv(3, reverse=True)", "3 / x", dtypes=FLOATS),
        bad=unfit("{}.fdiv({})"),
    ),
    row(
        "div",
        pair("x.div(y)", "T.div(x, y)", y=num(low=1), dtypes=(*FLOATS, *INTS)),
        lone("x.div(3, reverse=True)", "3 / x", dtypes=FLOATS),
        like_torch(
            "x.div(y, rounding_mode='trunc')",
            "T.div(x, y, rounding_mode='trunc')",
            x=num(17, low=-20, high=20),
            y=num(17, low=1, high=5),
            dtypes=NUMBERS,
            gradient=False,
            widened={"float16": "float64", "bfloat16": "float64"},
        ),
        like_torch(
            "x.div(y, rounding_mode='floor')",
            "T.div(x, y, rounding_mode='floor')",
            x=num(17, low=-20, high=20),
            y=num(17, low=1, high=5),
            dtypes=NUMBERS,
            gradient=False,
            widened={"float16": "float64", "bfloat16": "float64"},
        ),
        bad={
            **unfit("{}.div({})"),
            "Tensor.ones(2).div(2, rounding_mode='up')": "ValueError",
        },
    ),
    row(
        "__truediv__",
        pair("x / y", y=num(low=1), dtypes=(*FLOATS, *INTS)),
        lone("x / 2"),
        bad=unfit("{} / {}"),
    ),
    row("__rtruediv__", lone("2 / x", dtypes=FLOATS), lone("1.5 / x", dtypes=FLOATS)),
    row(
        "idiv",
        like_numpy(
            "x.idiv(y)",
            "np.where(y == 0, 0, np.trunc(x / np.where(y == 0, 1, y)))",
            x=NUMERATORS,
            y=DENOMINATORS,
            dtypes=SIGNED,
            out=lambda dtype: dtype,
        ),
        "Tensor([7, -7]).idiv(0).tolist() == [0, 0]",
        "Tensor([2, -2]).idiv(7, reverse=True).tolist() == [3, -3]",
        bad=unfit("{}.idiv({})"),
        deviations="Truncates; PyTorch has `div(rounding_mode='trunc')`. Integers by zero give 0.",
    ),
    row(
        "floordiv",
        like_numpy("x.floordiv(y)", "x // y", x=NUMERATORS, y=DENOMINATORS, dtypes=SIGNED),
        "Tensor([7]).floordiv(-2).tolist() == [-4]",
        bad=unfit("{}.floordiv({})"),
    ),
    row(
        "__floordiv__",
        like_numpy("x // y", x=NUMERATORS, y=DENOMINATORS, dtypes=(*SIGNED, "float64", "float32")),
        whole("x // y", "np.where(y == 0, x * 0, x // np.where(y == 0, y + 1, y))", dtypes=INTS),
        lone("x // 3", gradient=False),
        bad=unfit("{} // {}"),
        deviations="Integers by zero give 0; PyTorch raises.",
    ),
    row(
        "__rfloordiv__",
        like_numpy("7 // x", x=DENOMINATORS, dtypes=(*SIGNED, "float32")),
    ),
    row(
        "mod",
        like_numpy("x.mod(y)", "x % y", x=NUMERATORS, y=DENOMINATORS, dtypes=(*SIGNED, "float32")),
        "Tensor([7, -7]).mod(0).tolist() == [0, 0]",
        "Tensor([4, -4]).mod(7, reverse=True).tolist() == [3, -1]",
        bad=unfit("{}.mod({})"),
    ),
    row(
        "__mod__",
        like_numpy("x % y", x=NUMERATORS, y=DENOMINATORS, dtypes=(*SIGNED, "float64", "float32")),
        whole("x % y", "np.where(y == 0, x * 0, x % np.where(y == 0, y + 1, y))", dtypes=INTS),
        lone("x % 3"),
        like_torch("x % y", x=num(17, low=-9, high=9), y=num(17, low=0.6, high=4)),
        bad=unfit("{} % {}"),
        deviations="The sign of the divisor. Integers by zero give 0; PyTorch raises.",
    ),
    row("__rmod__", like_numpy("7 % x", x=DENOMINATORS, dtypes=(*SIGNED, "float32"))),
    row(
        "pow",
        pair("x.pow(y)", "T.pow(x, y)", x=positive(), y=num(low=-2, high=3), dtypes=FLOATS),
        pair(
            "x.pow(y)",
            "T.pow(x, y)",
            x=num(low=-2, high=3),
            y=num(low=0, high=4),
            dtypes=("int32", "int64", "uint8"),
            gradient=False,
        ),
        lone("x.pow(2)", dtypes=NUMBERS),
        lone("x.pow(-1)", dtypes=FLOATS),
        lone("x.pow(0.5)", x=positive(17), dtypes=FLOATS),
        lone("x.pow(2, reverse=True)", "T.pow(2, x)", dtypes=FLOATS),
        bad=unfit("{}.pow({})"),
    ),
    row(
        "__pow__",
        pair("x ** y", x=positive(), y=num(low=-2, high=3), dtypes=FLOATS, special=True),
        lone("x ** 3", dtypes=NUMBERS),
        lone("x ** 0", dtypes=NUMBERS),
        bad=unfit("{} ** {}"),
    ),
    row("__rpow__", lone("2 ** x", dtypes=FLOATS), lone("0.5 ** x", dtypes=FLOATS)),
    # comparisons
    *(
        row(
            name,
            like_numpy(
                f"x {sign} y",
                x=num(),
                y=num(),
                shapes=BINARY,
                layouts=LAYOUTS,
                dtypes=ALL,
                special=True,
            ),
            like_numpy(f"x {sign} 2", x=num(17), dtypes=NUMBERS),
            bad=unfit("{} " + sign + " {}"),
        )
        for name, sign in (
            ("__lt__", "<"),
            ("__le__", "<="),
            ("__gt__", ">"),
            ("__ge__", ">="),
            ("__eq__", "=="),
            ("__ne__", "!="),
        )
    ),
    row(
        "eq",
        like_numpy("x.eq(y)", "x == y", x=num(), y=num(), shapes=BINARY, dtypes=ALL, special=True),
        bad=unfit("{}.eq({})"),
    ),
    row(
        "ne",
        like_numpy("x.ne(y)", "x != y", x=num(), y=num(), shapes=BINARY, dtypes=ALL, special=True),
        bad=unfit("{}.ne({})"),
    ),
    # bits
    *(
        row(
            name,
            whole(f"x.{name}(y)", f"x {sign} y"),
            like_numpy(f"x.{name}(1, reverse=True)", f"1 {sign} x", x=num(17), dtypes=INTS),
            bad={**unfit("{}." + name + "({})"), f"Tensor([1.5]).{name}(2)": "DTypeError"},
        )
        for name, sign in (("bitwise_and", "&"), ("bitwise_or", "|"), ("bitwise_xor", "^"))
    ),
    *(
        row(
            f"__{name}__",
            whole(f"x {sign} y", f"x {sign} y"),
            like_numpy(f"x {sign} 3", x=num(17), dtypes=INTS),
            bad={f"Tensor([1.5]) {sign} 2": "DTypeError"},
        )
        for name, sign in (("and", "&"), ("or", "|"), ("xor", "^"))
    ),
    *(
        row(f"__r{name}__", like_numpy(f"3 {sign} x", x=num(17), dtypes=INTS))
        for name, sign in (("and", "&"), ("or", "|"), ("xor", "^"))
    ),
    row(
        "lshift",
        like_numpy(
            "x.lshift(y)", "x << y", x=num(low=0), y=num(low=0, high=3), shapes=BINARY, dtypes=INTS
        ),
        like_numpy("x.lshift(2, reverse=True)", "2 << x", x=num(17, low=0), dtypes=INTS),
        bad={"Tensor([1.5]).lshift(2)": "DTypeError"},
    ),
    row(
        "rshift",
        like_numpy(
            "x.rshift(y)", "x >> y", x=every(), y=num(low=0, high=7), shapes=BINARY, dtypes=INTS
        ),
        like_numpy("x.rshift(100, reverse=True)", "100 >> x", x=num(17, low=0), dtypes=INTS),
        bad={"Tensor([1.5]).rshift(2)": "DTypeError"},
    ),
    row(
        "__lshift__",
        like_numpy("x << 2", x=every(17), dtypes=INTS),
        bad={"Tensor([1.5]) << 2": "DTypeError"},
    ),
    row(
        "__rshift__",
        like_numpy("x >> 2", x=every(17), dtypes=INTS),
        bad={"Tensor([1.5]) >> 2": "DTypeError"},
    ),
    row("__rlshift__", like_numpy("2 << x", x=num(17, low=0, high=4), dtypes=INTS)),
    row("__rrshift__", like_numpy("100 >> x", x=num(17, low=0, high=4), dtypes=INTS)),
    row("__abs__", lone("abs(x)", dtypes=(*FLOATS, *SIGNED))),
    row("__pos__", lone("+x", dtypes=(*FLOATS, *SIGNED))),
    row(
        "__divmod__",
        like_numpy("divmod(x, y)", x=NUMERATORS, y=DENOMINATORS, dtypes=(*SIGNED, "float32")),
    ),
    row("__rdivmod__", like_numpy("divmod(7, x)", x=DENOMINATORS, dtypes=(*SIGNED, "float32"))),
    row(
        "__imatmul__",
        like_torch("x.__imatmul__(y)", "x @ y", x=num(3, 3), y=num(3, 3), gradient=False),
    ),
    # in place
    in_place("+", "__iadd__", dtypes=NUMBERS),
    in_place("-", "__isub__", dtypes=NUMBERS),
    in_place("*", "__imul__", dtypes=NUMBERS),
    in_place("/", "__itruediv__", y=num(low=1), dtypes=FLOATS),
    in_place("//", "__ifloordiv__", y=num(low=1), dtypes=("int32", "int8", "uint8", "int64")),
    in_place("%", "__imod__", y=num(low=1), dtypes=("int32", "int8", "uint8", "int64")),
    in_place("**", "__ipow__", x=positive(), y=num(low=-2, high=3), dtypes=FLOATS),
    in_place("&", "__iand__", dtypes=("int32", "int8", "uint8", "int64")),
    in_place("|", "__ior__", dtypes=("int32", "int8", "uint8", "int64")),
    in_place("^", "__ixor__", dtypes=("int32", "int8", "uint8", "int64")),
    in_place("<<", "__ilshift__", x=num(low=0), y=num(low=0, high=3), dtypes=("int32", "int64")),
    in_place(">>", "__irshift__", y=num(low=0, high=3), dtypes=("int32", "int64")),
    # low level
    row("alu", "Tensor([1, 2]).alu(Ops.ADD, Tensor([3, 4])).tolist() == [4, 6]"),
    row(
        "ufix",
        "Tensor([1.5]).ufix(2).dtype is dtypes.float32",
        "Tensor([1]).ufix(2.5).dtype is dtypes.float32",
        "Tensor([True]).ufix(2).dtype is dtypes.int32",
        bad={"Tensor([1.5]).ufix(None)": "TypeError"},
    ),
    row(
        "const_like",
        like_torch(
            "x.const_like(2)", "T.full_like(x, 2)", x=num(2, 3), dtypes=ALL[:-1], gradient=False
        ),
        bad={"Tensor([1.5]).const_like('a')": "DTypeError"},
    ),
    row(
        "threefry",
        "Tensor([1], dtype='uint64').threefry(Tensor([2], dtype='uint64')).dtype is dtypes.uint64",
        "Tensor([1, 1], dtype='uint64').threefry(Tensor([2, 2], dtype='uint64'))"
        ".numpy().tolist().__len__() == 2",
    ),
    row(
        "__matmul__",
        like_torch("x @ y", x=num(3, 8), y=num(8, 5), dtypes=FLOATS),
        bad={"Tensor.ones(2, 3) @ Tensor.ones(4, 5)": "ShapeError"},
    ),
    row("__rmatmul__", like_torch("x.__rmatmul__(y)", "y @ x", x=num(8, 5), y=num(3, 8))),
)
