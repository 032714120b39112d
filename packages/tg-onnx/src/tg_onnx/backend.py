"""The runner as an `onnx.backend.base.Backend`, which the onnx package's own suite drives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import ModelProto
from onnx.backend.base import Backend, BackendRep
from tg_tensor import Tensor

from tg_onnx.host import as_array
from tg_onnx.runner import OnnxRunner


class TgBackendRep(BackendRep):  # type: ignore[misc]
    """A model that is ready to run."""

    def __init__(self, runner: OnnxRunner) -> None:
        super().__init__()
        self.runner = runner

    def run(self, inputs: Sequence[object], **kwargs: object) -> tuple[object, ...]:
        """The outputs, in the order of the model, of inputs in the order of the model."""
        given = {
            name: value
            for name, value in zip(self.runner.graph_inputs, inputs, strict=False)
            if value is not None or not self.runner.graph_inputs[name].is_tensor
        }
        outputs = self.runner(given)
        return tuple(_host(outputs[name]) for name in self.runner.graph_outputs)


class TgBackend(Backend):  # type: ignore[misc]
    """`prepare` loads a model, `run_model` runs it once."""

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: object) -> TgBackendRep:
        """Raises what `OnnxRunner` raises for models that it cannot run."""
        return TgBackendRep(OnnxRunner(model.SerializeToString()))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """The suite asks for CPU and CUDA."""
        return device == "CPU"


def _host(value: object) -> object:
    if isinstance(value, Tensor):
        return as_array(value)
    if isinstance(value, list):
        return [_host(element) for element in value]
    return value if value is None else np.asarray(value)
