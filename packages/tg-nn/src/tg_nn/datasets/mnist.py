"""The MNIST digits: 10,000 bundled with the package, all 70,000 on demand."""

from __future__ import annotations

import gzip
import zipfile
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tg_tensor import Tensor

from tg_nn.datasets.download import fetch_with_bar
from tg_nn.errors import FileFormatError

HELD_OUT = 1000
SIDE = 28

ORIGIN = "https://storage.googleapis.com/cvdf-datasets/mnist"
# name on the server, MD5 as published with the data, number of digits
IMAGE_FILES = (
    ("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873", 60000),
    ("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3", 10000),
)
LABEL_FILES = (
    ("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432", 60000),
    ("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c", 10000),
)
IMAGE_HEADER_BYTES = 16
LABEL_HEADER_BYTES = 8

Bytes = NDArray[np.uint8]


def mnist(device: str | None = None, full: bool = False) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Training images, training labels, test images, test labels; all uint8.

    Images are (digits, 1, 28, 28), labels (digits,). The 10,000 digits that come with the package
    give 9,000 to train and 1,000 to test. With `full` the 60,000 and 10,000 of the whole set are
    downloaded once, checked and kept.

    Raises `FileFormatError` for a damaged file, `OSError` when the download fails.
    """
    images, labels, held_images, held_labels = _whole_set() if full else bundled()
    return (
        Tensor(images, device=device),
        Tensor(labels, device=device),
        Tensor(held_images, device=device),
        Tensor(held_labels, device=device),
    )


def bundled() -> tuple[Bytes, Bytes, Bytes, Bytes]:
    """The digits in the package as arrays, split into training and test."""
    source = files("tg_nn") / "datasets" / "data" / "mnist10k.npz"
    with source.open("rb") as file:
        images, labels = read_npz(file, str(source))  # type: ignore[arg-type]
    train = len(images) - HELD_OUT
    return images[:train], labels[:train], images[train:], labels[train:]


def read_npz(file: str | Path, name: str) -> tuple[Bytes, Bytes]:
    """Images (n, 1, 28, 28) and labels (n,) from an archive with `images` and `labels`.

    Raises `FileFormatError` when it is damaged or holds something else; nothing in it is executed.
    """
    try:
        with np.load(file, allow_pickle=False) as archive:
            images, labels = archive["images"], archive["labels"]
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile, OSError) as error:
        raise FileFormatError(path=name, expected="npz", reason=str(error)) from error
    fits = images.dtype == labels.dtype == np.uint8 and images.shape == (len(labels), SIDE, SIDE)
    if not fits:
        reason = f"images are {images.dtype} {images.shape}, labels {labels.dtype} {labels.shape}"
        raise FileFormatError(path=name, expected="MNIST npz", reason=reason)
    return images.reshape(-1, 1, SIDE, SIDE), labels


def _whole_set() -> tuple[Bytes, Bytes, Bytes, Bytes]:
    images = [_idx(name, md5, IMAGE_HEADER_BYTES, n * SIDE * SIDE) for name, md5, n in IMAGE_FILES]
    labels = [_idx(name, md5, LABEL_HEADER_BYTES, n) for name, md5, n in LABEL_FILES]
    shaped = [part.reshape(-1, 1, SIDE, SIDE) for part in images]
    return shaped[0], labels[0], shaped[1], labels[1]


def _idx(name: str, md5: str, header_bytes: int, size: int) -> Bytes:
    """The bytes of an IDX file (format: the MNIST page) after its header."""
    path = fetch_with_bar(f"{ORIGIN}/{name}", "mnist", md5)
    with gzip.open(path, "rb") as file:
        data = file.read(header_bytes + size + 1)
    if len(data) != header_bytes + size:
        reason = f"{len(data)} bytes instead of {header_bytes + size}"
        raise FileFormatError(path=path, expected="IDX", reason=reason)
    return np.frombuffer(data, np.uint8, offset=header_bytes)
