"""Operators of the domain com.microsoft agree with onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, ValueInfoProto, helper, numpy_helper
from onnx_exact import exact_session
from tg_onnx import OnnxRunner, UnsupportedOperatorError

pytest.importorskip("onnxruntime")

RNG = np.random.default_rng(7)
F, U8, I8 = np.float32, np.uint8, np.int8


def floats(*shape):
    return RNG.standard_normal(shape).astype(F)


def codes(dtype, *shape):
    bounds = np.iinfo(dtype)
    return RNG.integers(bounds.min, bounds.max + 1, shape).astype(dtype)


def scalar(value, dtype=F):
    return np.asarray(value, dtype)


class Fixed:
    """An input that is an initializer; 4-bit codes come as a message."""

    def __init__(self, array, kind=None):
        self.array = array
        self.kind = kind

    def message(self, name):
        if self.kind is None:
            return numpy_helper.from_array(np.asarray(self.array), name)
        return helper.make_tensor(name, self.kind, self.array.shape, self.array.ravel().tolist())


def model_of(operator, inputs, outputs, domain, **attributes):
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    results = [f"y{i}" if wanted else "" for i, wanted in enumerate(outputs)]
    node = helper.make_node(operator, names, results, name="n", domain=domain, **attributes)
    constants = [x.message(n) for n, x in zip(names, inputs, strict=True) if isinstance(x, Fixed)]
    declared = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for n, x in zip(names, inputs, strict=True)
        if isinstance(x, np.ndarray)
    ]
    open_type = [ValueInfoProto(name=r) for r in results if r]
    graph = helper.make_graph([node], "g", declared, open_type, constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def check(
    operator,
    *inputs,
    outputs=(True,),
    domain="com.microsoft",
    tolerance=1e-5,
    codes_apart=0,
    **attributes,
):
    data = model_of(operator, inputs, outputs, domain, **attributes).SerializeToString()
    feeds = {f"x{i}": x for i, x in enumerate(inputs) if isinstance(x, np.ndarray)}
    session = exact_session(data)
    expected = session.run(None, feeds)
    runner = OnnxRunner(data)
    found = [value.numpy() for value in runner(feeds).values()]
    for reference, ours in zip(expected, found, strict=True):
        assert (ours.dtype, ours.shape) == (reference.dtype, reference.shape)
        if ours.dtype.kind in "iu":
            apart = np.abs(ours.astype(np.int64) - reference.astype(np.int64))
            assert apart.max(initial=0) <= codes_apart
        else:
            np.testing.assert_allclose(ours, reference, rtol=tolerance, atol=tolerance)


def test_activations():
    x, b = floats(2, 3, 8), floats(8)
    check("Gelu", x)
    check("FastGelu", x)
    check("FastGelu", x, b)
    check("BiasGelu", x, b)
    check("QuickGelu", x)
    check("QuickGelu", x, alpha=0.5)


@pytest.mark.parametrize("batch_b", [0, 1])
@pytest.mark.parametrize("batch_a", [0, 1])
@pytest.mark.parametrize("turn_b", [0, 1])
@pytest.mark.parametrize("turn_a", [0, 1])
def test_fused_matmul(turn_a, turn_b, batch_a, batch_b):
    a, b = floats(2, 3, 4), floats(2, 4, 5)
    a = np.swapaxes(a, 1, 2) if turn_a else a
    b = np.swapaxes(b, 1, 2) if turn_b else b
    a = np.swapaxes(a, 0, 1) if batch_a else a
    b = np.swapaxes(b, 0, 1) if batch_b else b
    check(
        "FusedMatMul",
        np.ascontiguousarray(a),
        np.ascontiguousarray(b),
        alpha=0.5,
        transA=turn_a,
        transB=turn_b,
        transBatchA=batch_a,
        transBatchB=batch_b,
    )


@pytest.mark.parametrize(
    ("activation", "more"),
    [
        ("Relu", {}),
        ("Tanh", {}),
        ("Sigmoid", {}),
        ("LeakyRelu", {"activation_alpha": 0.2}),
        ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4}),
    ],
)
def test_fused_gemm(activation, more):
    check(
        "FusedGemm",
        floats(4, 3),
        floats(5, 4),
        floats(5),
        transA=1,
        transB=1,
        alpha=0.5,
        beta=2.0,
        activation=activation,
        **more,
    )


@pytest.mark.parametrize(
    ("activation", "parameters"),
    [("Relu", []), ("Tanh", []), ("LeakyRelu", [0.3]), ("Clip", [-0.5, 0.5])],
)
def test_fused_conv(activation, parameters):
    x, w, b, z = floats(1, 4, 6, 6), floats(6, 4, 3, 3), floats(6), floats(1, 6, 6, 6)
    more = {"activation_params": parameters} if parameters else {}
    pads = [1, 1, 1, 1]
    check("FusedConv", x, w, b, pads=pads, activation=activation, tolerance=1e-4, **more)
    check("FusedConv", x, w, b, z, pads=pads, activation=activation, tolerance=1e-4, **more)


@pytest.mark.parametrize("group", [1, 2])
def test_convolution_with_channels_last(group):
    """Not on onnxruntime's processor: a Conv with channels first says what is right."""
    x, w, b = floats(2, 5, 6, 4), floats(6, 3, 2, 4 // group), floats(6)
    model = model_of("NhwcConv", [x, w, b], (True,), "com.microsoft", group=group, strides=[2, 1])
    found = OnnxRunner(model)({"x0": x, "x1": w, "x2": b})["y0"].numpy()
    first = [np.moveaxis(x, -1, 1), np.moveaxis(w, -1, 1), b]
    plain = model_of("Conv", first, (True,), "", group=group, strides=[2, 1])
    session = exact_session(plain.SerializeToString())
    feeds = {f"x{i}": np.ascontiguousarray(value) for i, value in enumerate(first)}
    expected = np.moveaxis(session.run(None, feeds)[0], 1, -1)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_simplified_layer_normalization():
    x = floats(2, 3, 8)
    check("SimplifiedLayerNormalization", x, floats(8), domain="", outputs=(True, True))
    check("SimplifiedLayerNormalization", x, floats(3, 8), domain="", axis=1, epsilon=1e-3)


@pytest.mark.parametrize("skip", [(2, 3, 8), (1, 3, 8), (3, 8)])
def test_skip_layer_normalization(skip):
    x, s, gamma, beta, bias = floats(2, 3, 8), floats(*skip), floats(8), floats(8), floats(8)
    check("SkipLayerNormalization", x, s, gamma, beta, bias, outputs=(1, 0, 0, 1), epsilon=1e-3)
    check("SkipLayerNormalization", x, s, gamma)
    check("SkipSimplifiedLayerNormalization", x, s, gamma, bias, outputs=(1, 0, 0, 1))
    check("SkipSimplifiedLayerNormalization", x, s, gamma, epsilon=1e-2)


@pytest.mark.parametrize("segments", [True, False])
@pytest.mark.parametrize("mask", [True, False])
def test_embed_layer_normalization(segments, mask):
    ids = RNG.integers(0, 10, (2, 5)).astype(np.int32)
    kinds = RNG.integers(0, 2, (2, 5)).astype(np.int32) if segments else None
    table = floats(2, 8) if segments else None
    chosen = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], np.int32) if mask else None
    given = [ids, kinds, floats(10, 8), floats(6, 8), table, floats(8), floats(8)]
    check("EmbedLayerNormalization", *given, chosen, outputs=(1, 1))
    places = RNG.integers(0, 6, (2, 5)).astype(np.int32)
    check("EmbedLayerNormalization", *given, chosen, places, outputs=(1, 1, 1), epsilon=1e-3)


