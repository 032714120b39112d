"""Layers without weights of their own: pools, norms, losses, images."""

from __future__ import annotations

from tensor_table.cases import FLOATS, Row, like_torch, row
from tensor_table.inputs import fixed, integers, num, sized

HALF = {"float16": 1e-2, "bfloat16": 8e-2}
IMAGE = (1, 2, 7, 6)

ROWS: tuple[Row, ...] = (
    row(
        "avg_pool2d",
        like_torch(
            "x.avg_pool2d()", "F.avg_pool2d(x, 2)", x=sized(IMAGE), dtypes=FLOATS, tolerance=HALF
        ),
        like_torch(
            "x.avg_pool2d((3, 2), stride=(2, 1), padding=1)",
            "F.avg_pool2d(x, (3, 2), (2, 1), 1)",
            x=sized(IMAGE),
        ),
        like_torch(
            "x.avg_pool2d(3, 2, padding=1, ceil_mode=True, count_include_pad=False)",
            "F.avg_pool2d(x, 3, 2, 1, True, False)",
            x=sized(IMAGE),
        ),
        like_torch(
            "x.avg_pool2d(3, 2, ceil_mode=True)", "F.avg_pool2d(x, 3, 2, 0, True)", x=sized(IMAGE)
        ),
        like_torch("x.avg_pool2d((2,))", "F.avg_pool1d(x, 2)", x=num(1, 2, 7)),
        bad={
            "Tensor.ones(1, 1, 2, 2).avg_pool2d(3)": "ShapeError",
            "Tensor.ones(1, 1, 4, 4).avg_pool2d(2, padding=2)": "ArgumentError",
        },
    ),
    row(
        "max_pool2d",
        like_torch("x.max_pool2d()", "F.max_pool2d(x, 2)", x=sized(IMAGE), dtypes=FLOATS),
        like_torch(
            "x.max_pool2d((3, 2), stride=(2, 1), padding=1)",
            "F.max_pool2d(x, (3, 2), (2, 1), 1)",
            x=sized(IMAGE),
        ),
        like_torch(
            "x.max_pool2d(2, 1, dilation=2)", "F.max_pool2d(x, 2, 1, dilation=2)", x=sized(IMAGE)
        ),
        like_torch(
            "x.max_pool2d(3, 2, ceil_mode=True)",
            "F.max_pool2d(x, 3, 2, ceil_mode=True)",
            x=sized(IMAGE),
        ),
        like_torch(
            "x.max_pool2d(2, return_indices=True)",
            "F.max_pool2d(x, 2, return_indices=True)",
            x=sized(IMAGE),
        ),
        bad={
            "Tensor.ones(1, 1, 2, 2).max_pool2d(3)": "ShapeError",
            "Tensor.ones(1, 1, 4, 4).max_pool2d(2, padding=2)": "ArgumentError",
        },
        deviations="Positions are int32. The gradient is split evenly among equal values.",
    ),
    row(
        "max_unpool2d",
        like_torch(
            "x.max_unpool2d(i.reshape(1, 1, 2, 2), 2)",
            "F.max_unpool2d(x, i.reshape(1, 1, 2, 2), 2)",
            x=num(1, 1, 2, 2),
            i=fixed((0, 3, 9, 15)),
        ),
        like_torch(
            "x.max_unpool2d(i.reshape(1, 1, 2, 2), 2, output_size=(5, 5))",
            "F.max_unpool2d(x, i.reshape(1, 1, 2, 2), 2, output_size=(5, 5))",
            x=num(1, 1, 2, 2),
            i=fixed((0, 3, 9, 15)),
        ),
    ),
    row(
        "layernorm",
        like_torch(
            "x.layernorm()",
            "F.layer_norm(x, x.shape[-1:])",
            x=num(3, 8),
            dtypes=FLOATS,
            tolerance=HALF,
        ),
        like_torch(
            "x.layernorm((1, 2), eps=1e-3)",
            "F.layer_norm(x, x.shape[1:], eps=1e-3)",
            x=num(2, 3, 4),
        ),
        bad={"Tensor.ones(2, 3).layernorm(2)": "ShapeError"},
    ),
    row(
        "batchnorm",
        like_torch(
            "x.batchnorm(w, b, m, (v.square() + 1e-5).rsqrt())",
            "F.batch_norm(x, m, v.square(), w, b)",
            x=num(2, 3, 4),
            w=num(3),
            b=num(3),
            m=num(3, dtype="float32"),
            v=num(3, dtype="float32", low=0.5),
            gradient=False,
            dtypes=("float32",),
        ),
        like_torch(
            "x.batchnorm(None, None, m, v)",
            "(x - m[None, :]) * v[None, :]",
            x=num(5, 3),
            m=num(3),
            v=num(3),
        ),
        bad={
            "Tensor.ones(2, 3).batchnorm(None, None, Tensor.ones(4), Tensor.ones(3))": "ShapeError"
        },
    ),
    row(
        "renorm",
        like_torch("x.renorm(2, 0, 1.5)", "T.renorm(x, 2, 0, 1.5)", x=num(3, 4)),
        like_torch("x.renorm(1, -1, 0.5)", "T.renorm(x, 1, -1, 0.5)", x=num(3, 4)),
        bad={"Tensor.ones(2, 2).renorm(0, 0, 1.0)": "ArgumentError"},
    ),
    row(
        "normalize",
        like_torch("x.normalize()", "F.normalize(x)", x=num(3, 8), dtypes=FLOATS, tolerance=HALF),
        like_torch("x.normalize(1, 0)", "F.normalize(x, 1, 0)", x=num(3, 8)),
        like_torch("x.normalize(p=3.0, dim=-1)", "F.normalize(x, 3.0, -1)", x=num(3, 8)),
        bad={"Tensor.ones(2, 3).normalize(dim=2)": "ShapeError"},
    ),
    row(
        "binary_crossentropy",
        like_torch(
            "x.binary_crossentropy(y)",
            "F.binary_cross_entropy(x, y)",
            x=num(17, low=0, high=1),
            y=num(17, low=0, high=1),
            tolerance=HALF,
        ),
        like_torch(
            "x.binary_crossentropy(y, reduction='sum')",
            "F.binary_cross_entropy(x, y, reduction='sum')",
            x=num(8, low=0, high=1),
            y=num(8, low=0, high=1),
        ),
        like_torch(
            "x.binary_crossentropy(y, reduction='none')",
            "F.binary_cross_entropy(x, y, reduction='none')",
            x=fixed((0.0, 0.0, 1.0, 1.0, 0.5), "float32"),
            y=fixed((0.0, 1.0, 0.0, 1.0, 0.5), "float32"),
            gradient=False,
        ),
        bad={
            "Tensor.ones(2).binary_crossentropy(Tensor.ones(2), reduction='avg')": "ArgumentError"
        },
    ),
    row(
        "binary_crossentropy_logits",
        like_torch(
            "x.binary_crossentropy_logits(y)",
            "F.binary_cross_entropy_with_logits(x, y)",
            x=num(17),
            y=num(17, low=0, high=1),
        ),
        like_torch(
            "x.binary_crossentropy_logits(y, 'none', pos_weight=w)",
            "F.binary_cross_entropy_with_logits(x, y, pos_weight=w, reduction='none')",
            x=num(2, 3),
            y=num(2, 3, low=0, high=1),
            w=num(3, low=1, dtype="float32"),
            gradient=False,
            dtypes=("float32",),
        ),
        bad={
            (
                "Tensor.ones(2).binary_crossentropy_logits(Tensor.ones(2), reduction='avg')"
            ): "ArgumentError",
        },
    ),
    row(
        "cross_entropy",
        like_torch(
            "x.cross_entropy(y)",
            "F.cross_entropy(x, y)",
            x=num(6, 5),
            y=integers(6, high=4),
            dtypes=FLOATS,
            tolerance=HALF,
        ),
        like_torch(
            "x.cross_entropy(y, 'none', label_smoothing=0.2)",
            "F.cross_entropy(x, y, reduction='none', label_smoothing=0.2)",
            x=num(6, 5),
            y=integers(6, high=4),
        ),
        like_torch(
            "x.cross_entropy(y, 'sum')",
            "F.cross_entropy(x, y, reduction='sum')",
            x=num(2, 5, 3),
            y=integers(2, 3, high=4),
        ),
        like_torch(
            "x.cross_entropy(y)", "F.cross_entropy(x, y)", x=num(3, 5), y=num(3, 5, low=0, high=1)
        ),
        bad={
            "Tensor.ones(2, 3).cross_entropy(Tensor.ones(4, 3))": "ShapeError",
            "Tensor.ones(2, 3).cross_entropy(Tensor([0, 1]), label_smoothing=2)": "ArgumentError",
            "Tensor.ones(2, 3).cross_entropy(Tensor([0, 1]), 'avg')": "ArgumentError",
        },
    ),
    row(
        "nll_loss",
        like_torch(
            "x.nll_loss(y)",
            "F.nll_loss(x, y)",
            x=num(6, 5),
            y=integers(6, high=4),
            dtypes=("float32", "float64"),
        ),
        like_torch(
            "x.nll_loss(y, w, ignore_index=1)",
            "F.nll_loss(x, y, w, ignore_index=1)",
            x=num(6, 5),
            y=integers(6, high=4),
            w=num(5, low=0.5, dtype="float32"),
            gradient=False,
            dtypes=("float32",),
        ),
        like_torch(
            "x.nll_loss(y, reduction='sum')",
            "F.nll_loss(x, y, reduction='sum')",
            x=num(2, 5, 3),
            y=integers(2, 3, high=4),
        ),
        bad={
            "Tensor.ones(2, 3).nll_loss(Tensor([0, 1, 2]))": "ShapeError",
            "Tensor.ones(2, 3).nll_loss(Tensor([0, 1]), reduction='avg')": "ArgumentError",
        },
    ),
    row(
        "sparse_categorical_crossentropy",
        like_torch(
            "x.sparse_categorical_crossentropy(y)",
            "F.cross_entropy(x, y, ignore_index=-1)",
            x=num(6, 5),
            y=fixed((0, 4, -1, 2, 2, -1)),
        ),
        like_torch(
            "x.sparse_categorical_crossentropy(y, 2, 0.0, 'none')",
            "F.cross_entropy(x, y, ignore_index=2, reduction='none')",
            x=num(4, 5),
            y=fixed((0, 4, 2, 1)),
        ),
        bad={
            (
                "Tensor.ones(2, 3).sparse_categorical_crossentropy(Tensor([0, 1]), reduction='avg')"
            ): "ArgumentError",
        },
    ),
    row(
        "interpolate",
        like_torch("x.interpolate((9,))", "F.interpolate(x, (9,), mode='linear')", x=num(1, 2, 5)),
        like_torch(
            "x.interpolate((4, 9), align_corners=True)",
            "F.interpolate(x, (4, 9), mode='bilinear', align_corners=True)",
            x=sized(IMAGE),
        ),
        like_torch(
            "x.interpolate((3, 11), mode='nearest')",
            "F.interpolate(x, (3, 11), mode='nearest')",
            x=sized(IMAGE),
        ),
        like_torch(
            "x.interpolate((3, 11), mode='nearest-exact')",
            "F.interpolate(x, (3, 11), mode='nearest-exact')",
            x=sized(IMAGE),
        ),
        bad={"Tensor.ones(1, 1, 4).interpolate((2,), mode='magic')": "ArgumentError"},
    ),
    row(
        "sequential",
        "Tensor([1.0]).sequential([lambda t: t + 1, Tensor.exp2]).item() == 4.0",
        "Tensor([1.0]).sequential([]).item() == 1.0",
    ),
    row(
        "keccak",
        "bytes(Tensor(b'abc').keccak().tolist()).hex()"
        " == __import__('hashlib').sha3_256(b'abc').hexdigest()",
        "bytes(Tensor(b'abc').keccak('shake_128').tolist()).hex()"
        " == __import__('hashlib').shake_128(b'abc').hexdigest(16)",
        bad={"Tensor(b'abc').keccak('md5')": "ArgumentError"},
        deviations="Compared with hashlib.",
    ),
    row(
        "hash",
        "(lambda a, b, c: a == b != c and len(a) == 16)"
        "(*(Tensor(text).hash().tolist() for text in (b'abc', b'abc', b'abd')))",
    ),
)
