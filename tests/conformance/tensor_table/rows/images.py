"""Images: sampled at points, shuffled between channels and places, folded from windows."""

from __future__ import annotations

from tensor_table.cases import FLOATS, WIDE, Row, like_torch, row
from tensor_table.inputs import num, sized

HALF = {"float16": 1e-2, "bfloat16": 8e-2}
IMAGE = (1, 2, 5, 4)
GRID = num(1, 3, 3, 2, low=-1.2, high=1.2)

ROWS: tuple[Row, ...] = (
    row(
        "affine_grid",
        like_torch(
            "x.affine_grid((2, 1, 3, 4))",
            "F.affine_grid(x, (2, 1, 3, 4), align_corners=False)",
            x=num(2, 2, 3),
            tolerance=HALF,
        ),
        like_torch(
            "x.affine_grid((2, 1, 3, 4), align_corners=True)",
            "F.affine_grid(x, (2, 1, 3, 4), align_corners=True)",
            x=num(2, 2, 3),
            tolerance=HALF,
        ),
    ),
    row(
        "grid_sample",
        *(
            like_torch(
                f"x.grid_sample(g, mode='{mode}', padding_mode='{pad}')",
                f"F.grid_sample(x, g, '{mode}', '{pad}', align_corners=False)",
                x=sized(IMAGE),
                g=GRID,
                tolerance=1e-4,
                dtypes=WIDE,
            )
            for mode, pad in (
                ("bilinear", "zeros"),
                ("bilinear", "border"),
                ("bicubic", "zeros"),
                ("nearest", "reflection"),
            )
        ),
        bad={
            (
                "Tensor.ones(1, 1, 2, 2).grid_sample(Tensor.ones(1, 2, 2, 2), mode='magic')"
            ): "ArgumentError",
        },
    ),
    row(
        "pixel_shuffle",
        like_torch("x.pixel_shuffle(2)", "F.pixel_shuffle(x, 2)", x=num(1, 8, 2, 3), dtypes=FLOATS),
        bad={"Tensor.ones(1, 3, 2, 2).pixel_shuffle(2)": "TgError"},
    ),
    row(
        "pixel_unshuffle",
        like_torch(
            "x.pixel_unshuffle(2)", "F.pixel_unshuffle(x, 2)", x=num(1, 2, 4, 6), dtypes=FLOATS
        ),
        bad={"Tensor.ones(1, 3, 3, 2).pixel_unshuffle(2)": "TgError"},
    ),
    row(
        "channel_shuffle",
        like_torch(
            "x.channel_shuffle(2)", "F.channel_shuffle(x, 2)", x=num(1, 6, 2, 2), gradient=False
        ),
        bad={"Tensor.ones(1, 3, 2, 2).channel_shuffle(2)": "TgError"},
    ),
    row(
        "im2col", like_torch("x.im2col(2, padding=1)", "F.unfold(x, 2, padding=1)", x=sized(IMAGE))
    ),
    row(
        "fold",
        like_torch("x.fold((4, 5), 2)", "F.fold(x, (4, 5), 2)", x=num(1, 8, 12)),
        bad={"Tensor.ones(1, 8, 3).fold((4, 5), 2)": "TgError"},
    ),
    row(
        "upsample",
        like_torch(
            "x.upsample(scale_factor=2)", "F.interpolate(x, scale_factor=2)", x=sized(IMAGE)
        ),
    ),
)
