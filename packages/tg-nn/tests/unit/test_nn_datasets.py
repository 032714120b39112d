"""The bundled digits are whole, and a damaged archive is refused."""

from __future__ import annotations

import io

import numpy as np
import pytest
from tg_nn.datasets import mnist
from tg_nn.datasets.mnist import bundled, read_npz
from tg_nn.errors import FileFormatError
from tg_tensor import dtypes


def test_mnist_holds_out_a_thousand_digits():
    images, labels, held_images, held_labels = mnist()
    assert images.shape == (9000, 1, 28, 28)
    assert held_images.shape == (1000, 1, 28, 28)
    assert labels.shape == (9000,)
    assert held_labels.shape == (1000,)
    assert images.dtype == labels.dtype == dtypes.uint8


def test_every_digit_is_there():
    images, labels, _, held_labels = bundled()
    assert set(labels.tolist()) == set(held_labels.tolist()) == set(range(10))
    assert images.max() == 255
    assert 0.1 < (images > 127).mean() < 0.2


def archive(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


GOOD = archive(images=np.zeros((2, 28, 28), np.uint8), labels=np.zeros(2, np.uint8))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04",
        GOOD[:-40],
        archive(images=np.zeros((2, 28, 28), np.uint8)),
        archive(images=np.zeros((2, 28, 28), np.float32), labels=np.zeros(2, np.uint8)),
        archive(images=np.zeros((2, 28, 28), np.uint8), labels=np.zeros(3, np.uint8)),
        archive(images=np.array([print], dtype=object), labels=np.zeros(1, np.uint8)),
    ],
    ids=["empty", "cut", "truncated", "no labels", "floats", "other count", "pickled objects"],
)
def test_a_damaged_archive_is_refused(tmp_path, data):
    path = tmp_path / "digits.npz"
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match="digits"):
        read_npz(path, str(path))
