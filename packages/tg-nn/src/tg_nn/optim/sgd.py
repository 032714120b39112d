"""Gradient descent: SGD, layer-wise scaled (LARS), orthogonalized (Muon)."""

from __future__ import annotations

from collections.abc import Sequence

from tg_tensor import Tensor
from tg_uop.arguments import methods_name_bad_arguments, shown
from tg_uop.errors import ArgumentTypeError

from tg_nn.errors import OptimizerError
from tg_nn.optim.optimizer import Optimizer


@methods_name_bad_arguments()
class SGD(Optimizer):
    """Stochastic gradient descent with momentum (Sutskever and others, 2013).

    By default the learning rate scales the whole momentum, as in PyTorch; with `classic` it is
    part of the momentum (it scales each gradient when it comes in).
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        lr: float = 0.001,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        classic: bool = False,
        device: str | tuple[str, ...] | None = None,
        fused: bool = False,
    ) -> None:
        super().__init__(params, lr, device, fused)
        self._check_settings(momentum=momentum, weight_decay=weight_decay)
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.nesterov = nesterov
        self.classic = classic
        self.b = self._state() if momentum else []

    def _update(self, grads: list[Tensor]) -> list[Tensor]:
        for position, (param, grad) in enumerate(zip(self.params, grads, strict=True)):
            self._move(position, param, grad.detach())
        return [self.lr, *self.b]

    def _move(self, position: int, param: Tensor, grad: Tensor) -> None:
        value = param.detach()
        direction = self._direction(value, grad)
        if self.classic:
            direction = direction * self._rate(value, grad)
        if self.momentum:
            velocity = self.momentum * self.b[position] + direction
            self.b[position].assign(velocity)
            direction = direction + self.momentum * velocity if self.nesterov else velocity
        if not self.classic:
            direction = direction * self._rate(value, grad)
        param.assign((value - direction).cast(param.dtype))

    def _direction(self, value: Tensor, grad: Tensor) -> Tensor:
        """The gradient with the pull of weight decay."""
        wide = grad.cast(value.dtype)
        return wide + self.weight_decay * value if self.weight_decay else wide

    def _rate(self, value: Tensor, grad: Tensor) -> Tensor:
        """The learning rate of one parameter."""
        return self.lr


@methods_name_bad_arguments()
class LARS(SGD):
    """Layer-wise adaptive rate scaling (You, Gitman and Ginsburg, 2017)."""

    def __init__(
        self,
        params: Sequence[Tensor],
        lr: float = 0.001,
        momentum: float = 0.9,
        weight_decay: float = 1e-4,
        nesterov: bool = False,
        classic: bool = True,
        tcoef: float = 0.001,
        device: str | tuple[str, ...] | None = None,
        fused: bool = False,
    ) -> None:
        super().__init__(params, lr, momentum, weight_decay, nesterov, classic, device, fused)
        self._check_settings(tcoef=tcoef)
        self.tcoef = tcoef

    def _rate(self, value: Tensor, grad: Tensor) -> Tensor:
        value_norm = value.square().sum().sqrt()
        grad_norm = grad.square().sum().sqrt()
        trust = self.tcoef * value_norm / (grad_norm + self.weight_decay * value_norm)
        both = (value_norm > 0) & (grad_norm > 0)
        return self.lr * both.where(trust, 1.0)


# coefficients of the quintic Newton-Schulz iteration of Jordan and others, "Muon", 2024
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)


@methods_name_bad_arguments()
class Muon(SGD):
    """Momentum whose matrices are orthogonalized by Newton-Schulz (Jordan and others, 2024).

    It iterates in the dtype of the parameters and takes steps of one size for all shapes, while
    `torch.optim.Muon` iterates in bfloat16 (some percent of rounding) and, for matrices with more
    rows than columns, lengthens the step by sqrt(rows / columns). For that here: a larger `lr`.
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        lr: float = 0.02,
        momentum: float = 0.95,
        weight_decay: float = 0.1,
        ns_steps: int = 5,
        ns_coefficients: tuple[float, float, float] = NEWTON_SCHULZ,
        nesterov: bool = True,
        device: str | tuple[str, ...] | None = None,
        fused: bool = False,
    ) -> None:
        super().__init__(params, lr, momentum, 0.0, nesterov, device=device, fused=fused)
        self._check_settings(weight_decay=weight_decay)
        if not hasattr(ns_steps, "__index__"):
            raise ArgumentTypeError(
                call=type(self).__name__,
                argument="ns_steps",
                given=shown(ns_steps),
                expected="a whole number",
            )
        if len(ns_coefficients) != len(NEWTON_SCHULZ) or ns_steps < 0:
            raise OptimizerError(
                optimizer=type(self).__name__,
                reason=f"{ns_steps} steps with the coefficients {ns_coefficients!r}",
                hint="0 or more steps of 3 coefficients",
            )
        self.decay = weight_decay
        self.ns_steps = ns_steps
        self.ns_coefficients = ns_coefficients

    def _move(self, position: int, param: Tensor, grad: Tensor) -> None:
        value = param.detach()
        direction = grad.cast(value.dtype)
        if self.momentum:
            velocity = self.momentum * self.b[position] + direction
            self.b[position].assign(velocity)
            direction = direction + self.momentum * velocity if self.nesterov else velocity
        if direction.ndim > 1:
            rows = direction.reshape(direction.shape[0], -1)
            direction = self._orthogonal(rows).reshape(direction.shape)
        shrunk = value * (1.0 - self.lr * self.decay) if self.decay else value
        param.assign((shrunk - self.lr * direction).cast(param.dtype))

    def _orthogonal(self, matrix: Tensor) -> Tensor:
        """The matrix with its singular values pulled close to 1."""
        a, b, c = self.ns_coefficients
        wide = matrix.shape[0] > matrix.shape[1]
        x = matrix.transpose() if wide else matrix
        x = x / (x.square().sum().sqrt() + 1e-7)
        for _ in range(self.ns_steps):
            gram = x @ x.transpose()
            x = a * x + (b * gram + c * (gram @ gram)) @ x
        return x.transpose() if wide else x
