"""Losses, distances and norms by the names of PyTorch's functional module."""

from __future__ import annotations

from tensor_table.cases import WIDE, Case, Row, like_torch, row
from tensor_table.inputs import Input, constant, fixed, integers, num, positive, sized

SHAPE = (4, 5)
SIGNS = fixed((1.0, -1.0, -1.0, 1.0), "float32")
LOOSE = {"float32": 1e-4}


def loss(
    name: str, *arguments: str, y: Input | None = None, x: Input | None = None, **o: object
) -> Row:
    """A loss of x and y, with each of some lists of further arguments."""
    cases = [
        like_torch(
            f"x.{name}(y{more})",
            f"F.{name}(x, y{more})",
            x=x or sized(SHAPE),
            y=y or constant(*SHAPE),
            dtypes=WIDE,
            tolerance=LOOSE,
            **o,
        )
        for more in ("", ", reduction='sum'", ", reduction='none'", *arguments)
    ]
    return row(
        name,
        *cases,
        bad={f"Tensor.ones(2, 3).{name}(Tensor.ones(2, 3), reduction='avg')": "ArgumentError"},
    )


def case(ours: str, theirs: str, **options: object) -> Case:
    """One call."""
    options.setdefault("dtypes", WIDE)
    options.setdefault("tolerance", LOOSE)
    return like_torch(ours, theirs, **options)


