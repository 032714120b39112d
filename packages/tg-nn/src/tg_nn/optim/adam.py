"""Adaptive moments: Adam, AdamW and LAMB."""

from __future__ import annotations

from collections.abc import Sequence

from tg_tensor import Tensor
from tg_uop.arguments import methods_name_bad_arguments

from tg_nn.optim.optimizer import Optimizer


@methods_name_bad_arguments()
class LAMB(Optimizer):
    """Adam with decoupled weight decay and, unless `adam`, a trust ratio for each layer
    (You and others, 2020).
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        lr: float = 0.001,
        b1: float = 0.9,
        b2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        adam: bool = False,
        device: str | tuple[str, ...] | None = None,
        fused: bool = False,
    ) -> None:
        super().__init__(params, lr, device, fused)
        self._check_settings(b1=b1, b2=b2, eps=eps, weight_decay=weight_decay)
        self.b1 = b1
        self.b2 = b2
        self.eps = eps
        self.weight_decay = weight_decay
        self.adam = adam
        self.b1_t = self._scalar(1.0)
        self.b2_t = self._scalar(1.0)
        self.m = self._state()
        self.v = self._state()

    def _update(self, grads: list[Tensor]) -> list[Tensor]:
        self.b1_t.assign(self.b1_t * self.b1)
        self.b2_t.assign(self.b2_t * self.b2)
        for position, (param, grad) in enumerate(zip(self.params, grads, strict=True)):
            self._move(position, param, grad.detach())
        return [self.lr, self.b1_t, self.b2_t, *self.m, *self.v]

    def _move(self, position: int, param: Tensor, grad: Tensor) -> None:
        value = param.detach()
        first, second = self.m[position], self.v[position]
        wide = grad.cast(first.dtype)
        mean = self.b1 * first + (1.0 - self.b1) * wide
        square = self.b2 * second + (1.0 - self.b2) * (wide * wide)
        first.assign(mean)
        second.assign(square)
        unbiased_mean = mean / (1.0 - self.b1_t)
        unbiased_square = square / (1.0 - self.b2_t)
        direction = unbiased_mean / (unbiased_square.sqrt() + self.eps)
        if self.weight_decay:
            direction = direction + self.weight_decay * value
        rate = self.lr if self.adam else self.lr * self._trust(value, direction)
        param.assign((value - rate * direction).cast(param.dtype))

    def _trust(self, value: Tensor, direction: Tensor) -> Tensor:
        value_norm = value.square().sum().sqrt()
        direction_norm = direction.square().sum().sqrt()
        both = (value_norm > 0) & (direction_norm > 0)
        return both.where(value_norm / direction_norm, 1.0)


@methods_name_bad_arguments()
class AdamW(LAMB):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019)."""

    def __init__(
        self,
        params: Sequence[Tensor],
        lr: float = 0.001,
        b1: float = 0.9,
        b2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        device: str | tuple[str, ...] | None = None,
        fused: bool = False,
    ) -> None:
        super().__init__(params, lr, b1, b2, eps, weight_decay, True, device, fused)


@methods_name_bad_arguments()
class Adam(LAMB):
    """Adaptive moment estimation (Kingma and Ba, 2015)."""

    def __init__(
        self,
        params: Sequence[Tensor],
        lr: float = 0.001,
        b1: float = 0.9,
        b2: float = 0.999,
        eps: float = 1e-8,
        device: str | tuple[str, ...] | None = None,
        fused: bool = False,
    ) -> None:
        super().__init__(params, lr, b1, b2, eps, 0.0, True, device, fused)
