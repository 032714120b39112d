"""The bundled digits are whole, and a damaged archive is refused."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import io
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from tg_nn.datasets import mnist
from tg_nn.datasets.mnist import bundled, read_npz
from tg_nn.errors import FileFormatError
from tg_tensor import Context, dtypes


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


class Whole(BaseHTTPRequestHandler):
    """Serves a tiny set in the format of the real one."""

    def do_GET(self):
        count = 3 if "train" in self.path else 2
        images = "images" in self.path
        header = (
            struct.pack(">IIII", 2051, count, 28, 28) if images else struct.pack(">II", 2049, count)
        )
        body = gzip.compress(header + bytes(count * (784 if images else 1)), mtime=0)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_the_whole_set_is_downloaded_checked_and_kept(tmp_path, monkeypatch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Whole)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    module = importlib.import_module("tg_nn.datasets.mnist")
    monkeypatch.setattr(module, "ORIGIN", f"http://127.0.0.1:{server.server_port}")

    def digest(header, count, size):
        return hashlib.md5(gzip.compress(header + bytes(count * size), mtime=0)).hexdigest()

    def files(kind, names, size):
        pack = (
            (lambda n: struct.pack(">IIII", 2051, n, 28, 28))
            if size > 1
            else (lambda n: struct.pack(">II", 2049, n))
        )
        return tuple((name, digest(pack(n), n, size), n) for name, n in names)

    images = files("images", [("train-images.gz", 3), ("t10k-images.gz", 2)], 784)
    labels = files("labels", [("train-labels.gz", 3), ("t10k-labels.gz", 2)], 1)
    monkeypatch.setattr(module, "IMAGE_FILES", images)
    monkeypatch.setattr(module, "LABEL_FILES", labels)
    with Context(TG_CACHE_DIR=str(tmp_path)):
        shapes = [t.shape for t in mnist(full=True)]
        server.shutdown()
        server.server_close()
        again = [t.shape for t in mnist(full=True)]
    assert shapes == again == [(3, 1, 28, 28), (3,), (2, 1, 28, 28), (2,)]
