"""Products of matrices, factorizations, sums by formula, neural layers that are products."""

from __future__ import annotations

from tensor_table.cases import FLOATS, INTS, WIDE, Row, like_numpy, like_torch, row
from tensor_table.inputs import num

HALF = {"float16": 1e-2, "bfloat16": 8e-2}

ROWS: tuple[Row, ...] = (
    row(
        "dot",
        like_torch("x.dot(y)", "x @ y", x=num(3, 8), y=num(8, 5), dtypes=FLOATS, tolerance=HALF),
        like_torch("x.dot(y)", "x @ y", x=num(17), y=num(17)),
        like_torch("x.dot(y)", "x @ y", x=num(2, 3, 4), y=num(4)),
        like_numpy("x.dot(y)", "x @ y", x=num(3, 8), y=num(8, 5), dtypes=INTS),
        bad={
            "Tensor.ones(2, 3).dot(Tensor.ones(2, 3))": "ShapeError",
            "Tensor(1.0).dot(Tensor.ones(2))": "ShapeError",
        },
    ),
    row(
        "matmul",
        like_torch("x.matmul(y)", x=num(3, 8), y=num(8, 5), dtypes=FLOATS, tolerance=HALF),
        like_torch("x.matmul(y)", x=num(2, 1, 3, 4), y=num(5, 4, 2), dtypes=FLOATS, tolerance=HALF),
        like_torch("x.matmul(y)", x=num(4), y=num(2, 4, 3)),
        like_torch("x.matmul(y)", x=num(17, 33), y=num(33, 9)),
        like_torch("x.matmul(y, reverse=True)", "y @ x", x=num(8, 5), y=num(3, 8)),
        like_torch("x.matmul(y)", x=num(3, 0), y=num(0, 2), gradient=False),
        like_numpy("x.matmul(y)", "x @ y", x=num(2, 3, 4), y=num(4, 2), dtypes=INTS),
        like_torch(
            "x.matmul(y, dtype='float32')",
            "x.float() @ y.float()",
            x=num(3, 8),
            y=num(8, 5),
            dtypes=("float16", "float32", "bfloat16"),
        ),
        bad={
            "Tensor.ones(2, 3).matmul(Tensor.ones(4, 5))": "ShapeError",
            "Tensor.ones(2, 3).matmul(Tensor(2.0))": "ShapeError",
        },
    ),
    row(
        "linear",
        like_torch(
            "x.linear(w, b)",
            "F.linear(x, w.T, b)",
            x=num(2, 5),
            w=num(5, 3),
            b=num(3),
            dtypes=FLOATS,
            tolerance=HALF,
        ),
        like_torch("x.linear(w)", "x * w", x=num(2, 5), w=num(5)),
        bad={"Tensor.ones(2, 3).linear(Tensor.ones(4, 5))": "ShapeError"},
        deviations="The weight is (inputs, outputs).",
    ),
    row(
        "einsum",
        like_torch(
            "Tensor.einsum('ij,jk->ik', x, y)",
            "T.einsum('ij,jk->ik', x, y)",
            x=num(3, 8),
            y=num(8, 5),
            dtypes=FLOATS,
            tolerance=HALF,
        ),
        like_torch("Tensor.einsum('ij->ji', x)", "T.einsum('ij->ji', x)", x=num(3, 4)),
        like_torch("Tensor.einsum('ii->i', x)", "T.einsum('ii->i', x)", x=num(4, 4)),
        like_torch("Tensor.einsum('ii', x)", "T.einsum('ii', x)", x=num(4, 4)),
        like_torch(
            "Tensor.einsum('...ij,...jk->...ik', x, y)",
            "T.einsum('...ij,...jk->...ik', x, y)",
            x=num(2, 1, 3, 4),
            y=num(5, 4, 2),
        ),
        like_torch(
            "Tensor.einsum('bij,bjk,bkl->bil', x, y, z)",
            "T.einsum('bij,bjk,bkl->bil', x, y, z)",
            x=num(2, 3, 4),
            y=num(2, 4, 2),
            z=num(2, 2, 3),
        ),
        like_torch(
            "Tensor.einsum('i,j->ij', x, y)", "T.einsum('i,j->ij', x, y)", x=num(3), y=num(4)
        ),
        like_torch(
            "Tensor.einsum('ij,ij->', x, y)", "T.einsum('ij,ij->', x, y)", x=num(3, 4), y=num(3, 4)
        ),
        bad={
            "Tensor.einsum('ij,jk->ik', Tensor.ones(2, 3))": "ArgumentError",
            "Tensor.einsum('ij,jk->ik', Tensor.ones(2, 3), Tensor.ones(4, 5))": "ShapeError",
            "Tensor.einsum('ij->ik', Tensor.ones(2, 3))": "ArgumentError",
        },
    ),
    row(
        "qr",
        like_numpy("(lambda q, r: q @ r)(*x.qr())", "x", x=num(4, 3), dtypes=WIDE),
        like_numpy(
            "(lambda q, r: q.transpose(-1, -2) @ q)(*x.qr())",
            "np.broadcast_to(np.eye(np.linalg.qr(x)[0].shape[-1]), "
            "np.linalg.qr(x)[0].swapaxes(-1, -2).shape[:-2] + "
            "(np.linalg.qr(x)[0].shape[-1],) * 2)",
            x=num(2, 3, 3),
            dtypes=WIDE,
        ),
        bad={"Tensor.ones(3).qr()": "TgError"},
        deviations="Checked by its products: the signs of columns are not unique.",
    ),
    row(
        "svd",
        like_numpy("x.svd()[1]", "np.linalg.svd(x)[1]", x=num(4, 3), dtypes=WIDE, tolerance=1e-4),
        like_numpy(
            "(lambda u, s, v: (u * s.unsqueeze(-2)) @ v)(*x.svd(full_matrices=False))",
            "x",
            x=num(2, 3, 4),
            dtypes=WIDE,
            tolerance=1e-4,
        ),
        bad={"Tensor.ones(3).svd()": "TgError"},
        deviations="Checked by its products and singular values.",
    ),
    row(
        "scaled_dot_product_attention",
        like_torch(
            "q.scaled_dot_product_attention(k, v)",
            "F.scaled_dot_product_attention(q, k, v)",
            q=num(2, 2, 5, 4),
            k=num(2, 2, 6, 4),
            v=num(2, 2, 6, 3),
            dtypes=FLOATS,
            tolerance=HALF,
        ),
        like_torch(
            "q.scaled_dot_product_attention(k, v, is_causal=True)",
            "F.scaled_dot_product_attention(q, k, v, is_causal=True)",
            q=num(2, 5, 4),
            k=num(2, 5, 4),
            v=num(2, 5, 4),
        ),
        like_torch(
            "q.scaled_dot_product_attention(k, v, attn_mask=m)",
            "F.scaled_dot_product_attention(q, k, v, attn_mask=m)",
            q=num(2, 5, 4),
            k=num(2, 6, 4),
            v=num(2, 6, 4),
            m=num(5, 6),
        ),
        like_torch(
            "q.scaled_dot_product_attention(k, v, attn_mask=m > -3)",
            "F.scaled_dot_product_attention(q, k, v, attn_mask=m > -3)",
            q=num(2, 5, 4),
            k=num(2, 6, 4),
            v=num(2, 6, 4),
            m=num(5, 6, dtype="int32"),
        ),
        like_torch(
            "q.scaled_dot_product_attention(k, v, enable_gqa=True)",
            "F.scaled_dot_product_attention(q, k, v, enable_gqa=True)",
            q=num(1, 4, 5, 4),
            k=num(1, 2, 6, 4),
            v=num(1, 2, 6, 4),
        ),
        bad={
            "Tensor.ones(2, 4).scaled_dot_product_attention(Tensor.ones(2, 4), Tensor.ones(2, 4),"
            " attn_mask=Tensor.ones(2, 2), is_causal=True)": "ArgumentError",
            (
                "Tensor.ones(2,"
                " 4).scaled_dot_product_attention(Tensor.ones(2, 3), Tensor.ones(2, 4))"
            ): "ShapeError",
        },
    ),
    row(
        "conv2d",
        like_torch(
            "x.conv2d(w)",
            "F.conv2d(x, w)",
            x=num(1, 3, 6, 5),
            w=num(2, 3, 3, 2),
            dtypes=FLOATS,
            tolerance=HALF,
        ),
        like_torch(
            "x.conv2d(w, b, stride=2, padding=1)",
            "F.conv2d(x, w, b, 2, 1)",
            x=num(2, 2, 6, 5),
            w=num(3, 2, 3, 3),
            b=num(3),
        ),
        like_torch(
            "x.conv2d(w, groups=2, dilation=(2, 1))",
            "F.conv2d(x, w, groups=2, dilation=(2, 1))",
            x=num(1, 4, 6, 5),
            w=num(6, 2, 2, 3),
        ),
        like_torch("x.conv2d(w)", "F.conv1d(x, w)", x=num(1, 2, 7), w=num(3, 2, 3)),
        like_torch("x.conv2d(w)", "F.conv3d(x, w)", x=num(1, 2, 4, 3, 3), w=num(3, 2, 2, 2, 2)),
        like_torch(
            "x.conv2d(w, padding=(1, 2, 0, 1))",
            "F.conv2d(F.pad(x, (1, 2, 0, 1)), w)",
            x=num(1, 2, 4, 4),
            w=num(1, 2, 3, 3),
        ),
        bad={
            "Tensor.ones(1, 3, 4, 4).conv2d(Tensor.ones(2, 4, 3, 3))": "ShapeError",
            "Tensor.ones(1, 3, 4, 4).conv2d(Tensor.ones(2, 3, 5, 5))": "ShapeError",
            "Tensor.ones(1, 3, 4, 4).conv2d(Tensor.ones(2, 3, 3))": "ShapeError",
        },
        deviations="As many axes as the weight has beyond two.",
    ),
    row(
        "conv_transpose2d",
        like_torch(
            "x.conv_transpose2d(w)",
            "F.conv_transpose2d(x, w)",
            x=num(1, 3, 4, 3),
            w=num(3, 2, 3, 2),
            dtypes=FLOATS,
            tolerance=HALF,
        ),
        like_torch(
            "x.conv_transpose2d(w, b, stride=2, padding=1, output_padding=1)",
            "F.conv_transpose2d(x, w, b, 2, 1, 1)",
            x=num(2, 2, 4, 3),
            w=num(2, 3, 3, 3),
            b=num(3),
            # PyTorch errs by more than a rounding on processors without bfloat16 instructions
            widened={"bfloat16": "float32"},
        ),
        like_torch(
            "x.conv_transpose2d(w, groups=2, dilation=2)",
            "F.conv_transpose2d(x, w, groups=2, dilation=2)",
            x=num(1, 4, 3, 3),
            w=num(4, 2, 2, 2),
        ),
        like_torch(
            "x.conv_transpose2d(w, stride=2)",
            "F.conv_transpose1d(x, w, stride=2)",
            x=num(1, 2, 5),
            w=num(2, 3, 3),
        ),
        bad={"Tensor.ones(1, 3, 4, 4).conv_transpose2d(Tensor.ones(2, 4, 3, 3))": "ShapeError"},
    ),
)
