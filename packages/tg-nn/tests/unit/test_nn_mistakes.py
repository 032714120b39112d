"""Mistakes with layers, optimizers and weight files: named errors, at the user's line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tg_nn import (
    BatchNorm,
    BatchNorm2d,
    Conv1d,
    Conv2d,
    ConvTranspose2d,
    Embedding,
    GroupNorm,
    InstanceNorm,
    LayerNorm,
    LayerNorm2d,
    Linear,
    LSTMCell,
    RMSNorm,
)
from tg_nn.errors import (
    FileFormatError,
    LayerError,
    MissingFileError,
    OptimizerError,
    StateDictError,
    UnreadableFileError,
)
from tg_nn.optim import LARS, SGD, Adam, AdamW, Muon, OptimizerGroup
from tg_nn.state import (
    TensorIO,
    get_state_dict,
    gguf_load,
    load_state_dict,
    safe_load,
    safe_load_metadata,
    safe_save,
    tar_extract,
    torch_load,
    zip_extract,
)
from tg_tensor import Tensor
from tg_uop.errors import ArgumentTypeError, DTypeError, OperandError, SignatureError, TgError

X = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
IMAGE = Tensor.ones(1, 3, 8, 8)
W = Tensor([1.0, 2.0, 3.0], requires_grad=True)

Mistake = tuple[str, Callable[[], object], type[TgError], str]

NUMBERS: list[Mistake] = [
    ("no features", lambda: Linear(0, 2), LayerError, "in_features is 0.*at least 1"),
    ("kernel of 0", lambda: Conv2d(3, 4, 0), LayerError, "kernel_size is 0.*at least 1"),
    ("one kernel size of 0", lambda: Conv2d(3, 4, (3, 0)), LayerError, "kernel_size is 0"),
    ("stride of 0", lambda: Conv2d(3, 4, 3, stride=0), LayerError, "stride is 0"),
    ("stride below 0", lambda: Conv1d(3, 4, 3, stride=-1), LayerError, "stride is -1"),
    ("dilation of 0", lambda: Conv2d(3, 4, 3, dilation=0), LayerError, "dilation is 0"),
    ("groups of 0", lambda: Conv2d(3, 4, 3, groups=0), LayerError, "groups is 0"),
    ("groups that do not divide", lambda: Conv2d(3, 4, 3, groups=2), LayerError, "do not divide"),
    ("kernel of a text", lambda: Conv2d(3, 4, "3"), LayerError, "'3' is no size"),
    ("kernel of half", lambda: Conv2d(3, 4, 2.5), LayerError, "2.5 is no size"),
    ("transposed of 0", lambda: ConvTranspose2d(3, 4, 0), LayerError, "kernel_size is 0"),
    (
        "output padding",
        lambda: ConvTranspose2d(3, 4, 3, output_padding=-1),
        LayerError,
        "output_padding is -1",
    ),
    ("no channels", lambda: BatchNorm(0), LayerError, "sz is 0"),
    ("eps below 0", lambda: BatchNorm(3, eps=-1), LayerError, "eps is -1.*at least 0"),
    ("momentum", lambda: BatchNorm(3, momentum=2), LayerError, "momentum is 2.*from 0 to 1"),
    ("groups of norm", lambda: GroupNorm(4, 6), LayerError, "4 groups do not divide 6"),
    ("features of norm", lambda: InstanceNorm(-3), LayerError, "num_features is -3"),
    ("shape of norm", lambda: LayerNorm((3, -1)), LayerError, "normalized_shape is -1"),
    ("no axes", lambda: LayerNorm(()), LayerError, "no axes to normalize"),
    ("no rows", lambda: Embedding(0, 4), LayerError, "vocab_size is 0"),
    ("no state", lambda: LSTMCell(3, 0), LayerError, "hidden_size is 0"),
    ("rate below 0", lambda: SGD([W], lr=-1), OptimizerError, "learning rate -1 is negative"),
    ("rate of nan", lambda: SGD([W], lr=float("nan")), OptimizerError, "lr is nan"),
    ("momentum below 0", lambda: SGD([W], momentum=-1), OptimizerError, "momentum is -1"),
    ("decay below 0", lambda: SGD([W], weight_decay=-1), OptimizerError, "weight_decay is -1"),
    ("b1 of 1", lambda: Adam([W], b1=1.0), OptimizerError, "b1 is 1.0.*below 1"),
    ("b2 above 1", lambda: Adam([W], b2=2), OptimizerError, "b2 is 2.*below 1"),
    ("eps of Adam", lambda: AdamW([W], eps=-1), OptimizerError, "eps is -1"),
    ("steps of Muon", lambda: Muon([W], ns_steps=-1), OptimizerError, "-1 steps"),
    ("another device", lambda: SGD([W], device="CPU:1"), OptimizerError, "are on CPU, not on"),
    ("no parameters", lambda: SGD([]), OptimizerError, "no parameter"),
    ("no optimizers", lambda: OptimizerGroup(), OptimizerError, "no optimizer"),
]

KINDS: list[Mistake] = [
    ("a text", lambda: Linear("a", 3), ArgumentTypeError, "Linear: in_features is 'a'"),
    ("a float", lambda: Linear(3.0, 3), ArgumentTypeError, "expected a whole number"),
    ("a bool", lambda: Linear(True, 3), ArgumentTypeError, "in_features is True"),
    ("a number", lambda: Linear(3, 3)(3), OperandError, r"Linear: x is 3 .*a Tensor; Tensor\("),
    ("a list", lambda: Linear(3, 3)([1, 2, 3]), OperandError, r"x is \[1, 2, 3\]"),
    ("an array", lambda: Linear(3, 3)(np.ones(3)), OperandError, "ndarray of shape"),
    ("None", lambda: Linear(3, 3)(None), OperandError, "x is None, expected a Tensor"),
    ("a misspelled name", lambda: Linear(3, 3, bais=False), SignatureError, "mean 'bias'"),
    ("no argument", lambda: Linear(3), SignatureError, "missing .*'out_features'"),
    ("two arguments", lambda: Linear(3, 3)(X, X), SignatureError, "too many"),
    ("an index of a list", lambda: Embedding(3, 4)([1]), OperandError, "index is"),
    ("an index of floats", lambda: Embedding(3, 4)(X), LayerError, "cast it to an integer"),
    ("channels", lambda: Conv2d(3.5, 4, 3), ArgumentTypeError, "in_channels is 3.5"),
    ("an eps", lambda: LayerNorm(3, eps="x"), ArgumentTypeError, "eps is 'x'.*a number"),
    ("a norm", lambda: RMSNorm(3)(3), OperandError, "RMSNorm: x is 3"),
    (
        "a state of one",
        lambda: LSTMCell(3, 4)(X, (X,)),
        OperandError,
        "hc is .* 2 values: a Tensor, a Tensor",
    ),
    ("params of one Tensor", lambda: SGD(W), OperandError, "params is a Tensor of shape"),
    ("params of numbers", lambda: SGD([3]), OperandError, r"SGD: params\[0\] is 3"),
    ("params of None", lambda: Adam([W, None]), OperandError, r"params\[1\] is None"),
    ("params of a dict", lambda: SGD({"a": W}), OperandError, r"params is \{"),
    ("params of a model", lambda: SGD(Linear(2, 3)), OperandError, "params is <"),
    ("a rate", lambda: SGD([W], lr="a"), ArgumentTypeError, "SGD: lr is 'a'.*a number"),
    ("a rate of None", lambda: SGD([W], lr=None), ArgumentTypeError, "lr is None"),
    ("a trust", lambda: LARS([W], tcoef="a"), ArgumentTypeError, "tcoef is 'a'"),
    ("steps", lambda: Muon([W], ns_steps=2.5), ArgumentTypeError, "ns_steps is 2.5"),
    ("betas", lambda: Adam([W], betas=(0.9, 0.99)), SignatureError, "'betas'.* b1, b2"),
    ("optimizers", lambda: OptimizerGroup(3), ArgumentTypeError, r"optimizers\[0\] is 3"),
]

INPUTS: list[Mistake] = [
    ("features", lambda: Linear(3, 2)(Tensor.ones(4)), TgError, r"shapes \(4,\), \(3, 2\)"),
    ("image", lambda: Conv1d(3, 4, 3)(IMAGE), TgError, "4 axes and weights of 3"),
    ("channels", lambda: Conv2d(4, 4, 3)(IMAGE), TgError, "3 channels"),
    ("no space", lambda: BatchNorm2d(3)(X), LayerError, r"\(2, 3\).*at least 3 axes"),
    ("other channels", lambda: BatchNorm(4)(IMAGE), LayerError, "axis 1 must have 4"),
    ("groups", lambda: GroupNorm(3, 6)(IMAGE), LayerError, "axis 1 must have 6"),
    ("instances", lambda: InstanceNorm(4)(IMAGE), LayerError, "axis 1 must have 4"),
    ("last axes", lambda: LayerNorm(5)(X), LayerError, "last axes"),
    ("no image", lambda: LayerNorm2d(3)(X), LayerError, "at least 4 axes"),
    ("last axis", lambda: RMSNorm(4)(X), LayerError, "axis -1 must have 4"),
    ("one vector", lambda: LSTMCell(3, 4)(Tensor.ones(3)), LayerError, "at least 2 axes"),
    ("state", lambda: LSTMCell(3, 4)(X, (X, X)), LayerError, "hidden state.* must have 4"),
]


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [case[1:] for case in NUMBERS + KINDS + INPUTS],
    ids=[case[0] for case in NUMBERS + KINDS + INPUTS],
)
def test_layers_and_optimizers(call: Callable[[], object], kind: type[TgError], text: str) -> None:
    with pytest.raises(kind, match=text) as caught:
        call()
    assert_located(caught.value)


def test_batches_without_space_are_for_the_norm_without_a_number_of_axes() -> None:
    assert BatchNorm(3)(X).shape == (2, 3)
    assert isinstance(BatchNorm2d(3), BatchNorm)
    assert BatchNorm2d(3)(IMAGE).shape == IMAGE.shape


LOADERS = [safe_load, safe_load_metadata, torch_load, gguf_load, tar_extract, zip_extract]


@pytest.mark.parametrize("load", LOADERS)
def test_files_that_cannot_be_read(load: Callable[[object], object], tmp_path: Path) -> None:
    for missing in (tmp_path / "none", tmp_path / "no" / "folder"):
        with pytest.raises(MissingFileError, match=r"no such file|no folder") as caught:
            load(str(missing))
        assert isinstance(caught.value, FileNotFoundError)
        assert caught.value.filename == str(missing)
        assert_located(caught.value)
    with pytest.raises(UnreadableFileError) as folder:
        load(tmp_path)
    assert isinstance(folder.value, OSError)
    for other in (3, None, [1]):
        with pytest.raises(OperandError, match=r"source is .*expected a text, a Path, bytes"):
            load(other)
    (tmp_path / "bad").write_bytes(b"garbage" * 9)
    with pytest.raises(FileFormatError, match="bad is no valid"):
        load(tmp_path / "bad")


def test_safetensors_cut_off_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "whole.safetensors"
    safe_save({"weight": X}, path)
    whole = path.read_bytes()
    for length in (0, 4, 8, 40, len(whole) - 4):
        with pytest.raises(FileFormatError, match="no valid safetensors"):
            safe_load(whole[:length])


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    path = tmp_path / "made.safetensors"
    for wrong, text in (
        ({"a": 3}, r"tensors\['a'\] is 3"),
        ({3: X}, r"tensors\[3\]"),
        ([X], "tensors is .*a dict"),
        (X, "tensors is a Tensor"),
    ):
        with pytest.raises(ArgumentTypeError, match=text):
            safe_save(wrong, path)  # type: ignore[arg-type]
    with pytest.raises(DTypeError, match=r"tensor 'a'.*no dtype"):
        safe_save({"a": X.cast("fp8e4m3fnuz")}, path)
    with pytest.raises(UnreadableFileError, match="it is a folder"):
        safe_save({"a": X}, tmp_path)
    with pytest.raises(ArgumentTypeError, match=r"metadata\['a'\] is 3"):
        safe_save({"a": X}, path, metadata={"a": 3})  # type: ignore[dict-item]
    assert list(tmp_path.iterdir()) == []


def test_state_that_does_not_fit() -> None:
    model = Linear(3, 2)
    for wrong, text in (({"weight": 3}, r"state_dict\['weight'\] is 3"), ([X], "state_dict is")):
        with pytest.raises(ArgumentTypeError, match=text):
            load_state_dict(model, wrong)  # type: ignore[arg-type]
    before = model.weight.tolist()
    for state, text in (
        ({"weight": X}, "missing: bias"),
        ({**get_state_dict(model), "zz": X}, "unexpected: zz"),
        ({"weight": X, "bias": W}, r"bias \(file \(3,\), model \(2,\)\)"),
    ):
        with pytest.raises(StateDictError, match=text) as caught:
            load_state_dict(model, state)
        assert_located(caught.value)
    assert model.weight.tolist() == before


def test_the_bytes_of_a_file_are_one_axis_of_bytes() -> None:
    with pytest.raises(FileFormatError, match="one axis"):
        TensorIO(X)
    with pytest.raises(OperandError, match="expected a Tensor of bytes"):
        TensorIO(3)  # type: ignore[arg-type]


def assert_located(error: TgError) -> None:
    assert error.location is not None
    assert error.location[0].endswith("test_nn_mistakes.py")
