"""Models that contradict themselves, ask for too much or reach out of their folder are refused."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from tg_onnx import ModelFormatError, OnnxRunner, OperatorError, UnsupportedOperatorError
from tg_uop.errors import TgError

OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]


def info(name: str, shape=(2,), kind: int = TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, constants=(), inputs=None, outputs=None, **more) -> ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [info("x")] if inputs is None else inputs,
        [info("y")] if outputs is None else outputs,
        list(constants),
    )
    return helper.make_model(graph, **{"opset_imports": OPSETS, "ir_version": 8, **more})


def node(operator, inputs, outputs, **attributes):
    return helper.make_node(operator, inputs, outputs, name=f"the {operator}", **attributes)


def refuse(broken: ModelProto, *words: str, kind: type[TgError] = ModelFormatError) -> None:
    with pytest.raises(kind) as caught:
        OnnxRunner(broken)
    for word in words:
        assert word in str(caught.value)


def raw(dims, data: bytes, kind=TensorProto.FLOAT) -> TensorProto:
    return TensorProto(name="w", dims=dims, data_type=kind, raw_data=data)


ADD = node("Add", ["x", "w"], ["y"])
W = numpy_helper.from_array(np.ones(2, np.float32), "w")


@pytest.mark.parametrize("version", [0, 2, 15, 2**40])
def test_format_versions_that_are_not_known(version):
    broken = model([ADD], [W])
    broken.ir_version = version
    refuse(broken, f"IR version {version}", "3 to")


@pytest.mark.parametrize("version", range(3, 14))
def test_format_versions_that_are_known(version):
    runner = OnnxRunner(model([ADD], [W], ir_version=version))
    assert runner({"x": np.ones(2, np.float32)})["y"].tolist() == [2, 2]


@pytest.mark.parametrize("version", [0, -1, 29, 2**40])
def test_opsets_out_of_range(version):
    refuse(model([ADD], [W], opset_imports=[helper.make_opsetid("", version)]), "the Add", "opset")


def test_a_model_without_an_opset_for_its_nodes():
    refuse(model([ADD], [W], opset_imports=[helper.make_opsetid("other", 1)]), "no opset")


def test_opsets_of_domains_that_nothing_uses():
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("unused", 10**6)]
    OnnxRunner(model([ADD], [W], opset_imports=opsets))


def test_cycles():
    nodes = [node("Add", ["x", "b"], ["a"]), node("Neg", ["a"], ["b"]), node("Neg", ["b"], ["y"])]
    refuse(model(nodes), "the Add", "its own results")


def test_nodes_in_any_order_run():
    runner = OnnxRunner(model([node("Neg", ["a"], ["y"]), node("Exp", ["x"], ["a"])]))
    found = runner({"x": np.zeros(2, np.float32)})["y"]
    assert found.tolist() == [-1, -1]


def test_a_value_that_is_never_given():
    refuse(model([node("Add", ["x", "nothing"], ["y"])]), "the Add", "nothing")


def test_an_output_that_is_never_given():
    refuse(model([node("Neg", ["x"], ["z"])]), "'y'")


def test_names_with_two_meanings():
    two = [node("Neg", ["x"], ["y"]), node("Exp", ["x"], ["y"])]
    refuse(model(two), "'y'")
    refuse(model([node("Neg", ["x"], ["x"])], outputs=[info("x")]), "'x'")
    refuse(model([ADD], [W, W]), "'w'")
    refuse(model([ADD], [W], [info("x"), info("x")]), "'x'")
    refuse(model([ADD, node("Neg", ["x"], ["w"])], [W]), "'w'")


def test_nodes_of_one_name_are_no_contradiction():
    nodes = [node("Neg", ["x"], ["a"]), node("Neg", ["a"], ["y"])]
    assert OnnxRunner(model(nodes))({"x": [1.0, 2.0]})["y"].tolist() == [1, 2]


def test_an_initializer_that_is_an_input_too_is_a_default():
    runner = OnnxRunner(model([ADD], [W], [info("x"), info("w")]))
    assert runner({"x": [1.0, 2.0]})["y"].tolist() == [2, 3]


@pytest.mark.parametrize(
    ("dims", "data"),
    [
        ([2], b"\0" * 7),
        ([2], b"\0" * 9),
        ([2**40], b"\0" * 8),
        ([2**62, 2**62], b"\0" * 8),
        ([-1], b"\0" * 8),
        ([0], b"\0" * 4),
        ([2], b""),
    ],
)
def test_bytes_that_do_not_fill_their_shape(dims, data):
    refuse(model([ADD], [raw(dims, data)]), "'w'")


def test_numbers_that_do_not_fill_their_shape():
    typed = TensorProto(name="w", dims=[2**40], data_type=TensorProto.FLOAT, float_data=[1, 2])
    refuse(model([ADD], [typed]), "'w'")


@pytest.mark.parametrize("kind", [0, 99])
def test_element_types_that_are_not_known(kind):
    refuse(model([ADD], [raw([2], b"\0" * 8, kind)]), "'w'")


def test_sparse_initializers_of_absurd_size():
    values = numpy_helper.from_array(np.ones(1, np.float32), "w")
    places = numpy_helper.from_array(np.zeros(1, np.int64), "")
    broken = model([ADD])
    broken.graph.sparse_initializer.append(
        helper.make_sparse_tensor(values, places, [2**40]),
    )
    refuse(broken, "'w'")


def external(location: str, **more: str) -> ModelProto:
    tensor = TensorProto(name="w", dims=[2], data_type=TensorProto.FLOAT)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **more}.items():
        tensor.external_data.add(key=key, value=value)
    return model([ADD], [tensor])


def saved(tmp_path, location: str, **more: str):
    folder = tmp_path / "model"
    (folder / "inner").mkdir(parents=True, exist_ok=True)
    data = np.array([1, 2, 3, 4], np.float32).tobytes()
    (tmp_path / "secret").write_bytes(data)
    (folder / "inner" / "weights").write_bytes(data)
    if not (folder / "link").is_symlink():
        (folder / "link").symlink_to(tmp_path / "secret")
        (folder / "loop").symlink_to(folder / "loop")
    (folder / "m.onnx").write_bytes(external(location, **more).SerializeToString())
    return folder / "m.onnx"


@pytest.mark.parametrize("start", [0, 8])
def test_weights_beside_the_model(tmp_path, start):
    path = saved(tmp_path, "inner/weights", offset=str(start), length="8")
    expected = [1 + start / 4, 2 + start / 4]
    assert OnnxRunner(path)({"x": [0.0, 0.0]})["y"].tolist() == expected


def test_weights_beside_a_model_that_is_a_link(tmp_path):
    """As download caches keep them: the names are links to files in one other folder."""
    store, names = tmp_path / "store", tmp_path / "names"
    store.mkdir()
    names.mkdir()
    (store / "1").write_bytes(external("weights").SerializeToString())
    (store / "2").write_bytes(np.ones(2, np.float32).tobytes())
    (names / "m.onnx").symlink_to(store / "1")
    (names / "weights").symlink_to(store / "2")
    assert OnnxRunner(names / "m.onnx")({"x": [0.0, 0.0]})["y"].tolist() == [1, 1]


@pytest.mark.parametrize(
    "location",
    ["../secret", "inner/../../secret", "/etc/hostname", "link", "loop", "", ".", "none", "a\0b"],
)
def test_places_out_of_the_folder(tmp_path, location):
    with pytest.raises(ModelFormatError, match="external data"):
        OnnxRunner(saved(tmp_path, location))


@pytest.mark.parametrize(
    "more",
    [
        {"offset": "-4"},
        {"offset": "12", "length": "8"},
        {"length": str(2**60)},
        {"offset": str(2**63), "length": "8"},
        {"length": "4"},
        {"length": "many"},
        {"offset": "1" * 5000},
    ],
)
def test_parts_that_are_not_in_the_file(tmp_path, more):
    with pytest.raises(ModelFormatError, match="'w'"):
        OnnxRunner(saved(tmp_path, "inner/weights", **more))


def test_bytes_of_a_model_have_nothing_beside_them():
    refuse(external("weights"), "'w'", "external data")


def function(name: str, body):
    return helper.make_function("own", name, ["a"], ["b"], body, OPSETS)


def call(name: str, inputs, outputs):
    return helper.make_node(name, inputs, outputs, domain="own")


def test_functions_that_grow_without_end():
    """Each calls the one before it twice: 2 ** 40 nodes."""
    functions = [function("f0", [node("Neg", ["a"], ["b"])])]
    for i in range(1, 40):
        before = f"f{i - 1}"
        functions.append(
            function(f"f{i}", [call(before, ["a"], ["c"]), call(before, ["c"], ["b"])])
        )
    refuse(model([call("f39", ["x"], ["y"])], functions=functions), "functions")


def test_functions_that_call_themselves():
    body = [call("f", ["a"], ["b"])]
    refuse(model([call("f", ["x"], ["y"])], functions=[function("f", body)]), "call themselves")


def test_functions_of_one_name():
    both = [function("f", [node("Neg", ["a"], ["b"])])] * 2
    refuse(model([call("f", ["x"], ["y"])], functions=both), "2 functions 'f'")


def test_a_function_that_nothing_calls():
    f = function("f", [node("Frobnicate", ["a"], ["b"])])
    assert OnnxRunner(model([ADD], [W], functions=[f]))({"x": [0.0, 0.0]})["y"].tolist() == [1, 1]


def leaf_graph():
    constant = node("Constant", [], ["r"], value_float=2.0)
    return helper.make_graph([constant], "leaf", [], [info("r", None)])


def nested(depth: int) -> ModelProto:
    """Choices within choices: each level is the first branch of the one around it."""
    graph = leaf_graph()
    for _ in range(depth):
        choice = node("If", ["c"], ["r"], then_branch=graph, else_branch=leaf_graph())
        graph = helper.make_graph([choice], "level", [], [info("r", None)])
    return model(list(graph.node), [], [info("c", [], TensorProto.BOOL)], [info("r", None)])


def test_graphs_within_graphs():
    assert OnnxRunner(nested(25))({"c": True})["r"].item() == 2


def test_more_graphs_within_graphs_than_a_message_may_have():
    """Written byte by byte, since no library builds such a message."""
    data = leaf_graph().SerializeToString()
    for _ in range(1000):
        attribute = helper.make_attribute("then_branch", 0).SerializeToString() + part(6, data)
        data = part(1, node("If", ["c"], ["r"]).SerializeToString() + part(5, attribute))
    with pytest.raises(ModelFormatError, match="no valid ONNX model"):
        OnnxRunner(part(7, data))


def part(number: int, content: bytes) -> bytes:
    """A field of a message, as it is written."""
    size, digits = len(content), []
    while size >= 128:
        digits.append(size & 127 | 128)
        size >>= 7
    return bytes([number << 3 | 2, *digits, size]) + content


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (node("Neg", ["x", "x"], ["y"]), "2 inputs, where there are 1"),
        (node("Neg", ["x"], ["y", "z"]), "2 outputs, where there are 1"),
        (node("Neg", ["x"], ["y"], alpha=1.0), "attribute 'alpha' is not known; there are none"),
        (node("Softmax", ["x"], ["y"], axes=1), "attribute 'axes' is not known; there are axis"),
        (node("Softmax", ["x"], ["y"], axis=1.5), "'axis' is 1.5, where it takes int"),
        (node("Softmax", ["x"], ["y"], axis="last"), "'axis' is 'last'"),
        (node("Concat", ["x", "x"], ["y"]), "attribute 'axis' is missing"),
        (node("Add", ["", "x"], ["y"]), "input 'A' is left out"),
        (node("Frobnicate", ["x"], ["y"]), "opset 17"),
        (node("Gelu", ["x"], ["y"]), "opset 17"),
        (node("If", ["x"], ["y"], then_branch=leaf_graph()), "'else_branch' is missing"),
    ],
)
def test_nodes_that_their_operators_do_not_allow(broken, words):
    if broken.op_type == "Gelu":
        with pytest.raises(UnsupportedOperatorError):
            OnnxRunner(model([broken], opset_imports=[helper.make_opsetid("", 12)]))
        return
    refuse(model([broken]), f"the {broken.op_type}", words, kind=UnsupportedOperatorError)


def test_a_branch_that_gives_too_little():
    empty = helper.make_graph([], "none", [], [])
    branches = {"then_branch": leaf_graph(), "else_branch": empty}
    choice = node("If", ["c"], ["y"], **branches)
    inputs = [info("c", [], TensorProto.BOOL)]
    broken = model([choice], inputs=inputs)
    refuse(broken, "the If", "else_branch gives 0 values", kind=UnsupportedOperatorError)


HUGE = numpy_helper.from_array(np.array([2**40], np.int64), "w")


@pytest.mark.parametrize(
    "greedy",
    [
        node("Expand", ["x", "w"], ["y"]),
        node("Tile", ["x", "w"], ["y"]),
        node("ConstantOfShape", ["w"], ["y"]),
        node("Reshape", ["x", "w"], ["y"]),
        node("RandomNormal", [], ["y"], shape=[2**40]),
        node("Split", ["x"], ["y"], num_outputs=2**40),
    ],
)
def test_sizes_beyond_all_memory(greedy):
    opsets = [helper.make_opsetid("", 18)]
    inputs = [info("x", (1,))]
    broken = model([greedy], [HUGE], inputs, [info("y", None)], opset_imports=opsets)
    with pytest.raises(TgError):
        OnnxRunner(broken)({"x": np.ones(1, np.float32)})["y"].numpy()


def test_negative_sizes():
    shape = numpy_helper.from_array(np.array([-5], np.int64), "w")
    runner = OnnxRunner(model([node("ConstantOfShape", ["w"], ["y"])], [shape]))
    with pytest.raises(OperatorError, match="negative size"):
        runner({"x": [0.0, 0.0]})


@pytest.mark.parametrize("size", [-1, "n", None, 0])
def test_dimensions_that_are_no_sizes(size):
    runner = OnnxRunner(model([node("Neg", ["x"], ["y"])], inputs=[info("x", [size])]))
    count = 0 if size == 0 else 3
    assert runner({"x": np.ones(count, np.float32)})["y"].shape == (count,)


def test_names_that_are_no_text():
    data = model([ADD], [W]).SerializeToString().replace(b"the Add", b"the \xff\xfe\xfd")
    with pytest.raises(ModelFormatError, match="UTF-8"):
        OnnxRunner(data)
