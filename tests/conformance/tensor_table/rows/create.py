"""Creation of Tensors: constants, counters, random numbers, data from elsewhere."""

from __future__ import annotations

from tensor_table.cases import Row, like_numpy, like_torch, row
from tensor_table.inputs import num

GIVEN = "dtype is dtypes.float32"


def constant(name: str, value: int) -> Row:
    """zeros and ones."""
    return row(
        name,
        like_torch(f"Tensor.{name}(2, 3)", f"T.{name}(2, 3)", gradient=False),
        like_torch(
            f"Tensor.{name}((2, 3), dtype='int8')", f"T.{name}(2, 3, dtype=T.int8)", gradient=False
        ),
        like_torch(f"Tensor.{name}(0, 3)", f"T.{name}(0, 3)", gradient=False),
        like_torch(f"Tensor.{name}(())", f"T.{name}(())", gradient=False),
        like_torch(
            f"Tensor.{name}(4, dtype=dtypes.bool)", f"T.{name}(4, dtype=T.bool)", gradient=False
        ),
        bad={
            f"Tensor.{name}(-1)": "ArgumentError",
            f"Tensor.{name}(2, colour=1)": "TypeError",
            f"Tensor.{name}(2, dtype='flaot')": "UnknownDTypeError",
        },
    )


def like(name: str, theirs: str) -> Row:
    """zeros_like and its kin."""
    return row(
        name,
        like_torch(
            f"x.{name}()",
            theirs,
            x=num(2, 3),
            dtypes=("float32", "int8", "bfloat16"),
            gradient=False,
        ),
        like_torch(
            f"x.{name}(dtype='int64')",
            theirs.replace("(x", "(x, dtype=T.int64"),
            x=num(2, 3),
            gradient=False,
            out="int64",
        ),
        bad={f"Tensor.ones(2).{name}(colour=1)": "TypeError"},
    )


def drawn(name: str, call: str, within: str, *more: str, bad: dict[str, str] | None = None) -> Row:
    """A random function: repeatable by its seed, within its range."""
    twice = f"(lambda f: f() == f())(lambda: [Tensor.manual_seed(5), {call}.tolist()][1])"
    fresh = f"{call}.tolist() != {call}.tolist()"
    return row(
        name,
        f"(lambda r: {within})({call}.numpy())",
        twice,
        fresh,
        *more,
        bad=bad,
        deviations="Numbers of its own: the stream is threefry, not PyTorch's.",
    )


