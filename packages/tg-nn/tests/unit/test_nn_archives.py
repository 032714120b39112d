"""Archives and the bytes of Tensors are read as files."""

from __future__ import annotations

import io
import pickle
import tarfile
import zipfile
from pathlib import Path

import pytest
from tg_nn.errors import FileFormatError
from tg_nn.state import TensorIO, tar_extract, torch_load, zip_extract
from tg_tensor import Tensor

FILES = {"a.txt": b"hello", "folder/b.bin": bytes(range(200)), "empty": b""}


def tar_of(mode: str) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, content in FILES.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return file.getvalue()


def zip_of(compression: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in FILES.items():
            archive.writestr(name, content)
    return file.getvalue()


ARCHIVES = {
    "tar": (tar_extract, tar_of("w")),
    "tar.gz": (tar_extract, tar_of("w:gz")),
    "zip": (zip_extract, zip_of(zipfile.ZIP_STORED)),
    "zip, deflated": (zip_extract, zip_of(zipfile.ZIP_DEFLATED)),
}


@pytest.mark.parametrize("kind", ARCHIVES)
@pytest.mark.parametrize("given", ["path", "text", "bytes", "Tensor", "Tensor of a path"])
def test_an_archive_gives_its_files(kind: str, given: str, tmp_path: Path) -> None:
    extract, content = ARCHIVES[kind]
    path = tmp_path / "archive"
    path.write_bytes(content)
    source = {
        "path": lambda: path,
        "text": lambda: str(path),
        "bytes": lambda: content,
        "Tensor": lambda: Tensor(content),
        "Tensor of a path": lambda: Tensor(path),
    }[given]()
    assert {name: bytes(t.data()) for name, t in extract(source).items()} == FILES


@pytest.mark.parametrize("extract", [tar_extract, zip_extract, torch_load])
def test_what_is_no_archive_is_refused(extract) -> None:
    with pytest.raises(FileFormatError):
        extract(b"these bytes are no archive of any kind")


def test_the_bytes_of_a_tensor_are_a_file() -> None:
    file = TensorIO(Tensor(b"hello world"))
    assert file.read(5) == b"hello"
    assert file.seek(1, io.SEEK_CUR) == 6
    assert file.read() == b"world"
    assert (file.tell(), file.read(3)) == (11, b"")
    assert file.seek(-2, io.SEEK_END) == 9
    into = bytearray(4)
    assert (file.readinto(into), bytes(into)) == (2, b"ld\0\0")
    file.seek(0)
    assert io.BufferedReader(file).read(2) == b"he"


@pytest.mark.parametrize("wrong", [Tensor([1, 2]), Tensor(b"abcd").reshape(2, 2)])
def test_only_bytes_on_one_axis_are_a_file(wrong: Tensor) -> None:
    with pytest.raises(ValueError, match="bytes of a file"):
        TensorIO(wrong)


class _Torch:
    """Stands for a name in the module torch while a file is written."""

    def __init__(self, module: str, name: str, *arguments: object) -> None:
        self.called = (module, name, arguments)


class _Storage:
    """Stands for the memory of a tensor."""

    def __init__(self, kind: str, key: str) -> None:
        self.named = ("storage", kind, key)


class _Pickle:
    """Writes the pickle of a file by hand, opcode by opcode."""

    def __init__(self, value: object) -> None:
        self.out = bytearray(b"\x80\x02")
        self.put(value)
        self.out += b"."

    def put(self, value: object) -> None:
        if isinstance(value, _Torch):
            module, name, arguments = value.called
            self.out += f"c{module}\n{name}\n".encode()
            self.put(arguments)
            self.out += b"R"
        elif isinstance(value, _Storage):
            tag, kind, key = value.named
            self.out += b"("
            self.put(tag)
            self.out += f"ctorch\n{kind}\n".encode()
            self.put(key)
            self.out += b"tQ"
        elif isinstance(value, tuple):
            self.out += b"("
            for item in value:
                self.put(item)
            self.out += b"t"
        else:
            self.out += pickle.dumps(value, protocol=2)[2:-1]


def torch_file(value: object, storage: bytes = bytes(range(16))) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("model/data.pkl", bytes(_Pickle(value).out))
        archive.writestr("model/data/0", storage)
    return file.getvalue()


def view(offset: object, size: object, stride: object, key: str = "0") -> _Torch:
    storage = _Storage("ByteStorage", key)
    return _Torch("torch._utils", "_rebuild_tensor_v2", storage, offset, size, stride)


def test_views_of_a_storage_are_read() -> None:
    found = torch_load(torch_file(view(2, (3, 2), (1, 4))))
    assert isinstance(found, Tensor)
    assert found.tolist() == [[2, 6], [3, 7], [4, 8]]
    overlapping = torch_load(torch_file(view(0, (2, 3), (1, 1))))
    assert isinstance(overlapping, Tensor)
    assert overlapping.tolist() == [[0, 1, 2], [1, 2, 3]]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (view(15, (2,), (1,)), "element 16 of a storage that has 16"),
        (view(0, (1 << 40,), (1,)), "of a storage that has 16"),
        (view(-1, (1,), (1,)), "no view"),
        (view(0, (4,), (-1,)), "no view"),
        (view(0, (4, 4), (1,)), "no view"),
        (view("a", (4,), (1,)), "no view"),
        (view(0, (4,), (1,), key="9"), "data/9"),
        (_Torch("os", "system", "true"), "os.system"),
        (_Torch("torch._utils", "_rebuild_tensor_v2"), "argument"),
        (_Torch("torch", "uint16"), "callable"),
    ],
)
def test_damaged_and_hostile_files_are_refused(value: object, reason: str) -> None:
    with pytest.raises(FileFormatError, match=reason):
        torch_load(torch_file(value))


@pytest.mark.parametrize("length", range(0, 60, 7))
def test_a_pickle_that_ends_early_is_refused(length: int) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("model/data.pkl", bytes(_Pickle(view(0, (4,), (1,))).out)[:length])
    with pytest.raises(FileFormatError):
        torch_load(file.getvalue())
