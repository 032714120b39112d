"""Shapes, axes, slices, pads, copies of elements: what moves and computes nothing."""

from __future__ import annotations

from tensor_table.cases import ALL, FLOATS, LAYOUTS, NUMBERS, Case, Row, like_numpy, like_torch, row
from tensor_table.inputs import num, sized

SHAPE = (2, 3, 4)


def moved(
    ours: str, theirs: str | None = None, shape: tuple[int, ...] = SHAPE, **o: object
) -> Case:
    """A movement of x, on every dtype and layout."""
    o.setdefault("dtypes", ALL)
    o.setdefault("layouts", LAYOUTS)
    return like_torch(ours, theirs, x=sized(shape), **o)


ROWS: tuple[Row, ...] = (
    row("T", moved("x.T", shape=(3, 4)), moved("x.T", "x", shape=(5,))),
    row(
        "transpose",
        moved("x.transpose(0, 2)"),
        moved("x.transpose()", "x.transpose(0, 1)"),
        moved("x.transpose(-1, -2)"),
        bad={"Tensor.ones(2, 3).transpose(0, 2)": "ShapeError"},
    ),
    row(
        "permute",
        moved("x.permute(2, 0, 1)"),
        moved("x.permute((1, -1, 0))"),
        bad={
            "Tensor.ones(2, 3).permute(0, 0)": "ShapeError",
            "Tensor.ones(2, 3).permute(0)": "ShapeError",
        },
    ),
    row(
        "reshape",
        moved("x.reshape(4, 6)"),
        moved("x.reshape((-1, 2))"),
        moved("x.reshape(24)"),
        moved("x.reshape(1, 1)", shape=()),
        like_torch("x.reshape(3, 0)", x=num(0, 5), gradient=False),
        bad={
            "Tensor.ones(2, 3).reshape(4, 2)": "ShapeError",
            "Tensor.ones(2, 3).reshape(-1, -1)": "ShapeError",
            "Tensor.ones(2, 3).reshape(4, -1)": "ShapeError",
        },
        deviations="A dimension given as None keeps that of this Tensor.",
    ),
    row(
        "view",
        moved("x.view(4, 6)"),
        bad={"Tensor.ones(2, 3).view(4, 2)": "ShapeError"},
    ),
    row(
        "flatten",
        moved("x.flatten()"),
        moved("x.flatten(1)"),
        moved("x.flatten(0, 1)"),
        moved("x.flatten()", shape=()),
        bad={"Tensor.ones(2, 3).flatten(2)": "ShapeError"},
    ),
    row(
        "unflatten",
        moved("x.unflatten(2, (2, 2))"),
        moved("x.unflatten(-1, (-1, 2))"),
        bad={"Tensor.ones(2, 3).unflatten(1, (2, 2))": "ShapeError"},
    ),
    row(
        "squeeze",
        moved("x.squeeze()", shape=(1, 3, 1)),
        moved("x.squeeze(0)", shape=(1, 3, 1)),
        moved("x.squeeze(1)", shape=(1, 3, 1)),
        moved("x.squeeze((0, 2))", shape=(1, 3, 1)),
        bad={"Tensor.ones(1, 3).squeeze(2)": "ShapeError"},
    ),
    row(
        "unsqueeze",
        moved("x.unsqueeze(0)"),
        moved("x.unsqueeze(-1)"),
        moved("x.unsqueeze(0)", shape=()),
        bad={"Tensor.ones(3).unsqueeze(3)": "ShapeError"},
    ),
    row(
        "flip",
        moved("x.flip(0)"),
        moved("x.flip((0, -1))"),
        moved("x.flip(1, 2)"),
        bad={
            "Tensor.ones(2, 3).flip(2)": "ShapeError",
            "Tensor.ones(2, 3).flip((0, 0))": "ShapeError",
        },
    ),
    row(
        "expand",
        moved("x.expand(3, 4)", shape=(1, 4)),
        moved("x.expand(2, -1, 4)", shape=(3, 1)),
        moved("x.expand((5,))", shape=()),
        moved("x.expand(0, 4)", shape=(1, 4)),
        bad={
            "Tensor.ones(2, 3).expand(4, 3)": "ShapeError",
            "Tensor.ones(2, 3).expand(3)": "ShapeError",
        },
    ),
    row(
        "shrink",
        moved("x.shrink(((0, 1), (1, 3), None))", "x[0:1, 1:3]"),
        bad={
            "Tensor.ones(2, 3).shrink(((0, 3), (0, 3)))": "ShapeError",
            "Tensor.ones(2, 3).shrink(((0, 1),))": "ShapeError",
        },
    ),
    row(
        "shrink_to",
        moved("x.shrink_to(1, 2, 3)", "x[:1, :2, :3]"),
        moved("x.shrink_to(1, None, 3)", "x[:1, :, :3]"),
        bad={"Tensor.ones(2, 3).shrink_to(3, 3)": "ShapeError"},
    ),
    row(
        "pad_to",
        moved("x.pad_to(3, 4, 5)", "F.pad(x, (0, 1, 0, 1, 0, 1))"),
        bad={"Tensor.ones(2, 3).pad_to(1, 3)": "ShapeError"},
    ),
    row(
        "pad",
        moved("x.pad((1, 2))", "F.pad(x, (1, 2))"),
        moved("x.pad((1, 2, 0, 1))", "F.pad(x, (1, 2, 0, 1))"),
        moved("x.pad(((0, 0), (2, 1), (1, 0)))", "F.pad(x, (1, 0, 2, 1))"),
        moved("x.pad((1, 1), value=3)", "F.pad(x, (1, 1), value=3)", dtypes=NUMBERS),
        moved("x.pad((-1, 2))", "F.pad(x, (-1, 2))"),
        moved("x.pad((-1, -1, 1, 0))", "F.pad(x, (-1, -1, 1, 0))"),
        moved("x.pad((2, 1), mode='reflect')", "F.pad(x, (2, 1), mode='reflect')", dtypes=FLOATS),
        moved(
            "x.pad((2, 1), mode='replicate')", "F.pad(x, (2, 1), mode='replicate')", dtypes=FLOATS
        ),
        moved("x.pad((2, 1), mode='circular')", "F.pad(x, (2, 1), mode='circular')", dtypes=FLOATS),
        moved(
            "x.pad((2, 1), value=-math.inf)",
            "F.pad(x, (2, 1), value=-math.inf)",
            dtypes=FLOATS,
            gradient=False,
        ),
        bad={
            "Tensor.ones(2, 3).pad((1, 1, 1, 1, 1, 1))": "TgError",
            "Tensor.ones(2, 3).pad((5, 5), mode='reflect')": "TgError",
            "Tensor.ones(2, 3).pad((1, 1), mode='mirror')": "TgError",
        },
    ),
    row(
        "cat",
        like_torch("x.cat(y)", "T.cat((x, y))", x=num(2, 3), y=num(4, 3), dtypes=ALL),
        like_torch("x.cat(y, x, dim=-1)", "T.cat((x, y, x), -1)", x=num(2, 3), y=num(2, 4)),
        like_torch("x.cat(y, dim=1)", "T.cat((x, y), 1)", x=num(2, 0), y=num(2, 4)),
        like_torch("Tensor.cat(x, y)", "T.cat((x, y))", x=num(3), y=num(3)),
        like_torch("x.cat(y)", "T.cat((x, y))", x=num(3), y=num(3, dtype="int32"), gradient=False),
        bad={
            "Tensor.ones(2, 3).cat(Tensor.ones(2, 4))": "ShapeError",
            "Tensor.ones(2, 3).cat(Tensor.ones(2, 3), dim=2)": "ShapeError",
            "Tensor(1.0).cat(Tensor(2.0))": "ShapeError",
        },
    ),
    row(
        "stack",
        like_torch("x.stack(y)", "T.stack((x, y))", x=num(2, 3), y=num(2, 3), dtypes=ALL),
        like_torch("x.stack(y, x, dim=-1)", "T.stack((x, y, x), -1)", x=num(2, 3), y=num(2, 3)),
        like_torch("x.stack(y, dim=1)", "T.stack((x, y), 1)", x=num(2, 3), y=num(2, 3)),
        like_torch("x.stack(y)", "T.stack((x, y))", x=sized(()), y=sized(())),
        bad={
            "Tensor.ones(2, 3).stack(Tensor.ones(2, 4))": "ShapeError",
            "Tensor.ones(2).stack(Tensor.ones(2), dim=3)": "ShapeError",
        },
    ),
    row(
        "split",
        moved("x.split(2, -1)"),
        moved("x.split(3, -1)"),
        moved("x.split([1, 3], 2)"),
        bad={
            "Tensor.ones(4).split([1, 2])": "TgError",
            "Tensor.ones(4).split(2, 1)": "ShapeError",
        },
    ),
    row(
        "chunk",
        moved("x.chunk(3, 2)"),
        moved("x.chunk(2)"),
        moved("x.chunk(5, 1)"),
        bad={"Tensor.ones(4).chunk(0)": "TgError", "Tensor.ones(4).chunk(2, 1)": "ShapeError"},
    ),
    row(
        "repeat",
        moved("x.repeat(2, 1, 3)"),
        moved("x.repeat((2, 1, 1, 2))"),
        moved("x.repeat(2, 0, 1)"),
        bad={"Tensor.ones(2, 3).repeat(2)": "TgError", "Tensor.ones(2).repeat(-1)": "TgError"},
    ),
    row(
        "repeat_interleave",
        moved("x.repeat_interleave(2)"),
        moved("x.repeat_interleave(3, 1)"),
        moved("x.repeat_interleave(2, dim=-1)"),
        bad={"Tensor.ones(2).repeat_interleave(2, 1)": "ShapeError"},
    ),
    row(
        "roll",
        moved("x.roll(1)"),
        moved("x.roll(-2, 1)"),
        moved("x.roll((1, 5), (0, -1))"),
        bad={
            "Tensor.ones(2, 3).roll((1, 2), (0,))": "TgError",
            "Tensor.ones(2, 3).roll(1, 2)": "ShapeError",
        },
    ),
    row(
        "unfold",
        moved("x.unfold(2, 2, 1)"),
        moved("x.unfold(0, 2, 2)"),
        moved("x.unfold(-1, 4, 3)"),
        bad={
            "Tensor.ones(3).unfold(0, 4, 1)": "TgError",
            "Tensor.ones(3).unfold(1, 2, 1)": "ShapeError",
        },
    ),
    row(
        "as_strided",
        moved("x.as_strided((2, 3), (12, 2))"),
        moved("x.as_strided((4, 3, 2), (1, 5, 0), 2)"),
        moved("x.as_strided((), (), 5)"),
        bad={
            "Tensor.ones(3).as_strided((2, 2), (1, 2))": "PositionError",
            "Tensor.ones(3).as_strided((2,), (1, 2))": "TgError",
            "Tensor.ones(3).as_strided((2,), (-1,), 2)": "TgError",
        },
        deviations="A value, not a view that can be written.",
    ),
    row(
        "rearrange",
        moved("x.rearrange('a b c -> c (a b)')", "x.permute(2, 0, 1).reshape(4, 6)"),
        moved(
            "x.rearrange('a b (c d) -> d a b c', d=2)", "x.reshape(2, 3, 2, 2).permute(3, 0, 1, 2)"
        ),
        moved("x.rearrange('a ... -> ... a')", "x.permute(1, 2, 0)"),
        moved("x.rearrange('a b c -> a 1 b c')", "x.unsqueeze(1)"),
        bad={
            "Tensor.ones(2, 3).rearrange('a -> a')": "TgError",
            "Tensor.ones(2, 3).rearrange('a b -> a')": "TgError",
            "Tensor.ones(2, 3).rearrange('a b a b')": "TgError",
        },
        deviations="The notation of einops.",
    ),
    row(
        "diagonal",
        moved("x.diagonal()"),
        moved("x.diagonal(1, 1, 2)"),
        moved("x.diagonal(offset=-1, dim1=-1, dim2=0)"),
        bad={"Tensor.ones(3).diagonal()": "ShapeError"},
    ),
    row(
        "diag",
        moved("x.diag()", shape=(4,)),
    ),
    row(
        "tril",
        moved("x.tril()"),
        moved("x.tril(1)"),
        moved("x.tril(diagonal=-2)"),
        bad={"Tensor.ones(3).tril()": "TgError"},
    ),
    row(
        "triu",
        moved("x.triu()"),
        moved("x.triu(1)"),
        moved("x.triu(diagonal=-2)"),
        bad={"Tensor.ones(3).triu()": "TgError"},
    ),
    row(
        "meshgrid",
        like_torch("x.meshgrid(y)", "T.meshgrid(x, y, indexing='ij')", x=num(3), y=num(4)),
        like_torch(
            "x.meshgrid(y, indexing='xy')", "T.meshgrid(x, y, indexing='xy')", x=num(3), y=num(4)
        ),
        like_numpy("x.meshgrid(y, y)", "np.meshgrid(x, y, y, indexing='ij')", x=num(2), y=num(3)),
        bad={"Tensor.ones(3).meshgrid(Tensor.ones(2), indexing='ab')": "ArgumentError"},
    ),
    row(
        "numel",
        "Tensor.ones(2, 3).numel() == 6",
        "Tensor(1.0).numel() == 1",
        "Tensor.ones(0, 3).numel() == 0",
    ),
    row("ndim", "Tensor.ones(2, 3).ndim == 2", "Tensor(1.0).ndim == 0"),
    row("shape", "Tensor.ones(2, 3).shape == (2, 3)", "Tensor(1.0).shape == ()"),
    row(
        "size",
        "Tensor.ones(2, 3).size() == (2, 3)",
        "Tensor.ones(2, 3).size(-1) == 3",
        bad={"Tensor.ones(2, 3).size(2)": "ShapeError"},
    ),
)
