"""Turn pairs of values by angles of their positions (RoPE, Su et al. 2021)."""

from __future__ import annotations

from tg_tensor import Tensor


def rotate(x: Tensor, positions: Tensor, cos: Tensor, sin: Tensor, interleaved: int) -> Tensor:
    """x of (batch, heads, length, size) with its first values turned; the rest stays.

    Pairs are neighbours where interleaved, else a value and that half of the turned ones later.
    One position for all is that of the first of the sequence.
    """
    batch, _, length, size = (int(n) for n in x.shape)
    half = int(cos.shape[1])
    if positions.numel() == 1 and (batch, length) != (1, 1):
        steps = Tensor.arange(length, device=x.device)
        positions = positions.reshape(1, 1).cast(steps.dtype) + steps.reshape(1, length)
    positions = positions.reshape(-1, length)
    # (batch or 1, 1, length, half)
    c, s = cos[positions].unsqueeze(1), sin[positions].unsqueeze(1)
    turned, rest = x[..., : 2 * half], x[..., 2 * half :]
    if interleaved:
        a, b = turned[..., 0::2], turned[..., 1::2]
        mixed = Tensor.stack(a * c - b * s, b * c + a * s, dim=-1)
        y = mixed.reshape(*x.shape[:-1], 2 * half)
    else:
        a, b = turned[..., :half], turned[..., half:]
        y = (a * c - b * s).cat(b * c + a * s, dim=-1)
    return y if 2 * half == size else y.cat(rest, dim=-1)
