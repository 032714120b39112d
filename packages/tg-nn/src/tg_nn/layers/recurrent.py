"""Cells of recurrent networks."""

from __future__ import annotations

import math

from tg_tensor import Tensor
from tg_uop.arguments import methods_name_bad_arguments

from tg_nn.layers.checks import check_counts, check_input


@methods_name_bad_arguments()
class LSTMCell:
    """One step of a long short-term memory (Hochreiter and Schmidhuber, 1997).

    Gates are stacked in the order input, forget, cell, output, as in PyTorch.
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        check_counts("LSTMCell", input_size=input_size, hidden_size=hidden_size)
        bound = 1 / math.sqrt(hidden_size)
        rows = 4 * hidden_size
        self.weight_ih = Tensor.uniform(rows, input_size, low=-bound, high=bound)
        self.weight_hh = Tensor.uniform(rows, hidden_size, low=-bound, high=bound)
        self.bias_ih = Tensor.zeros(rows).contiguous() if bias else None
        self.bias_hh = Tensor.zeros(rows).contiguous() if bias else None

    def __call__(self, x: Tensor, hc: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """x (batch, input_size) and the state give the next hidden and cell state."""
        rows, inputs = self.weight_ih.shape
        layer = f"LSTMCell({inputs}, {rows // 4})"
        check_input(layer, x, -1, inputs, 2)
        if hc is None:
            zeros = Tensor.zeros(x.shape[0], self.weight_hh.shape[1], dtype=x.dtype)
            hc = (zeros, zeros)
        hidden, cell = hc
        check_input(f"{layer}, hidden state", hidden, -1, rows // 4, 2)
        check_input(f"{layer}, cell state", cell, -1, rows // 4, 2)
        gates = x.linear(self.weight_ih.transpose(), self.bias_ih) + hidden.linear(
            self.weight_hh.transpose(), self.bias_hh
        )
        update, forget, candidate, output = gates.chunk(4, dim=1)
        cell = forget.sigmoid() * cell + update.sigmoid() * candidate.tanh()
        return output.sigmoid() * cell.tanh(), cell
