"""Compare a model with onnxruntime, and find the first node whose results differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, ValueInfoProto

from tg_onnx.errors import ReferenceRunError
from tg_onnx.host import as_array
from tg_onnx.proto import Array
from tg_onnx.runner import OnnxRunner


@dataclass(frozen=True, slots=True)
class Difference:
    """How far two values are from each other."""

    name: str
    shape: tuple[int, ...]
    absolute: float
    relative: float
    verdict: str
    node: str = ""

    def explain(self) -> str:
        """The node, its result and by how much."""
        where = f"node {self.node}, result {self.name!r}" if self.node else repr(self.name)
        return f"{where}: {self.verdict}, by {self.absolute:.3g} ({self.relative:.3g} relative)"


def first_difference(
    path: Path, inputs: Mapping[str, Array], device: str | None, rtol: float, atol: float
) -> tuple[dict[str, Difference], Difference | None]:
    """How far each output is off, and the first value that differs, if an output does.

    Values inside of nodes are not compared. Raises `ImportError` without onnxruntime.
    """
    model = onnx.load_model(str(path))
    outputs = [output.name for output in model.graph.output]
    made = {name: node for node in model.graph.node for name in node.output if name}
    model.graph.output.extend(ValueInfoProto(name=name) for name in made if name not in outputs)
    theirs = reference_values(model, inputs)
    found = OnnxRunner(model, device, capture=False)(inputs)
    ours = {name: as_array(v) if not isinstance(v, list) else v for name, v in found.items()}
    apart = {
        name: difference(name, ours[name], theirs[name], rtol, atol)
        for name in [*outputs, *(name for name in made if name not in outputs)]
    }
    worst = {name: apart[name] for name in outputs}
    if all(found.verdict == SAME for found in worst.values()):
        return worst, None
    first = next(
        (apart[name] for name in made if apart[name].verdict != SAME),
        next(found for found in worst.values() if found.verdict != SAME),
    )
    node = made.get(first.name)
    where = "" if node is None else f"{node.name or 'without a name'} ({node.op_type})"
    return worst, replace(first, node=where)


SAME = "the same"


def difference(name: str, ours: object, theirs: object, rtol: float, atol: float) -> Difference:
    """Compare two values; other dtypes and shapes differ without bounds."""
    if not isinstance(ours, np.ndarray) or not isinstance(theirs, np.ndarray):
        verdict = SAME if type(ours) is type(theirs) else "another kind of value"
        return Difference(name, (), 0.0, 0.0, verdict)
    if (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype):
        verdict = f"{ours.dtype} {ours.shape} where it is {theirs.dtype} {theirs.shape}"
        return Difference(name, ours.shape, np.inf, np.inf, verdict)
    if ours.dtype.kind not in "fiub" or ours.size == 0:
        verdict = SAME if np.array_equal(ours, theirs) else "differs"
        return Difference(name, ours.shape, 0.0, 0.0, verdict)
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    is_same = np.allclose(a, b, rtol, atol, equal_nan=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.abs(np.where(a == b, 0.0, a - b))
        relative = np.where(apart == 0, 0.0, apart / np.abs(b))
    verdict = SAME if is_same else "differs"
    return Difference(
        name, ours.shape, float(np.nanmax(apart)), float(np.nanmax(relative)), verdict
    )


def reference_values(model: ModelProto, inputs: Mapping[str, Array]) -> dict[str, object]:
    """What onnxruntime gives for the outputs, each node computed as it is written.

    Raises `ReferenceRunError` where it cannot, and `ImportError` where it is not there.
    """
    import onnxruntime  # noqa: PLC0415

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    names = [output.name for output in model.graph.output]
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return dict(zip(names, session.run(names, dict(inputs)), strict=True))
    except Exception as error:  # its errors have no common class
        raise ReferenceRunError(reason=str(error).strip()) from error
