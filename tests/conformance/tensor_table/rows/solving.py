"""Linear algebra: further products, norms, solutions of equations, eigenvalues."""

from __future__ import annotations

from tensor_table.cases import FLOATS, WIDE, Case, Row, like_numpy, like_torch, row
from tensor_table.inputs import num, values

HALF = {"float16": 1e-2, "bfloat16": 8e-2}
LOOSE = {"float32": 2e-4}
GOOD = values((4.0, 1.0, 0.5, 1.0, 3.0, -0.5, 0.5, -0.5, 2.0))
"""A symmetric positive definite matrix, row by row."""


def product(ours: str, theirs: str | None = None, **options: object) -> Case:
    """A product, in every float."""
    options.setdefault("dtypes", FLOATS)
    options.setdefault("tolerance", HALF)
    return like_torch(ours, theirs, **options)


def square(ours: str, theirs: str, **options: object) -> Case:
    """A function of a 3 by 3 matrix x with a good condition."""
    a = "x.reshape(3, 3)"
    options.setdefault("tolerance", LOOSE)
    return like_torch(ours.replace("A", a), theirs.replace("A", a), x=GOOD, dtypes=WIDE, **options)


def not_square(name: str) -> dict[str, str]:
    """Matrices that are not square."""
    return {f"Tensor.ones(2, 3).{name}()": "TgError", f"Tensor.ones(3).{name}()": "TgError"}


