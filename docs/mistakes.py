"""Common mistakes and the messages that they bring: the page `errors.md`."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from tg_uop.errors import TgError


@dataclass(frozen=True, slots=True)
class Mistake:
    """A heading, a program whose last statement is wrong, and what to know about it."""

    title: str
    program: str
    remark: str = ""


MISTAKES = (
    Mistake(
        "Matrices that do not fit",
        "Tensor.rand(2, 3) @ Tensor.rand(4, 5)",
    ),
    Mistake(
        "Shapes that do not broadcast",
        "Tensor.rand(2, 3) + Tensor.rand(2)",
        "Axes are counted from the last one, as in NumPy. Here `.reshape(2, 1)` on the right was "
        "meant.",
    ),
    Mistake(
        "A reshape that loses elements",
        "Tensor.rand(2, 3).reshape(4, 2)",
    ),
    Mistake(
        "An axis that is not there",
        "Tensor.rand(2, 3).sum(axis=2)",
    ),
    Mistake(
        "An index out of range",
        "Tensor.rand(2, 3)[2]",
        "`IndexRangeError` is an `IndexError`. Only indices that are numbers are checked: "
        "where an index is a Tensor, its values are not known when the expression is built.",
    ),
    Mistake(
        "An index of floats",
        "Tensor.rand(2, 3)[Tensor([0.5])]",
        "`IndexDTypeError` is a `TypeError` and an `IndexError`.",
    ),
    Mistake(
        "A dtype that does not exist",
        'Tensor([1.0], dtype="flaot32")',
    ),
    Mistake(
        "A device that does not exist",
        'Tensor([1.0], device="CUP")',
        "A device that exists and cannot be opened here raises `DeviceUnavailableError` with the "
        "reason; `python -m tg_runtime` lists all of them.",
    ),
    Mistake(
        "Values on two devices",
        'Tensor([1.0, 2.0]) + Tensor([1.0, 2.0], device="CPU:1")',
    ),
    Mistake(
        "backward() on more than one element",
        "weight = Tensor([1.0, 2.0], requires_grad=True)\n(weight * 2).backward()",
        "Reduce to a loss first, or pass the incoming gradient: `backward(gradient)`.",
    ),
    Mistake(
        "backward() with nothing to differentiate",
        "Tensor([1.0, 2.0]).sum().backward()",
    ),
    Mistake(
        "A Tensor as a condition",
        "if Tensor([1.0, 2.0]) > 0:\n    pass",
        "`.all()`, `.any()` or `.where(a, b)` say what is meant.",
    ),
    Mistake(
        "Lists of different lengths",
        "Tensor([[1, 2], [3]])",
    ),
    Mistake(
        "Memory that Python has no type for",
        'Tensor([1.0, 2.0], dtype="bfloat16").data()',
        "`numpy()` and `tolist()` work: they give the values as float32.",
    ),
    Mistake(
        "Reading a value while a step is captured",
        "@TinyJit\n"
        "def step(x):\n"
        "    return (x / x.sum().item()).realize()\n"
        "\n"
        "for _ in range(2):\n"
        "    step(Tensor([1.0, 3.0]).realize())",
        "The first call of a step runs as usual; the second is captured, and raises.",
    ),
    Mistake(
        "Tensors of different shapes in a row",
        "Tensor.cat(Tensor.rand(2, 3), Tensor.rand(3, 4))",
        "All axes but the one along which they are joined must agree.",
    ),
    Mistake(
        "Something else where a Tensor is expected",
        "Tensor.rand(2, 3).cross_entropy([1, 0])",
        "Operands of arithmetic (`+`, `where`, `maximum`, ...) may be numbers, lists and arrays. "
        "Weights, targets, indices and inputs of layers are Tensors.",
    ),
    Mistake(
        "An argument of a wrong kind",
        'Linear("3", 4)',
        "A method, a layer or an optimizer that fails names the argument that is not of the kind "
        "which its signature says.",
    ),
    Mistake(
        "An argument by a wrong name",
        "Tensor.rand(2, 3).sum(axsi=0)",
        "`axis` and `dim`, `keepdim` and `keepdims` mean the same in every method that has one of "
        "them. With `dim` those of PyTorch's `max` and `min` give positions too, so that "
        "they take `axis` only.",
    ),
    Mistake(
        "A file that is not there",
        'safe_load("weights.safetensors")',
        "`MissingFileError` is a `FileNotFoundError`.",
    ),
    Mistake(
        "Channels that a convolution does not have",
        "Tensor.rand(1, 4, 8, 8).conv2d(Tensor.rand(16, 3, 3, 3))",
        "The weight has the shape (out, in / groups, height, width).",
    ),
    Mistake(
        "A value that does not fit where it is written",
        "weights = Tensor.zeros(2, 3).contiguous()\nweights.assign(Tensor.zeros(3, 2))",
        "`assign` broadcasts, but never reshapes.",
    ),
    Mistake(
        "A number that a dtype cannot hold",
        'Tensor([1, 300], dtype="uint8")',
        'Nothing wraps on the way in. `Tensor([1, 300]).cast("uint8")` says that it is meant to.',
    ),
    Mistake(
        "An integer to a negative power",
        "Tensor([2, 4]) ** -1",
    ),
    Mistake(
        "A variable out of its range",
        'Variable("length", 1, 128).bind(200)',
        "The kernels are made for the range, so the range is checked.",
    ),
    Mistake(
        "A step without gradients",
        "weight = Tensor([1.0], requires_grad=True)\n"
        "with Tensor.train():\n"
        "    SGD([weight], lr=0.1).step()",
    ),
    Mistake(
        "A setting that does not exist",
        "Context(DEBGU=2)",
        "Only `Context` can know that a name is wrong; a variable of the environment that no "
        "package declares is passed over.",
    ),
)

HEAD = """\
# Errors

