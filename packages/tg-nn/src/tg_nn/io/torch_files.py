"""Read files that `torch.save` wrote, without PyTorch and without running what they contain.

The format since PyTorch 1.6: a zip archive of `data.pkl`, a pickle in which tensors are calls of
known functions, and of one file `data/<key>` for the memory of each storage.
"""

from __future__ import annotations

import math
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from typing import IO, NamedTuple

from tg_tensor import Tensor, dtypes
from tg_uop import DType
from tg_uop.arguments import names_bad_arguments
from tg_uop.errors import TgError

from tg_nn.errors import FileFormatError
from tg_nn.io.archives import Source, name_of, opened

DTYPE_OF_STORAGE: dict[str, DType] = {
    "BoolStorage": dtypes.bool,
    "ByteStorage": dtypes.uint8,
    "CharStorage": dtypes.int8,
    "ShortStorage": dtypes.int16,
    "IntStorage": dtypes.int32,
    "LongStorage": dtypes.int64,
    "HalfStorage": dtypes.float16,
    "BFloat16Storage": dtypes.bfloat16,
    "FloatStorage": dtypes.float32,
    "DoubleStorage": dtypes.float64,
}
DTYPE_OF_NAME: dict[str, DType] = {
    "uint16": dtypes.uint16,
    "uint32": dtypes.uint32,
    "uint64": dtypes.uint64,
    "float8_e4m3fn": dtypes.fp8e4m3,
    "float8_e5m2": dtypes.fp8e5m2,
}


class _Storage(NamedTuple):
    """The memory of one or more tensors; of no dtype where the tensor names it."""

    data: bytes
    dtype: DType | None


class _StorageKind(NamedTuple):
    name: str


def _strided(flat: Tensor, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> Tensor:
    """The elements of a line that PyTorch's strides reach."""
    _check_reach(flat.numel(), offset, size, stride)
    if math.prod(size) == 0:
        return flat[:0].reshape(size)
    order = sorted(range(len(size)), key=lambda axis: -stride[axis])
    contiguous = 1
    for axis in reversed(order):
        if size[axis] != 1 and stride[axis] != contiguous:
            break
        contiguous *= size[axis]
    else:
        # only the order of the axes differs
        inner = flat[offset : offset + contiguous].reshape([size[axis] for axis in order])
        return inner.permute([order.index(axis) for axis in range(len(size))])
    places = Tensor([offset], dtype=dtypes.int64).reshape([1] * len(size))
    for axis, (count, step) in enumerate(zip(size, stride, strict=True)):
        shape = [count if other == axis else 1 for other in range(len(size))]
        places = places + (Tensor.arange(count, dtype=dtypes.int64) * step).reshape(shape)
    return flat[places]


def _check_reach(
    elements: int, offset: int, size: tuple[int, ...], stride: tuple[int, ...]
) -> None:
    """Refuse a view of elements that its storage does not have."""
    numbers = (offset, *size, *stride)
    if len(size) != len(stride) or not all(isinstance(n, int) and n >= 0 for n in numbers):
        raise pickle.UnpicklingError(f"{offset}, {size}, {stride} describe no view of a storage")
    reach = offset + sum(step * (count - 1) for count, step in zip(size, stride, strict=True))
    if math.prod(size) and reach >= elements:
        raise pickle.UnpicklingError(
            f"a tensor reads element {reach} of a storage that has {elements}"
        )


def _tensor(
    storage: _Storage,
    offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool = False,
    hooks: object = None,
    dtype: DType | None = None,
    *rest: object,
) -> Tensor:
    kind = dtype if dtype is not None else storage.dtype
    if kind is None:
        raise pickle.UnpicklingError("a tensor names no dtype")
    made = _strided(Tensor(storage.data, dtype=kind), offset, tuple(size), tuple(stride))
    return made.requires_grad_() if requires_grad and kind.is_float else made


def _parameter(data: Tensor, requires_grad: bool = True, *rest: object) -> Tensor:
    return data.requires_grad_() if requires_grad and data.dtype.is_float else data


def _size(dims: tuple[int, ...] = ()) -> tuple[int, ...]:
    return tuple(dims)


_KNOWN: dict[tuple[str, str], Callable[..., object] | DType] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch._utils", "_rebuild_tensor_v3"): _tensor,
    ("torch._utils", "_rebuild_parameter"): _parameter,
    ("torch", "Size"): _size,
    **{("torch", name): dtype for name, dtype in DTYPE_OF_NAME.items()},
}


# what a damaged pickle makes of calls, of look-ups and of the stack
_DAMAGE = (
    pickle.UnpicklingError,
    LookupError,
    EOFError,
    TypeError,
    ValueError,
    AttributeError,
    OverflowError,
)


class _Reader(pickle.Unpickler):
    """Unpickles numbers, text, containers and tensors, and refuses all else."""

    def __init__(self, file: IO[bytes], archive: zipfile.ZipFile, folder: str) -> None:
        super().__init__(file, encoding="utf-8")
        self._archive = archive
        self._folder = folder
        self._read: dict[str, bytes] = {}

    def find_class(self, module: str, name: str, /) -> object:
        """What a name in the file stands for."""
        known = _KNOWN.get((module, name))
        if known is not None:
            return known
        if module in ("torch", "torch.storage") and name.endswith("Storage"):
            return _StorageKind(name)
        raise pickle.UnpicklingError(
            f"it contains a {module}.{name}; save the state_dict() of the model"
        )

    def persistent_load(self, pid: object) -> _Storage:
        """The memory that the file names here."""
        if not isinstance(pid, tuple) or len(pid) < 3 or not isinstance(pid[1], _StorageKind):
            raise pickle.UnpicklingError(f"{pid!r} names no storage")
        kind, key = pid[1].name, str(pid[2])
        if kind != "UntypedStorage" and kind not in DTYPE_OF_STORAGE:
            raise pickle.UnpicklingError(f"no dtype here is that of a {kind}")
        if key not in self._read:
            self._read[key] = self._archive.read(f"{self._folder}data/{key}")
        return _Storage(self._read[key], DTYPE_OF_STORAGE.get(kind))


@names_bad_arguments
def torch_load(source: Source) -> object:
    """What `torch.save` wrote: a Tensor, or dicts, lists and numbers with Tensors in them.

    `source` is a path, or the bytes of a file (also in a Tensor). Nothing in the file is run.
    Raises `FileFormatError` when it is no such file, or contains objects of other classes, and
    `MissingFileError` when there is none.
    """
    name = name_of(source)
    try:
        with opened(source, "torch.save") as file, zipfile.ZipFile(file) as archive:
            pickles = [n for n in archive.namelist() if n.rpartition("/")[2] == "data.pkl"]
            if not pickles:
                raise pickle.UnpicklingError("the archive has no data.pkl")
            folder = pickles[0].removesuffix("data.pkl")
            with archive.open(pickles[0]) as content:
                return _Reader(content, archive, folder).load()
    except zipfile.BadZipFile as error:
        reason = "it is no zip archive; files from before PyTorch 1.6 need torch.save once more"
        raise FileFormatError(path=name, expected="torch.save", reason=reason) from error
    except TgError:
        raise
    except _DAMAGE as error:
        raise FileFormatError(path=name, expected="torch.save", reason=str(error)) from error
