"""The operators, by family; importing a module registers what it implements."""

from tg_onnx.ops import (
    attention,
    image,
    math,
    neural,
    pool,
    quantize,
    recurrent,
    reduce,
    regions,
    sampling,
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
    sampling,
    pool,
    regions,
    signal,
    train,
    attention,
)