ROWS: tuple[Row, ...] = (
    constant("zeros", 0),
    constant("ones", 1),
    like("zeros_like", "T.zeros_like(x)"),
    like("ones_like", "T.ones_like(x)"),
    row(
        "full",
        like_torch("Tensor.full((2, 3), 4)", "T.full((2, 3), 4)", gradient=False, out="int32"),
        like_torch("Tensor.full((2, 3), 4.5)", "T.full((2, 3), 4.5)", gradient=False),
        like_torch("Tensor.full((3,), True)", "T.full((3,), True)", gradient=False),
        like_torch(
            "Tensor.full((), 2, dtype='float16')", "T.full((), 2, dtype=T.float16)", gradient=False
        ),
        bad={
            "Tensor.full((-1,), 2)": "ArgumentError",
            "Tensor.full((2,), 1, colour=1)": "TypeError",
        },
    ),
    row(
        "full_like",
        like_torch(
            "x.full_like(3)",
            "T.full_like(x, 3)",
            x=num(2, 3),
            gradient=False,
            dtypes=("float32", "int8", "bfloat16"),
        ),
        like_torch(
            "x.full_like(3, dtype='int64')",
            "T.full_like(x, 3, dtype=T.int64)",
            x=num(2, 3),
            gradient=False,
            out="int64",
        ),
        bad={"Tensor.ones(2).full_like(1, colour=1)": "TypeError"},
    ),
    row(
        "empty",
        "Tensor.empty(2, 3).numpy().shape == (2, 3)",
        "Tensor.empty((2,), dtype='int8').dtype is dtypes.int8",
        "Tensor.empty(0, 3).numpy().shape == (0, 3)",
        bad={"Tensor.empty(-1)": "ArgumentError", "Tensor.empty(2, colour=1)": "TypeError"},
    ),
    row(
        "empty_like",
        "Tensor.ones(2, 3, dtype='int8').empty_like().dtype is dtypes.int8",
        "Tensor.ones(2, 3).empty_like(dtype='half').numpy().shape == (2, 3)",
        bad={"Tensor.ones(2).empty_like(colour=1)": "TypeError"},
    ),
    row(
        "invalids",
        "Tensor.invalids(2, 3).shape == (2, 3)",
        "Tensor.invalids(2, 3, dtype='int8').dtype is dtypes.int8",
    ),
    row(
        "arange",
        like_torch("Tensor.arange(5)", "T.arange(5)", gradient=False, out="int32"),
        like_torch("Tensor.arange(2, 9, 3)", "T.arange(2, 9, 3)", gradient=False, out="int32"),
        like_torch("Tensor.arange(9, 2, -2)", "T.arange(9, 2, -2)", gradient=False, out="int32"),
        like_torch("Tensor.arange(0.5, 3)", "T.arange(0.5, 3)", gradient=False),
        like_torch("Tensor.arange(1, 2, 0.25)", "T.arange(1, 2, 0.25)", gradient=False),
        like_torch(
            "Tensor.arange(5, dtype='float16')", "T.arange(5, dtype=T.float16)", gradient=False
        ),
        like_torch("Tensor.arange(0)", "T.arange(0)", gradient=False, out="int32"),
        like_torch("Tensor.arange(300)", "T.arange(300)", gradient=False, out="int32"),
        "Tensor.arange(5, 2).tolist() == []",
        bad={"Tensor.arange(1, 2, 0)": "ArgumentError", "Tensor.arange(3, colour=1)": "TypeError"},
        deviations="An empty result where PyTorch raises because the step leads away from stop.",
    ),
    row(
        "linspace",
        like_torch("Tensor.linspace(0, 10, 5)", "T.linspace(0, 10, 5)", gradient=False),
        like_torch("Tensor.linspace(-1, 1, 17)", "T.linspace(-1, 1, 17)", gradient=False),
        like_torch("Tensor.linspace(3, 4, 1)", "T.linspace(3, 4, 1)", gradient=False),
        like_torch("Tensor.linspace(3, 4, 0)", "T.linspace(3, 4, 0)", gradient=False),
        like_torch(
            "Tensor.linspace(10, 0, 6, dtype='int32')",
            "T.linspace(10, 0, 6, dtype=T.int32)",
            gradient=False,
        ),
        bad={"Tensor.linspace(0, 1, -1)": "ArgumentError"},
    ),
    row(
        "eye",
        like_torch("Tensor.eye(3)", "T.eye(3)", gradient=False),
        like_torch("Tensor.eye(2, 4)", "T.eye(2, 4)", gradient=False),
        like_torch("Tensor.eye(3, dtype='int8')", "T.eye(3, dtype=T.int8)", gradient=False),
        like_numpy("Tensor.eye(0)", "np.eye(0)"),
        bad={"Tensor.eye(-1)": "ArgumentError"},
    ),
    row(
        "one_hot",
        like_torch(
            "x.one_hot(5)",
            "F.one_hot(x, 5)",
            x=num(2, 3, low=0, high=4, dtype="int64"),
            gradient=False,
            out="int32",
            dtypes=("float32",),
        ),
        "Tensor([0, 2]).one_hot(3).dtype is dtypes.int32",
        "Tensor([5]).one_hot(3).tolist() == [[0, 0, 0]]",
        bad={"Tensor([1]).one_hot(-1)": "ArgumentError", "Tensor([1.5]).one_hot(3)": "DTypeError"},
        deviations="int32. A class outside of 0 to num_classes - 1 gives zeros.",
    ),
    # random
    drawn(
        "rand",
        "Tensor.rand(500)",
        "r.min() >= 0 and r.max() < 1 and abs(r.mean() - 0.5) < 0.1",
        "Tensor.rand(2, 3, dtype='float16').dtype is dtypes.float16",
        "Tensor.rand(0).shape == (0,)",
        bad={"Tensor.rand(-1)": "ArgumentError"},
    ),
    drawn(
        "rand_like",
        "Tensor.ones(500).rand_like()",
        "r.min() >= 0 and r.max() < 1",
        "Tensor.ones(2, dtype='half').rand_like().dtype is dtypes.half",
    ),
    drawn(
        "randn",
        "Tensor.randn(900)",
        "abs(r.mean()) < 0.2 and abs(r.std() - 1) < 0.2",
        "Tensor.randn(3, dtype='half').dtype is dtypes.half",
    ),
    drawn("randn_like", "Tensor.ones(900).randn_like()", "abs(r.mean()) < 0.2"),
    drawn(
        "normal",
        "Tensor.normal(900, mean=3.0, std=2.0)",
        "abs(r.mean() - 3) < 0.4 and abs(r.std() - 2) < 0.4",
    ),
    drawn(
        "uniform",
        "Tensor.uniform(500, low=-2.0, high=3.0)",
        "r.min() >= -2 and r.max() < 3 and abs(r.mean() - 0.5) < 0.5",
    ),
    drawn(
        "randint",
        "Tensor.randint(500, low=-3, high=4)",
        "set(r.tolist()) == set(range(-3, 4))",
        "Tensor.randint(5).dtype is dtypes.int32",
        bad={
            "Tensor.randint(3, low=0.5)": "ArgumentError",
            "Tensor.randint(3, dtype='float32')": "ArgumentError",
        },
    ),
    drawn("randperm", "Tensor.randperm(50)", "sorted(r.tolist()) == list(range(50))"),
    drawn("scaled_uniform", "Tensor.scaled_uniform(25, 20)", "abs(r).max() <= 500 ** -0.5"),
    drawn("glorot_uniform", "Tensor.glorot_uniform(25, 20)", "abs(r).max() <= (6 / 45) ** 0.5"),
    drawn(
        "kaiming_uniform",
        "Tensor.kaiming_uniform(25, 20)",
        "abs(r).max() <= 3 ** 0.5 * (2 / (1 + 0.01 ** 2) / 20) ** 0.5",
    ),
    drawn(
        "kaiming_normal",
        "Tensor.kaiming_normal(25, 20)",
        "abs(r.std() - (2 / (1 + 0.01 ** 2) / 20) ** 0.5) < 0.05",
    ),
    drawn(
        "multinomial",
        "Tensor([0.0, 1.0, 2.0, 0.0]).multinomial(50, replacement=True)",
        "set(r.tolist()) == {1, 2}",
        "sorted(Tensor([1.0, 1.0, 1.0]).multinomial(3).tolist()) == [0, 1, 2]",
        "Tensor([[1.0, 0.0], [0.0, 1.0]]).multinomial(1).tolist() == [[0], [1]]",
        bad={
            "Tensor([1.0]).multinomial(2)": "ArgumentError",
            "Tensor(1.0).multinomial(1)": "ArgumentError",
        },
    ),
    row(
        "manual_seed",
        "(lambda f: f() == f())(lambda: [Tensor.manual_seed(5), Tensor.rand(5).tolist()][1])",
        "(lambda f: f(1) != f(2))(lambda s: [Tensor.manual_seed(s), Tensor.rand(5).tolist()][1])",
    ),
    row(
        "random_bits",
        "Tensor.random_bits(Tensor([1, 2], dtype='uint32'), Tensor([0], dtype='uint32'), 8)"
        ".dtype is dtypes.uint32",
    ),
    row(
        "dropout",
        "Tensor.ones(100).dropout(0.5).sum().item() == 100",
        "(lambda r: set(r) == {0.0, 2.0})"
        "([Tensor.train().__enter__(), Tensor.ones(100).dropout(0.5).tolist(),"
        " setattr(Tensor, 'training', False)][1])",
        bad={
            "Tensor.ones(2).dropout(1.5)": "ArgumentError",
            "Tensor.ones(2).dropout(-0.1)": "ArgumentError",
        },
        deviations="Acts while `Tensor.training` is set.",
    ),
)