MASKS = {
    "none": None,
    "lengths": np.array([3, 5], np.int32),
    "bounds": np.array([4, 5, 1, 0], np.int32),
    "keys": np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32),
    "matrix": np.tril(np.ones((2, 5, 5), np.int32)),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("unidirectional", [0, 1])
def test_attention(mask, unidirectional):
    x, w, b = floats(2, 5, 8), Fixed(floats(8, 24)), Fixed(floats(24))
    check(
        "Attention",
        x,
        w,
        b,
        MASKS[mask],
        num_heads=2,
        unidirectional=unidirectional,
        tolerance=1e-4,
    )


def test_attention_with_a_past_and_other_options():
    x, w, b = floats(2, 3, 8), Fixed(floats(8, 24)), Fixed(floats(24))
    past = floats(2, 2, 2, 4, 4)
    more = {"num_heads": 2, "unidirectional": 1, "tolerance": 1e-4}
    check("Attention", x, w, b, None, past, outputs=(1, 1), **more)
    scores = floats(2, 2, 3, 3)
    check("Attention", x, w, b, None, None, scores, num_heads=2, scale=0.3, tolerance=1e-4)
    wide = Fixed(floats(8, 8 + 8 + 12)), Fixed(floats(28))
    check("Attention", x, *wide, num_heads=2, qkv_hidden_sizes=[8, 8, 12], tolerance=1e-4)
    keys = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    check("Attention", x, w, b, keys, num_heads=2, mask_filter_value=-3.0, tolerance=1e-4)


