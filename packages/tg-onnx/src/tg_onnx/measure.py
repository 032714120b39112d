"""Time a model: its first calls, later ones, its kernels, and onnxruntime beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median
from time import perf_counter

from tg_tensor import GlobalCounters, Tensor
from tg_uop.context import Context

from tg_onnx.proto import Array
from tg_onnx.runner import OnnxRunner


def bench_lines(
    path: Path, runner: OnnxRunner, inputs: Mapping[str, Array], count: int, kernels: bool
) -> Iterator[str]:
    """A line for each thing measured."""

    def call() -> None:
        _realize(runner(inputs).values())

    yield f"first call    {_milliseconds(_seconds(call))}"
    yield f"second call   {_milliseconds(_seconds(call))}"
    GlobalCounters.reset()
    call()
    yield f"kernels       {GlobalCounters.kernel_count} in a call"
    times = [_seconds(call) for _ in range(count)]
    yield f"later calls   {_milliseconds(median(times))} (median of {count})"
    other = _reference_call(path, inputs)
    if other is None:
        yield "onnxruntime   is not there, or cannot run the model"
    else:
        other()
        theirs = median([_seconds(other) for _ in range(count)])
        yield f"onnxruntime   {_milliseconds(theirs)} (median of {count})"
        yield f"its speed     {theirs / median(times):.2f} of it reached"
    if kernels:
        plain = OnnxRunner(path, runner.device, capture=False)
        with Context(DEBUG=2):
            _realize(plain(inputs).values())


def _realize(values: Iterable[object]) -> None:
    tensors = [value for value in values if isinstance(value, Tensor)]
    if tensors:
        Tensor.realize(*tensors)


def _reference_call(path: Path, inputs: Mapping[str, Array]) -> Callable[[], object] | None:
    try:
        import onnxruntime  # noqa: PLC0415
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        session.run(None, dict(inputs))
    except Exception:  # its errors have no common class
        return None
    return lambda: session.run(None, dict(inputs))


def _seconds(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:10.3f} ms"
