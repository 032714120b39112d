"""Look at a model, run it, time it and compare it with onnxruntime, from a terminal."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from onnx import ModelProto
from tg_uop.errors import TgError

from tg_onnx.check import check_model
from tg_onnx.example import example_inputs, saved_inputs
from tg_onnx.host import NARROW_DTYPES, as_array
from tg_onnx.measure import bench_lines
from tg_onnx.model import Graph, read_graph
from tg_onnx.proto import Array, load_model
from tg_onnx.runner import OnnxRunner
from tg_onnx.side_by_side import Difference, first_difference
from tg_onnx.table import MISSING, coverage_markdown, operator_rows

Command = Callable[[argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 when all went well, 1 where models differ or cannot run, 2 for errors."""
    given = _parser().parse_args(arguments)
    command: Command = given.command
    try:
        return command(given)
    except (TgError, OSError, ImportError) as error:
        text = error.explain() if isinstance(error, TgError) else str(error)
        print(f"error: {text}", file=sys.stderr)  # noqa: T201
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tg_onnx", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    info = commands.add_parser("info", help="what is in a model, and what its operators run on")
    info.add_argument("model", type=Path)
    info.set_defaults(command=show_info)
    run = commands.add_parser("run", help="run a model once and show its outputs")
    _add_inputs(run)
    run.add_argument("--save", type=Path, help="write the outputs to this npz file")
    run.set_defaults(command=run_once)
    compare = commands.add_parser("compare", help="compare with onnxruntime, node by node")
    _add_inputs(compare)
    compare.add_argument("--rtol", type=float, default=1e-3, help="relative tolerance")
    compare.add_argument("--atol", type=float, default=1e-4, help="absolute tolerance")
    compare.set_defaults(command=compare_models)
    bench = commands.add_parser("bench", help="time a model, beside onnxruntime if it is there")
    _add_inputs(bench)
    bench.add_argument("--count", type=int, default=20, help="calls to take the median of")
    bench.add_argument("--kernels", action="store_true", help="list the kernels with their times")
    bench.set_defaults(command=bench_model)
    coverage = commands.add_parser("coverage", help="operators of a model, or all there are")
    coverage.add_argument("model", type=Path, nargs="?")
    coverage.set_defaults(command=show_coverage)
    return parser


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path)
    parser.add_argument("--inputs", type=Path, help="npz file; without it inputs are made up")
    parser.add_argument(
        "--size",
        action="append",
        default=[],
        metavar="NAME=N",
        type=_size,
        help="a named dimension",
    )
    parser.add_argument("--default-size", type=int, default=1, help="of dimensions not named")
    parser.add_argument("--seed", type=int, default=0, help="of inputs that are made up")
    parser.add_argument("--device", help="where to run")


def _size(text: str) -> tuple[str, int]:
    name, _, size = text.rpartition("=")
    if not name or not size.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=N")
    return name, int(size)


def _inputs(given: argparse.Namespace, graph: Graph) -> dict[str, Array]:
    if given.inputs is not None:
        return saved_inputs(given.inputs)
    return example_inputs(graph.inputs, dict(given.size), given.default_size, given.seed)


def report(line: str = "") -> None:
    """Write one line to standard output."""
    sys.stdout.write(f"{line}\n")


def table(rows: Sequence[Sequence[object]], head: Sequence[str]) -> None:
    """Write rows with columns as wide as they must be."""
    cells = [list(head), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    for row in cells:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        report(line.rstrip())


def _read(path: Path) -> tuple[ModelProto, Graph]:
    model, source, files = load_model(path)
    check_model(model, source)
    return model, read_graph(model, source, files)


def show_info(given: argparse.Namespace) -> int:
    """What a model is made of; 1 where it has operators that cannot run."""
    model, graph = _read(given.model)
    opsets = ", ".join(f"{o.domain or 'ai.onnx'} {o.version}" for o in model.opset_import)
    numbers = sum(array.size for array in graph.constants.values())
    size = sum(array.nbytes for array in graph.constants.values())
    report(f"model      {given.model}")
    report(f"producer   {model.producer_name or 'not stated'} {model.producer_version}".rstrip())
    report(f"format     IR version {model.ir_version}; {opsets}")
    report(f"weights    {numbers:,} numbers, {size:,} bytes, in {len(graph.constants)} tensors")
    report(f"nodes      {len(graph.nodes)}; {len(model.functions)} functions")
    report()
    rows = [("input", *_described(info)) for info in graph.inputs.values()]
    rows += [("default", *_described(info)) for info in graph.replaceable.values()]
    rows += [("output", *_described(info)) for info in graph.outputs.values()]
    table(rows, ("", "name", "dtype", "shape"))
    report()
    return _operators(graph, {(f.domain, f.name) for f in model.functions})


def _described(info: object) -> tuple[str, str, str]:
    name, _, rest = str(info).partition(": ")
    dtype, _, shape = rest.partition(", shape ")
    return name, dtype.removeprefix("dtypes."), shape


def _operators(graph: Graph, functions: set[tuple[str, str]]) -> int:
    rows = [
        (*row[:4], "a function of the model" if (row[0], row[1]) in functions else row[4])
        for row in operator_rows(graph)
    ]
    table(rows, ("domain", "operator", "opset", "nodes", "runs on"))
    return 1 if any(row[4] == MISSING for row in rows) else 0


def show_coverage(given: argparse.Namespace) -> int:
    """The operators of a model, or the page with all of them."""
    if given.model is None:
        report(coverage_markdown())
        return 0
    model, graph = _read(given.model)
    return _operators(graph, {(f.domain, f.name) for f in model.functions})


def run_once(given: argparse.Namespace) -> int:
    """The outputs of one call."""
    runner = OnnxRunner(given.model, given.device)
    found = runner(_inputs(given, runner.graph))
    arrays = {name: np.asarray(as_array(value)) for name, value in found.items()}  # type: ignore[arg-type]
    table([_summary(name, array) for name, array in arrays.items()], _SUMMARY)
    if given.save is not None:
        np.savez(given.save, **arrays)  # type: ignore[arg-type]
    return 0


_SUMMARY = ("output", "dtype", "shape", "least", "mean", "greatest")


def _summary(name: str, array: Array) -> tuple[object, ...]:
    has_numbers = array.dtype.kind in "fiub" or array.dtype in NARROW_DTYPES.values()
    if not has_numbers or array.size == 0:
        return name, array.dtype, array.shape, "", "", ""
    wide = array.astype(np.float64)
    numbers = (f"{number:.6g}" for number in (wide.min(), wide.mean(), wide.max()))
    return name, array.dtype, array.shape, *numbers


def compare_models(given: argparse.Namespace) -> int:
    """1 and the first node that differs, where an output does."""
    inputs = _inputs(given, _read(given.model)[1])
    worst, difference = first_difference(given.model, inputs, given.device, given.rtol, given.atol)
    _show_worst(worst)
    if difference is None:
        report("no output differs")
        return 0
    report(f"first that differs: {difference.explain()}")
    return 1


def _show_worst(worst: Mapping[str, Difference]) -> None:
    rows = [
        (name, found.shape, f"{found.absolute:.3g}", f"{found.relative:.3g}", found.verdict)
        for name, found in worst.items()
    ]
    table(rows, ("output", "shape", "greatest difference", "relative", ""))


def bench_model(given: argparse.Namespace) -> int:
    """Times of the first calls and of later ones."""
    runner = OnnxRunner(given.model, given.device)
    inputs = _inputs(given, runner.graph)
    for line in bench_lines(given.model, runner, inputs, given.count, given.kernels):
        report(line)
    return 0