@pytest.mark.parametrize("unidirectional", [0, 1])
def test_multi_head_attention(unidirectional):
    q, k, v = floats(2, 3, 8), floats(2, 5, 8), floats(2, 5, 8)
    more = {"num_heads": 2, "tolerance": 1e-4}
    if not unidirectional:
        check("MultiHeadAttention", q, k, v, **more)
        check("MultiHeadAttention", q, k, v, floats(24), scale=0.2, **more)
        keys = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
        check("MultiHeadAttention", q, k, v, None, keys, floats(1, 2, 3, 5), **more)
        check("MultiHeadAttention", q, k, v, None, np.array([3, 5], np.int32), **more)
    same = floats(2, 3, 8), floats(2, 3, 8)
    past = floats(2, 2, 4, 4), floats(2, 2, 4, 4)
    check(
        "MultiHeadAttention",
        q,
        *same,
        floats(24),
        None,
        None,
        *past,
        outputs=(1, 1, 1),
        unidirectional=unidirectional,
        **more,
    )


def test_multi_head_attention_of_packed_inputs():
    more = {"num_heads": 2, "tolerance": 1e-4}
    check("MultiHeadAttention", floats(2, 3, 8), floats(2, 2, 5, 4), floats(2, 2, 5, 4), **more)


def tables(count, half):
    angles = np.arange(count)[:, None] * (0.5 ** np.arange(half))
    return np.cos(angles).astype(F), np.sin(angles).astype(F)


@pytest.mark.parametrize("interleaved", [0, 1])
def test_rotary_embedding(interleaved):
    x = floats(2, 5, 16)
    start, each = np.array([3], np.int64), RNG.integers(0, 12, (2, 5)).astype(np.int64)
    cos, sin = (Fixed(table) for table in tables(12, 4))
    for places in (start, each):
        check("RotaryEmbedding", x, places, cos, sin, interleaved=interleaved)
        by_heads = floats(2, 3, 5, 8)
        check("RotaryEmbedding", by_heads, places, cos, sin, interleaved=interleaved)
    few = [Fixed(table) for table in tables(12, 2)]
    check(
        "RotaryEmbedding",
        x,
        each,
        *few,
        interleaved=interleaved,
        num_heads=2,
        rotary_embedding_dim=4,
    )