A mistake raises where it is made: building an expression runs nothing, but shapes, dtypes, devices
and indices are known at once. The last line of the traceback that is in your own file is the one to
look at.

Every class is a `tg_uop.errors.TgError` with fields (`error.shapes`, `error.hint`, ...), and most
are also the built-in classes that Python, NumPy and PyTorch raise there: `ValueError`, `TypeError`,
`IndexError`, `RuntimeError`. What Python itself finds, such as an attribute that does not exist
(`x.smu()`), stays Python's. The messages below are written by running the programs, each as a file
`train.py`; long ones are broken here. The last line says where in your code it was: where tg was
called or, for what goes wrong later, where the value was made. All programs begin with

```python
from tg_nn import Linear
from tg_nn.optim import SGD
from tg_nn.state import safe_load
from tg_tensor import Tensor, TinyJit, Variable
from tg_uop.context import Context
```
"""


def errors_markdown() -> str:
    """The page: each program with the error that it raises."""
    return "\n".join([HEAD, *map(_section, MISTAKES)])


def _section(mistake: Mistake) -> str:
    kind, message = raised(mistake.program)
    lines = [
        f"## {mistake.title}",
        "",
        "```python",
        mistake.program,
        "```",
        "",
        "```text",
        _broken(f"{kind}: {message}"),
        "```",
        "",
    ]
    if mistake.remark:
        lines += [textwrap.fill(mistake.remark, 105), ""]
    return "\n".join(lines)


def _broken(text: str) -> str:
    return "\n".join(textwrap.fill(line, 96, subsequent_indent="  ") for line in text.splitlines())


def raised(program: str) -> tuple[str, str]:
    """Class name and message of the error that a program raises."""
    start = HEAD.split("```python\n")[1].split("```")[0]
    names: dict[str, object] = {}
    try:
        exec(compile(start + program, "train.py", "exec"), names)
    except TgError as error:
        return type(error).__name__, str(error)
    raise AssertionError(f"this program raises nothing:\n{program}")
