"""Attention."""

from __future__ import annotations

import math
from typing import Self

from tg_uop.dtype.promote import sum_acc_dtype
from tg_uop.errors import ShapeError

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.loss import LossOps


class AttentionOps(LossOps):
    """Scaled dot-product attention (Vaswani et al., 2017)."""

    __slots__ = ()

    def scaled_dot_product_attention(
        self,
        key: Self,
        value: Self,
        attn_mask: Self | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        enable_gqa: bool = False,
    ) -> Self:
        """softmax(self key^T / sqrt(d) + mask) value, over (..., heads, length, d).

        A bool mask says what takes part, another is added; a query without keys gives 0.
        `enable_gqa` repeats the heads of key and value to those of self. Scores are computed in
        float32 at least. Raises `ArgumentError` for a mask together with `is_causal`.
        """
        if enable_gqa:
            least = min(self.ndim, key.ndim, value.ndim)
            if least < 3:
                raise ShapeError(
                    op="scaled_dot_product_attention",
                    shapes=(self.shape, key.shape, value.shape),
                    reason="heads that are repeated are the third axis from the end",
                    hint="enable_gqa=False, or add an axis of heads",
                )
            key = key._repeat_heads(self.shape[-3])
            value = value._repeat_heads(self.shape[-3])
        wide = sum_acc_dtype(self.dtype)
        scale = 1 / math.sqrt(self.shape[-1])
        scores = self.matmul(key.transpose(-2, -1), dtype=wide) * scale
        if is_causal:
            if attn_mask is not None:
                raise ArgumentError(
                    op="scaled_dot_product_attention",
                    argument="attn_mask",
                    given=attn_mask.shape,
                    expected="None with is_causal",
                )
            attn_mask = scores._below_diagonal(0)
            weights = attn_mask.where(scores, -math.inf).softmax(-1)
        elif attn_mask is None:
            weights = scores.softmax(-1)
        elif attn_mask.dtype.is_bool:
            weights = attn_mask.where(scores, -math.inf)._softmax_or_zeros()
        else:
            weights = (scores + attn_mask.cast(wide))._softmax_or_zeros()
        return weights.cast(self.dtype).dropout(dropout_p).matmul(value)

    def _softmax_or_zeros(self) -> Self:
        """The softmax of the last axis; zeros where a mask has left nothing."""
        shifted, _ = self._without_largest(-1)
        powers = shifted.exp()
        total = powers.sum(-1, keepdim=True)
        return powers / total.eq(0).where(1, total)

    def _repeat_heads(self, heads: int) -> Self:
        own = self.shape[-3]
        if heads % own:
            raise ArgumentError(
                op="scaled_dot_product_attention",
                argument="heads of key and value",
                given=own,
                expected=f"a divisor of {heads}",
            )
        return self.repeat_interleave(heads // own, dim=-3)
