"""Recurrent layers: RNN, GRU and LSTM, and the LSTM of quantized weights."""

from __future__ import annotations

from collections.abc import Sequence

from tg_tensor import Tensor

from tg_onnx.ops.cells import Cell, cells_of
from tg_onnx.ops.codes import Zero
from tg_onnx.ops.quantized_lstm import run_quantized
from tg_onnx.ops.recurrent_layer import Layer, Weights, has_kernel, run_layer
from tg_onnx.registry import operator


@operator("RNN")
def rnn(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    lengths: Tensor | None = None,
    initial_h: Tensor | None = None,
    *,
    hidden_size: int | None = None,
    direction: str = "forward",
    activations: Sequence[str] | None = None,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    clip: float | None = None,
    layout: int = 0,
    output_sequence: int = 0,
) -> tuple[Tensor, ...]:
    """h = f(x W + h R + b)."""
    cells = cells_of(direction, ("Tanh",), activations, activation_alpha, activation_beta, clip)
    layer = Layer("RNN", cells, direction, bool(layout))
    return run_layer(layer, x, Weights(w, r, b), lengths, (initial_h,))


@operator("GRU")
def gru(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    lengths: Tensor | None = None,
    initial_h: Tensor | None = None,
    *,
    hidden_size: int | None = None,
    direction: str = "forward",
    activations: Sequence[str] | None = None,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    clip: float | None = None,
    layout: int = 0,
    linear_before_reset: int = 0,
    output_sequence: int = 0,
) -> tuple[Tensor, ...]:
    """Gates z and r, candidate h; their weights lie in this order."""
    defaults = ("Sigmoid", "Tanh")
    cells = cells_of(direction, defaults, activations, activation_alpha, activation_beta, clip)
    layer = Layer("GRU", cells, direction, bool(layout), resets_product=bool(linear_before_reset))
    return run_layer(layer, x, Weights(w, r, b), lengths, (initial_h,))


@operator("LSTM")
def lstm(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    lengths: Tensor | None = None,
    initial_h: Tensor | None = None,
    initial_c: Tensor | None = None,
    p: Tensor | None = None,
    *,
    hidden_size: int | None = None,
    direction: str = "forward",
    activations: Sequence[str] | None = None,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    clip: float | None = None,
    layout: int = 0,
    input_forget: int = 0,
    output_sequence: int = 0,
) -> tuple[Tensor, ...]:
    """Gates i, o, f and candidate c; their weights lie in this order."""
    cells = _lstm_cells(direction, activations, activation_alpha, activation_beta, clip)
    layer = Layer("LSTM", cells, direction, bool(layout), couples=bool(input_forget))
    return run_layer(layer, x, Weights(w, r, b, p), lengths, (initial_h, initial_c))


def _lstm_cells(
    direction: str,
    activations: Sequence[str] | None,
    alphas: Sequence[float] | None,
    betas: Sequence[float] | None,
    clip: float | None,
) -> tuple[Cell, ...]:
    return cells_of(direction, ("Sigmoid", "Tanh", "Tanh"), activations, alphas, betas, clip)


@operator("DynamicQuantizeLSTM", domain="com.microsoft", host=(9, 11))
def dynamic_quantize_lstm(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None,
    lengths: Tensor | None,
    initial_h: Tensor | None,
    initial_c: Tensor | None,
    p: Tensor | None,
    w_scale: Tensor,
    w_zero: Zero,
    r_scale: Tensor,
    r_zero: Zero,
    *,
    hidden_size: int | None = None,
    direction: str = "forward",
    activations: Sequence[str] | None = None,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    clip: float | None = None,
    input_forget: int = 0,
) -> tuple[Tensor, ...]:
    """An LSTM with weights of 8 bits, whose inputs are rounded to 8 bits as they come."""
    cells = _lstm_cells(direction, activations, activation_alpha, activation_beta, clip)
    layer = Layer("LSTM", cells, direction, couples=bool(input_forget), is_quantized=True)
    weights = Weights(
        w.transpose(1, 2),
        r.transpose(1, 2),
        b,
        p,
        _of_outputs(w_scale, w),
        _of_outputs(r_scale, r),
        _zeros_of(w_zero, w),
        _zeros_of(r_zero, r),
    )
    run = run_quantized if has_kernel(x, weights) else run_layer
    return run(layer, x, weights, lengths, (initial_h, initial_c))


def _of_outputs(parameter: Tensor, weight: Tensor) -> Tensor:
    """A scale or zero point for each output, where there may be one for all of a direction."""
    directions, _, outputs = weight.shape
    return parameter.float().reshape(directions, -1).expand(directions, outputs)


def _zeros_of(zero: Zero, weight: Tensor) -> Tensor | None:
    """A zero point for each output, None where all are known to be 0."""
    if zero is None:
        return None
    if isinstance(zero, Tensor):
        return _of_outputs(zero, weight)
    if not zero.any():
        return None
    return _of_outputs(Tensor(zero, device=weight.device), weight)