GROUPS = {"num_heads": 4, "kv_num_heads": 2, "tolerance": 1e-4, "outputs": (1, 1, 1)}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"do_rotary": 1},
        {"do_rotary": 1, "rotary_interleaved": 1},
        {"scale": 0.3},
        {"local_window_size": 2},
        {"softcap": 2.0},
        {"smooth_softmax": 1},
    ],
)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("is_first", [True, False])
def test_group_query_attention(more, packed, is_first):
    length, before = (4, 0) if is_first else (1, 5)
    size = 16
    q, k, v = floats(2, length, 4 * size), floats(2, length, 2 * size), floats(2, length, 2 * size)
    past = floats(2, 2, before, size), floats(2, 2, before, size)
    total = before + length
    last = Fixed(np.full(2, total - 1, np.int32)), Fixed(np.array(total, np.int32))
    cos = [Fixed(t) for t in tables(16, size // 2)] if "do_rotary" in more else []
    given = [np.concatenate([q, k, v], -1), None, None] if packed else [q, k, v]
    check("GroupQueryAttention", *given, *past, *last, *cos, **GROUPS, **more)


def test_group_query_attention_of_sequences_of_other_lengths():
    size = 16
    q, k, v = floats(2, 1, 4 * size), floats(2, 1, 2 * size), floats(2, 1, 2 * size)
    past = floats(2, 2, 5, size), floats(2, 2, 5, size)
    last = Fixed(np.array([3, 5], np.int32)), Fixed(np.array(6, np.int32))
    alone = {**GROUPS, "outputs": (1, 1, 1)}
    inputs = [q, k, v, *past, *last]
    data = model_of(
        "GroupQueryAttention", inputs, (1, 1, 1), "com.microsoft", num_heads=4, kv_num_heads=2
    ).SerializeToString()
    feeds = {f"x{i}": x for i, x in enumerate(inputs) if isinstance(x, np.ndarray)}
    expected = exact_session(data).run(None, feeds)
    found = [value.numpy() for value in OnnxRunner(data)(feeds).values()]
    np.testing.assert_allclose(found[0], expected[0], rtol=alone["tolerance"], atol=1e-4)
    # what lies in a cache after the last key is anything
    np.testing.assert_allclose(found[1][0, :, :4], expected[1][0, :, :4])
    np.testing.assert_allclose(found[2][1], expected[2][1])


@pytest.mark.parametrize("dtype", [U8, I8])
@pytest.mark.parametrize("operator", ["QLinearAdd", "QLinearMul"])
def test_quantized_arithmetic(operator, dtype):
    a, b = codes(dtype, 2, 3, 4), codes(dtype, 3, 1)
    zero = scalar(5, dtype)
    scales = scalar(0.05), scalar(0.02), scalar(0.1)
    given = [a, scales[0], zero, b, scales[1], zero, scales[2], zero]
    check(operator, *given, codes_apart=1)
    check(operator, *given[:7], codes_apart=1)
    # onnxruntime cannot type inputs left out in the middle, though its schema lets them be
    left_out = [None if x is zero else x for x in given]
    zeros = [scalar(0, dtype) if x is zero else x for x in given]
    found = [
        OnnxRunner(model_of(operator, inputs, (True,), "com.microsoft"))(
            {f"x{i}": x for i, x in enumerate(inputs) if x is not None}
        )["y0"].tolist()
        for inputs in (left_out, zeros)
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", [U8, I8])
def test_quantized_functions(dtype):
    x, zero = codes(dtype, 2, 3, 4), Fixed(scalar(3, dtype))
    scale, out = Fixed(scalar(0.05)), Fixed(scalar(1 / 256))
    low = Fixed(scalar(0 if dtype is U8 else -128, dtype))
    check("QLinearSigmoid", x, scale, zero, out, low, codes_apart=1)
    check("QLinearLeakyRelu", x, scale, zero, scale, zero, alpha=0.3, codes_apart=1)
    for axis in (-1, 1):
        for opset in (12, 13):
            more = {"axis": axis, "opset": opset, "codes_apart": 1}
            check("QLinearSoftmax", x, scale, zero, out, low, **more)
    other = codes(dtype, 2, 1, 4)
    parts = [x, scale, zero, other, Fixed(scalar(0.02)), Fixed(scalar(0, dtype))]
    check("QLinearConcat", Fixed(scalar(0.04)), zero, *parts, axis=1, codes_apart=1)


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("dtype", [U8, I8])
def test_quantized_pools(dtype, last):
    x = codes(dtype, 1, 6, 6, 4) if last else codes(dtype, 1, 4, 6, 6)
    given = [x, scalar(0.05), Fixed(scalar(3, dtype)), scalar(0.04), Fixed(scalar(7, dtype))]
    more = {"channels_last": last, "codes_apart": 1}
    check("QLinearGlobalAveragePool", *given, **more)
    window = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}
    for include in (0, 1):
        check("QLinearAveragePool", *given, **window, count_include_pad=include, **more)
    check("QLinearAveragePool", *given, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, **more)


@pytest.mark.parametrize("dtype", [U8, I8])
@pytest.mark.parametrize("each", [False, True])
def test_qgemm(dtype, each):
    a, b = codes(U8, 4, 3), Fixed(codes(dtype, 5, 4))
    scales = Fixed(RNG.uniform(0.01, 0.1, 5 if each else ()).astype(F))
    zeros = Fixed(codes(dtype, 5) if each else scalar(2, dtype))
    bias = Fixed(RNG.integers(-99, 99, 5).astype(np.int32))
    given = [a, Fixed(scalar(0.05)), Fixed(scalar(100, U8)), b, scales, zeros, bias]
    more = {"transA": 1, "transB": 1, "alpha": 0.5}
    check("QGemm", *given, **more, tolerance=1e-4)
    out = Fixed(scalar(0.5)), Fixed(scalar(128, U8))
    check("QGemm", *given, *out, **more, codes_apart=1)


@pytest.mark.parametrize("dtype", [U8, I8])
@pytest.mark.parametrize("each", [False, True])
def test_products_of_codes_in_floats(dtype, each):
    b = Fixed(codes(dtype, 4, 5))
    scales = Fixed(RNG.uniform(0.01, 0.1, 5 if each else ()).astype(F))
    zeros = Fixed(codes(dtype, 5) if each else scalar(2, dtype))
    bias = Fixed(floats(5))
    a = codes(U8, 2, 3, 4)
    given = [a, b, scalar(0.05), scales, scalar(100, U8), zeros]
    check("MatMulIntegerToFloat", *given, bias, tolerance=1e-4)
    check("MatMulIntegerToFloat", *given[:4], tolerance=1e-4)
    check("DynamicQuantizeMatMul", floats(2, 3, 4), b, scales, zeros, bias, tolerance=1e-4)
    check("DynamicQuantizeMatMul", floats(3, 4), b, scales, tolerance=1e-4)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zeros", [False, True])
def test_product_with_few_bits(bits, zeros):
    inputs, outputs, block = 40, 6, 16
    blocks = -(-inputs // block)
    b = Fixed(codes(U8, outputs, blocks, block * bits // 8))
    scales = Fixed(RNG.uniform(0.01, 0.1, outputs * blocks).astype(F))
    given = Fixed(codes(U8, outputs * -(-blocks * bits // 8))) if zeros else None
    sizes = {"K": inputs, "N": outputs, "bits": bits, "block_size": block}
    check("MatMulNBits", floats(2, 3, inputs), b, scales, given, tolerance=1e-3, **sizes)
    bias = Fixed(floats(outputs))
    check("MatMulNBits", floats(3, inputs), b, scales, given, None, bias, tolerance=1e-3, **sizes)


@pytest.mark.parametrize("kind", [TensorProto.UINT4, TensorProto.INT4])
@pytest.mark.parametrize("zeros", [False, True])
def test_gather_of_four_bits(kind, zeros):
    low = 0 if kind == TensorProto.UINT4 else -8
    data = Fixed(RNG.integers(low, low + 16, (6, 40)), kind)
    scales = Fixed(RNG.uniform(0.01, 0.1, (6, 3)).astype(F))
    given = Fixed(RNG.integers(low, low + 16, (6, 3)), kind) if zeros else None
    indices = np.array([[0, 5], [2, -1]], np.int64)
    check("GatherBlockQuantized", data, indices, scales, given, block_size=16, quantize_axis=1)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("zeros", [False, True])
def test_gather_of_bytes(bits, zeros):
    data = Fixed(codes(U8, 6, 64 * bits // 8))
    scales = Fixed(RNG.uniform(0.01, 0.1, (6, 4)).astype(F))
    given = Fixed(codes(U8, 6, 4 * bits // 8)) if zeros else None
    indices = np.array([[0, 5], [2, 1]], np.int64)
    check("GatherBlockQuantized", data, indices, scales, given, block_size=16, bits=bits)


def test_an_attribute_that_is_not_known_is_refused_at_load():
    model = model_of("QuickGelu", [floats(2)], (True,), "com.microsoft", beta=1.0)
    with pytest.raises(UnsupportedOperatorError, match="'beta' is not known; there are alpha"):
        OnnxRunner(model)


def test_operators_that_the_standard_has_by_now():
    matrices = floats(2, 3, 3) + 3 * np.eye(3, dtype=F)
    points = RNG.uniform(-1, 1, (1, 3, 3, 2)).astype(F)
    check("CDist", floats(5, 3), floats(4, 3), metric="euclidean", tolerance=1e-4)
    check("CDist", floats(5, 3), floats(4, 3), tolerance=1e-4)
    check("Inverse", matrices, tolerance=1e-3)
    check("ExpandDims", floats(2, 3), scalar(-1, np.int32))
    check("Trilu", floats(3, 4), scalar(1, np.int64), upper=0)
    check("GatherND", floats(3, 4), np.array([[0, 1], [2, 3]]))
    check("Range", scalar(1), scalar(5))
    check("GridSample", floats(1, 1, 4, 4), points, tolerance=1e-3)