ROWS: tuple[Row, ...] = (
    row(
        "mm",
        product("x.mm(y)", x=num(3, 4), y=num(4, 2)),
        bad={"Tensor.ones(2, 3).mm(Tensor.ones(3))": "ShapeError"},
    ),
    row(
        "bmm",
        product("x.bmm(y)", x=num(2, 3, 4), y=num(2, 4, 2)),
        bad={"Tensor.ones(2, 3).bmm(Tensor.ones(3, 2))": "ShapeError"},
    ),
    row(
        "mv",
        product("x.mv(y)", x=num(3, 4), y=num(4)),
        bad={"Tensor.ones(2, 3).mv(Tensor.ones(3, 1))": "ShapeError"},
    ),
    row("outer", product("x.outer(y)", x=num(3), y=num(4))),
    row("ger", product("x.ger(y)", x=num(3), y=num(4))),
    row(
        "inner",
        product("x.inner(y)", x=num(2, 4), y=num(3, 4)),
        bad={"Tensor.ones(2).inner(Tensor.ones(3))": "ShapeError"},
    ),
    row(
        "vdot",
        product("x.vdot(y)", x=num(5), y=num(5)),
        bad={"Tensor.ones(2).vdot(Tensor.ones(3))": "ShapeError"},
    ),
    row("vecdot", product("x.vecdot(y)", "T.linalg.vecdot(x, y)", x=num(2, 5), y=num(5))),
    row(
        "cross",
        product("x.cross(y)", "T.linalg.cross(x, y)", x=num(2, 3), y=num(2, 3)),
        bad={"Tensor.ones(2).cross(Tensor.ones(2))": "TgError"},
    ),
    row("kron", product("x.kron(y)", x=num(2, 3), y=num(3, 2))),
    row(
        "tensordot",
        product("x.tensordot(y)", "T.tensordot(x, y)", x=num(2, 3, 4), y=num(3, 4, 2)),
        product(
            "x.tensordot(y, ([0], [1]))", "T.tensordot(x, y, ([0], [1]))", x=num(3, 2), y=num(2, 3)
        ),
        bad={"Tensor.ones(2).tensordot(Tensor.ones(3), 1)": "TgError"},
    ),
    row("addmm", product("z.addmm(x, y, beta=0.5, alpha=2)", x=num(3, 4), y=num(4, 2), z=num(2))),
    row("addmv", product("z.addmv(x, y, alpha=2)", x=num(3, 4), y=num(4), z=num(3))),
    row("addr", product("z.addr(x, y, beta=0.5)", x=num(3), y=num(2), z=num(3, 2))),
    row(
        "baddbmm", product("z.baddbmm(x, y, beta=0.5)", x=num(2, 3, 4), y=num(2, 4, 2), z=num(3, 2))
    ),
    row(
        "addbmm",
        product(
            "z.addbmm(x, y, alpha=0.5)", x=num(2, 3, 4), y=num(2, 4, 2), z=num(3, 2), dtypes=WIDE
        ),
    ),
    row(
        "multi_dot",
        product(
            "x.multi_dot(y, z)",
            "T.linalg.multi_dot((x, y, z))",
            x=num(2, 3),
            y=num(3, 4),
            z=num(4, 2),
            dtypes=WIDE,
        ),
    ),
    row("trace", product("x.trace()", x=num(3, 4)), bad={"Tensor.ones(3).trace()": "ShapeError"}),
    row(
        "diag_embed",
        product("x.diag_embed()", x=num(2, 3)),
        product("x.diag_embed(1, 0, 2)", x=num(2, 3)),
    ),
    # norms
    row(
        "vector_norm",
        product("x.vector_norm()", "T.linalg.vector_norm(x)", x=num(3, 4)),
        product("x.vector_norm(1, 1)", "T.linalg.vector_norm(x, 1, 1)", x=num(3, 4)),
        product("x.vector_norm(math.inf)", "T.linalg.vector_norm(x, inf)", x=num(3, 4)),
        product("x.vector_norm(3, 0, True)", "T.linalg.vector_norm(x, 3, 0, True)", x=num(3, 4)),
    ),
    row(
        "matrix_norm",
        product("x.matrix_norm()", "T.linalg.matrix_norm(x)", x=num(3, 4)),
        product("x.matrix_norm(1)", "T.linalg.matrix_norm(x, 1)", x=num(3, 4), dtypes=WIDE),
        product(
            "x.matrix_norm(-math.inf)", "T.linalg.matrix_norm(x, -inf)", x=num(3, 4), dtypes=WIDE
        ),
        product(
            "x.matrix_norm('nuc')",
            "T.linalg.matrix_norm(x, 'nuc')",
            x=num(3, 4),
            dtypes=WIDE,
            tolerance=LOOSE,
            gradient=False,
        ),
        bad={"Tensor.ones(3).matrix_norm()": "TgError"},
    ),
    row("norm", product("x.norm()", x=num(3, 4)), product("x.norm(1, 0)", x=num(3, 4))),
    row(
        "cdist",
        product("x.cdist(y)", "T.cdist(x, y)", x=num(3, 4), y=num(5, 4), dtypes=WIDE),
        product("x.cdist(y, 1.0)", "T.cdist(x, y, 1.0)", x=num(3, 4), y=num(5, 4), dtypes=WIDE),
    ),
    row(
        "pdist",
        product("x.pdist()", "T.pdist(x)", x=num(4, 3), dtypes=WIDE),
        bad={"Tensor.ones(3).pdist()": "TgError"},
    ),
    # equations
    row(
        "solve",
        square("A.solve(b)", "T.linalg.solve(A, b)", b=num(3, 2)),
        bad={"Tensor.ones(2, 3).solve(Tensor.ones(2))": "TgError"},
    ),
    row(
        "solve_triangular",
        square(
            "A.solve_triangular(b, upper=True)",
            "T.linalg.solve_triangular(A, b, upper=True)",
            b=num(3, 2),
        ),
        square(
            "A.solve_triangular(b, upper=False, unitriangular=True)",
            "T.linalg.solve_triangular(A, b, upper=False, unitriangular=True)",
            b=num(3, 2),
        ),
    ),
    row("inv", square("A.inv()", "T.linalg.inv(A)"), bad=not_square("inv")),
    row("inverse", square("A.inverse()", "T.inverse(A)"), bad=not_square("inverse")),
    row("det", square("A.det()", "T.linalg.det(A)"), bad=not_square("det")),
    row("slogdet", square("A.slogdet()", "T.linalg.slogdet(A)"), bad=not_square("slogdet")),
    row("logdet", square("A.logdet()", "T.logdet(A)"), bad=not_square("logdet")),
    row(
        "cholesky",
        square("A.cholesky()", "T.linalg.cholesky(A)", gradient=False),
        square("A.cholesky(True)", "T.linalg.cholesky(A, upper=True)", gradient=False),
        bad=not_square("cholesky"),
    ),
    row(
        "cholesky_solve",
        square(
            "b.cholesky_solve(A.cholesky())",
            "T.cholesky_solve(b, T.linalg.cholesky(A))",
            b=num(3, 2),
            gradient=False,
        ),
    ),
    row(
        "cholesky_inverse",
        square(
            "A.cholesky().cholesky_inverse()",
            "T.cholesky_inverse(T.linalg.cholesky(A))",
            gradient=False,
        ),
    ),
    row(
        "lu",
        square("(lambda p, l, u: p @ l @ u)(*A.lu())", "A + 0", gradient=False),
        square("A.lu()[2]", "T.linalg.lu(A)[2]", gradient=False),
    ),
    row(
        "pinv",
        like_numpy("x.pinv()", "np.linalg.pinv(x)", x=num(4, 3), dtypes=WIDE, tolerance=LOOSE),
    ),
    row(
        "lstsq",
        like_numpy(
            "x.lstsq(y)[0]",
            "np.linalg.lstsq(x, y, rcond=None)[0]",
            x=num(5, 3),
            y=num(5, 2),
            dtypes=WIDE,
            tolerance={"float32": 1e-3},
        ),
    ),
    row(
        "matrix_rank",
        like_numpy("x.matrix_rank()", "np.linalg.matrix_rank(x)", x=num(4, 3), out="int32"),
        "Tensor.ones(3, 3).matrix_rank().item() == 1",
    ),
    row(
        "matrix_power",
        square("A.matrix_power(3)", "T.linalg.matrix_power(A, 3)"),
        square("A.matrix_power(0)", "T.linalg.matrix_power(A, 0)", gradient=False),
        square("A.matrix_power(-2)", "T.linalg.matrix_power(A, -2)"),
        bad={"Tensor.ones(2, 3).matrix_power(2)": "TgError"},
    ),
    row(
        "matrix_exp",
        square("A.matrix_exp()", "T.linalg.matrix_exp(A)"),
        bad={"Tensor.ones(2, 3).matrix_exp()": "TgError"},
    ),
    row(
        "cond",
        square("A.cond()", "T.linalg.cond(A)", gradient=False),
        square("A.cond(1)", "T.linalg.cond(A, 1)", gradient=False),
    ),
    row(
        "eigh",
        square("A.eigh()[0]", "T.linalg.eigh(A)[0]", gradient=False),
        square("(lambda w, v: (v * w) @ v.transpose(-1, -2))(*A.eigh())", "A + 0", gradient=False),
        bad=not_square("eigh"),
        deviations="Eigenvectors are checked by their product: their signs are not unique.",
    ),
    row(
        "eigvalsh",
        square("A.eigvalsh()", "T.linalg.eigvalsh(A)", gradient=False),
        bad=not_square("eigvalsh"),
    ),
    row(
        "svdvals",
        like_torch(
            "x.svdvals()",
            "T.linalg.svdvals(x)",
            x=num(4, 3),
            dtypes=WIDE,
            tolerance=LOOSE,
            gradient=False,
        ),
    ),
)
