"""The operators, by family; importing a module registers what it implements."""

from tg_onnx.ops import (
    attention,
    draw,
    grid,
    image,
    math,
    neural,
    pool,
    quantize,
    recurrent,
    reduce,
    regions,
    sampling,
    select,
    shape,
    signal,
    train,
)

OPERATOR_MODULES = (
    math,
    shape,
    reduce,
    neural,
    quantize,
    recurrent,
    image,
    grid,
    sampling,
    pool,
    regions,
    signal,
    train,
    attention,
    select,
    draw,
)
