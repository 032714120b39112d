"""Models of one node beside what onnxruntime gives, or the onnx package where it has no kernel."""

from __future__ import annotations

import warnings

import numpy as np
import onnx
from onnx import ValueInfoProto, helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator
from onnx_exact import exact_session
from tg_onnx import OnnxRunner

try:
    import onnxruntime
except ImportError:  # the reference alone
    onnxruntime = None

TOLERANCES = {"float16": 4e-3, "float32": 2e-4, "float64": 1e-4}
INTEGERS = np.int64


def one_node(operator, inputs, opset, outputs=1, constants=(), **attributes) -> onnx.ModelProto:
    """Inputs at the positions in `constants` are initializers, the others have open sizes."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    while names and not names[-1]:
        names.pop()
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(operator, names, results, name="n", **attributes)
    fixed, declared = [], []
    for i, x in enumerate(inputs):
        if x is None:
            continue
        if i in constants:
            fixed.append(numpy_helper.from_array(x, f"x{i}"))
            continue
        sizes = [f"size_{i}_{axis}" for axis in range(x.ndim)]
        kind = helper.np_dtype_to_tensor_dtype(x.dtype)
        declared.append(helper.make_tensor_value_info(f"x{i}", kind, sizes))
    opens = [ValueInfoProto(name=r) for r in results]
    graph = helper.make_graph([node], "g", declared, opens, fixed)
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8 if opset < 23 else 11)


def wanted(model: onnx.ModelProto, feeds, by_reference: bool) -> list[np.ndarray]:
    """What others make of it."""
    if onnxruntime is not None and not by_reference:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        data = shape_inference.infer_shapes(model).SerializeToString()
        try:
            session = exact_session(data, options)
            return session.run(None, feeds)
        except Exception:  # its errors have no common class
            pass
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ReferenceEvaluator(model).run(None, feeds)


def check_node(
    operator, inputs, opset, outputs=1, constants=(), by_reference=False, loose=1.0, **attributes
) -> None:
    """All outputs agree in dtype, shape and value, and nothing ran by the reference."""
    model = one_node(operator, inputs, opset, outputs, constants, **attributes)
    feeds = {f"x{i}": x for i, x in enumerate(inputs) if x is not None and i not in constants}
    runner = OnnxRunner(model.SerializeToString())
    found = [value.numpy() for value in runner(feeds).values()]
    assert not runner.ran_on_host
    for have, want in zip(found, wanted(model, feeds, by_reference), strict=True):
        assert (have.dtype, have.shape) == (want.dtype, want.shape)
        # integers may be cut off on either side of a whole number
        tolerance = TOLERANCES.get(want.dtype.name, 0 if loose == 1.0 else 1) * loose
        np.testing.assert_allclose(
            have.astype(np.float64), want.astype(np.float64), rtol=tolerance, atol=tolerance
        )
