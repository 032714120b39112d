"""What optimizers share: the parameters, the learning rate, and when things are realized."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tg_tensor import Tensor
from tg_tensor.defaults import device_or_default
from tg_uop import dtypes
from tg_uop.arguments import methods_name_bad_arguments, shown
from tg_uop.errors import ArgumentTypeError, OperandError

from tg_nn.errors import OptimizerError


class Optimizer:
    """Base of the optimizers; a subclass says by how much each parameter moves.

    Tensors that need no gradient (`requires_grad=False`, such as the running statistics of a
    BatchNorm) may be among `params`: they are realized with each step, and otherwise left alone.
    `lr` is a tensor of one element: assign to it to change the learning rate between steps.
    `device` is that of the parameters, where the state is kept; `fused` changes nothing: the
    scheduler joins the steps of the parameters whether it is said or not.
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        lr: float,
        device: str | tuple[str, ...] | None = None,
        fused: bool = False,
    ) -> None:
        name = type(self).__name__
        self._check_settings(lr=lr)
        distinct = _distinct(name, params)
        for param in distinct:
            if param.requires_grad is None:
                param.requires_grad_(True)
        self.params = [param for param in distinct if param.requires_grad]
        self.buffers = [param for param in distinct if not param.requires_grad]
        if not self.params:
            raise OptimizerError(
                optimizer=name,
                reason="no parameter requires a gradient",
                hint="pass get_parameters(model)",
            )
        self.device = self.params[0].device
        self.fused = fused
        if device is not None and device_or_default(device) != self.device:
            raise OptimizerError(
                optimizer=name,
                reason=f"the parameters are on {self.device}, not on {device}",
                hint="move them with .to_(device) first",
            )
        self.lr = self._scalar(lr)

    def _check_settings(self, **settings: object) -> None:
        """Refuse settings that are no numbers, negative, or shares (`b1`, `b2`) not below 1."""
        name = type(self).__name__
        for setting, value in settings.items():
            if not hasattr(value, "__float__"):
                raise ArgumentTypeError(
                    call=name, argument=setting, given=shown(value), expected="a number"
                )
            amount = float(value)
            if setting == "lr" and amount < 0:
                raise OptimizerError(
                    optimizer=name, reason=f"the learning rate {value} is negative"
                )
            if not amount >= 0:
                reason = f"{setting} is {value}, it must be at least 0"
                raise OptimizerError(optimizer=name, reason=reason)
            if setting in ("b1", "b2") and amount >= 1:
                reason = f"{setting} is {value}, it must be below 1"
                raise OptimizerError(optimizer=name, reason=reason)

    def _scalar(self, value: float) -> Tensor:
        """One number on the parameters' device, that is changed in place."""
        return Tensor([value], device=self.device, dtype=dtypes.float32, requires_grad=False)

    def _state(self) -> list[Tensor]:
        """A zero for each element of each parameter, in 32 bits or more, sharded as that is."""
        return [
            param.detach()
            .zeros_like(dtype=dtypes.float64 if param.dtype == dtypes.float64 else dtypes.float32)
            .contiguous()
            .requires_grad_(False)
            for param in self.params
        ]

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for param in self.params:
            param.grad = None

    def step(self) -> None:
        """Change the parameters by their gradients.

        Raises `OptimizerError` outside of training and when a parameter has no gradient; nothing
        is changed then.
        """
        Tensor.realize(*self.schedule_step())

    def schedule_step(self) -> list[Tensor]:
        """Build the step without running it: the tensors to realize."""
        self._refuse_wrong_time()
        grads = [param.grad for param in self.params]
        present = [grad for grad in grads if grad is not None]
        state = self._update(present)
        return [*state, *self.params, *self.buffers]

    def _refuse_wrong_time(self) -> None:
        name = type(self).__name__
        if not Tensor.training:
            raise OptimizerError(
                optimizer=name,
                reason="step() outside of training",
                hint="use `with Tensor.train():` around the training step",
            )
        lacking = [i for i, param in enumerate(self.params) if param.grad is None]
        if lacking:
            raise OptimizerError(
                optimizer=name,
                reason=f"parameters {lacking} have no gradient",
                hint="call backward() on the loss first, and leave unused parameters out",
            )

    def _update(self, grads: list[Tensor]) -> list[Tensor]:
        """Assign to the parameters, and return the state tensors that were assigned to."""
        raise NotImplementedError


def _distinct(name: str, params: Iterable[object]) -> list[Tensor]:
    """The parameters, each once. Raises `OperandError` for what is no list of Tensors."""
    hint = "get_parameters(model) gives those of a model"
    if isinstance(params, Tensor | str) or not isinstance(params, Iterable):
        raise OperandError(
            call=name,
            argument="params",
            given=shown(params),
            expected="a list of which each is a Tensor",
            hint=hint,
        )
    distinct: dict[int, Tensor] = {}
    for position, param in enumerate(params):
        if not isinstance(param, Tensor):
            raise OperandError(
                call=name,
                argument=f"params[{position}]",
                given=shown(param),
                expected="a Tensor",
                hint=hint,
            )
        distinct[id(param)] = param
    return list(distinct.values())


@methods_name_bad_arguments()
class OptimizerGroup(Optimizer):
    """Several optimizers as one."""

    def __init__(self, *optimizers: Optimizer) -> None:
        if not optimizers:
            raise OptimizerError(optimizer="OptimizerGroup", reason="no optimizer given")
        for position, optimizer in enumerate(optimizers):
            if not isinstance(optimizer, Optimizer):
                raise ArgumentTypeError(
                    call="OptimizerGroup",
                    argument=f"optimizers[{position}]",
                    given=shown(optimizer),
                    expected="an optimizer",
                )
        self.optimizers = optimizers
        self.params = [param for optimizer in optimizers for param in optimizer.params]
        self.buffers = [buffer for optimizer in optimizers for buffer in optimizer.buffers]
        self.device = optimizers[0].device
        self.lr = optimizers[0].lr

    def __getitem__(self, position: int) -> Optimizer:
        return self.optimizers[position]

    def schedule_step(self) -> list[Tensor]:
        """The steps of all optimizers."""
        return [tensor for optimizer in self.optimizers for tensor in optimizer.schedule_step()]
