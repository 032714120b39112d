"""Every exception of the package, one tree on that of tg-uop."""

from __future__ import annotations

from collections.abc import Sequence

from tg_uop.errors import TgError


class OnnxError(TgError):
    """Base of what this package raises."""


class ModelFormatError(OnnxError, ValueError):
    """Bytes that are no ONNX model, or a model that contradicts itself."""

    def __init__(self, *, source: str, reason: str) -> None:
        self.source = source
        self.reason = reason
        super().__init__(source, reason)

    def explain(self) -> str:
        return f"{self.source} is no valid ONNX model: {self.reason}"


class ModelFileError(OnnxError, OSError):
    """The file of a model, which cannot be read."""

    def __init__(self, *, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(path, reason)
        self.filename = path

    def explain(self) -> str:
        return f"cannot read the model {self.path}: {self.reason}"


class MissingModelError(ModelFileError, FileNotFoundError):
    """The file of a model, which is not there."""


class UnsupportedOperatorError(OnnxError, NotImplementedError):
    """An operator, or a version or form of one, that this package does not have."""

    def __init__(
        self, *, operator: str, domain: str, opset: int, node: str, reason: str = ""
    ) -> None:
        self.operator = operator
        self.domain = domain
        self.opset = opset
        self.node = node
        self.reason = reason
        super().__init__(operator, domain, opset, node, reason)

    def explain(self) -> str:
        domain = self.domain or "ai.onnx"
        text = (
            f"operator {self.operator} (domain {domain}, opset {self.opset}) "
            f"of node {self.node!r} is not supported"
        )
        return f"{text}: {self.reason}" if self.reason else text


class OperatorError(OnnxError, ValueError):
    """A node whose inputs or attributes do not fit its operator."""

    def __init__(self, *, operator: str, node: str, inputs: Sequence[str], reason: str) -> None:
        self.operator = operator
        self.node = node
        self.inputs = tuple(inputs)
        self.reason = reason
        super().__init__(operator, node, self.inputs, reason)

    def explain(self) -> str:
        given = ", ".join(self.inputs) or "no inputs"
        return f"node {self.node!r}: {self.operator} on ({given}): {self.reason}"


class ExportError(OnnxError, ValueError):
    """Something in a function on Tensors that an ONNX model cannot express."""

    def __init__(self, *, operation: str, reason: str) -> None:
        self.operation = operation
        self.reason = reason
        super().__init__(operation, reason)

    def explain(self) -> str:
        return f"{self.operation} cannot be exported: {self.reason}"


class ReferenceRunError(OnnxError, RuntimeError):
    """A model that onnxruntime, with which it is compared, cannot run."""

    def __init__(self, *, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)

    def explain(self) -> str:
        return f"onnxruntime cannot run the model: {self.reason}"


class ModelInputError(OnnxError, ValueError):
    """Inputs of a run that are not those which the model declares."""

    def __init__(self, *, name: str, reason: str, expected: str) -> None:
        self.name = name
        self.reason = reason
        self.expected = expected
        super().__init__(name, reason, expected)

    def explain(self) -> str:
        return f"input {self.name!r}: {self.reason}; the model takes {self.expected}"