ROWS: tuple[Row, ...] = (
    loss("mse_loss"),
    loss("l1_loss"),
    loss("smooth_l1_loss", ", beta=0.5"),
    loss("huber_loss", ", delta=2.0"),
    loss("kl_div", ", reduction='batchmean'", ", log_target=True", y=positive(*SHAPE)),
    loss("poisson_nll_loss", ", log_input=False", x=positive(*SHAPE), y=positive(*SHAPE)),
    loss("soft_margin_loss", x=num(4), y=SIGNS),
    loss("hinge_embedding_loss", ", margin=2.0", x=num(4), y=SIGNS),
    loss("binary_cross_entropy", x=num(4, 5, low=0, high=1), y=num(4, 5, low=0, high=1)),
    loss("binary_cross_entropy_with_logits", y=num(4, 5, low=0, high=1)),
    loss("multilabel_soft_margin_loss", y=num(4, 5, low=0, high=1)),
    row(
        "multi_margin_loss",
        case(
            "x.multi_margin_loss(y)",
            "F.multi_margin_loss(x, y)",
            x=num(4, 5),
            y=integers(4, high=4),
        ),
        case(
            "x.multi_margin_loss(y, p=2, margin=0.5)",
            "F.multi_margin_loss(x, y, p=2, margin=0.5)",
            x=num(4, 5),
            y=integers(4, high=4),
        ),
    ),
    row(
        "multilabel_margin_loss",
        case(
            "x.multilabel_margin_loss(y)",
            "F.multilabel_margin_loss(x, y.long())",
            x=num(3, 4),
            y=fixed(((2, 0, -1, 3), (-1, 1, 1, 1), (3, 2, 1, 0))),
        ),
        bad={"Tensor.ones(3, 4).multilabel_margin_loss(Tensor([1]))": "ShapeError"},
    ),
    row(
        "gaussian_nll_loss",
        case(
            "x.gaussian_nll_loss(y, v)",
            "F.gaussian_nll_loss(x, y, v)",
            x=num(4, 5),
            y=constant(4, 5),
            v=positive(4, 5),
        ),
        case(
            "x.gaussian_nll_loss(y, v, full=True, reduction='sum')",
            "F.gaussian_nll_loss(x, y, v, full=True, reduction='sum')",
            x=num(4, 5),
            y=constant(4, 5),
            v=positive(4, 5),
        ),
    ),
    row(
        "margin_ranking_loss",
        case(
            "x.margin_ranking_loss(y, s, 0.5)",
            "F.margin_ranking_loss(x, y, s, 0.5)",
            x=num(4),
            y=num(4),
            s=SIGNS,
        ),
    ),
    row(
        "cosine_embedding_loss",
        case(
            "x.cosine_embedding_loss(y, s, 0.1)",
            "F.cosine_embedding_loss(x, y, s, 0.1)",
            x=num(4, 5),
            y=num(4, 5),
            s=SIGNS,
        ),
    ),
    row(
        "triplet_margin_loss",
        case(
            "x.triplet_margin_loss(y, z)",
            "F.triplet_margin_loss(x, y, z)",
            x=num(4, 5),
            y=num(4, 5),
            z=num(4, 5),
        ),
        case(
            "x.triplet_margin_loss(y, z, 3.0, swap=True)",
            "F.triplet_margin_loss(x, y, z, 3.0, swap=True)",
            x=num(4, 5),
            y=num(4, 5),
            z=num(4, 5),
        ),
    ),
    row(
        "ctc_loss",
        case(
            "x.log_softmax(2).ctc_loss(y.reshape(2, 2), [5, 4], [2, 1])",
            "F.ctc_loss(x.log_softmax(2), y.reshape(2, 2), [5, 4], [2, 1])",
            x=num(5, 2, 3),
            y=fixed((1, 2, 1, 1)),
        ),
    ),
    row(
        "cosine_similarity",
        case("x.cosine_similarity(y)", "F.cosine_similarity(x, y)", x=num(4, 5), y=num(4, 5)),
        case("x.cosine_similarity(y, 0)", "F.cosine_similarity(x, y, 0)", x=num(4, 5), y=num(4, 5)),
    ),
    row(
        "pairwise_distance",
        case("x.pairwise_distance(y)", "F.pairwise_distance(x, y)", x=num(4, 5), y=num(4, 5)),
        case(
            "x.pairwise_distance(y, 1.0, keepdim=True)",
            "F.pairwise_distance(x, y, 1.0, keepdim=True)",
            x=num(4, 5),
            y=num(4, 5, high=4.3),
        ),
    ),
    # norms
    row(
        "layer_norm",
        case(
            "x.layer_norm((5,), w, b)",
            "F.layer_norm(x, (5,), w, b)",
            x=num(4, 5),
            w=num(5),
            b=num(5),
        ),
    ),
    row("rms_norm", case("x.rms_norm((5,), w)", "F.rms_norm(x, (5,), w)", x=num(4, 5), w=num(5))),
    row(
        "group_norm",
        case(
            "x.group_norm(2, w, b)", "F.group_norm(x, 2, w, b)", x=num(2, 4, 3), w=num(4), b=num(4)
        ),
        bad={"Tensor.ones(2, 3).group_norm(2)": "TgError"},
    ),
    row("instance_norm", case("x.instance_norm()", "F.instance_norm(x)", x=num(2, 3, 5))),
    row(
        "batch_norm",
        case(
            "x.batch_norm(m, v, w, b)",
            "F.batch_norm(x, m, v, w, b)",
            x=num(4, 3),
            w=num(3),
            b=num(3),
            m=constant(3),
            v=positive(3),
            gradient=False,
        ),
        case(
            "x.batch_norm(None, None, training=True)",
            "F.batch_norm(x, None, None, training=True)",
            x=num(4, 3),
        ),
    ),
    row(
        "local_response_norm",
        case("x.local_response_norm(3)", "F.local_response_norm(x, 3)", x=num(2, 5, 4)),
        case(
            "x.local_response_norm(2, 0.01, 0.5, 2.0)",
            "F.local_response_norm(x, 2, 0.01, 0.5, 2.0)",
            x=num(2, 5, 4),
        ),
    ),
    *(
        row(
            name,
            f"Tensor.ones(2, 3, 4{', 1' * (n - 1)}).{name}(0.5).sum().item() == 24",
            bad={f"Tensor.ones(2, 3, 4{', 1' * (n - 1)}).{name}(1.5)": "ArgumentError"},
            deviations="Acts while `Tensor.training` is set.",
        )
        for n, name in ((1, "alpha_dropout"), (1, "dropout1d"), (2, "dropout2d"), (3, "dropout3d"))
    ),
)
