"""Run the conformance suite of the onnx package and print how each operator fares.

python -m tg_onnx.coverage [--only TEXT] [--seconds N] [--failures FILE]
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from unittest import SkipTest, TestCase, TestResult, TestSuite

from onnx import ModelProto
from onnx.backend.test import BackendTest

from tg_onnx.backend import TgBackend, TgBackendRep
from tg_onnx.errors import UnsupportedOperatorError
from tg_onnx.runner import OnnxRunner

# "on host": passed, with a node that the onnx package's reference implementation computed
VERDICTS = ("passed", "on host", "failed", "unsupported")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One case: its name, the operator it is about, a verdict and the reason for it."""

    case: str
    operator: str
    verdict: str
    reason: str = ""


class CaseTimeout(Exception):
    """A case that took longer than it may."""


class _Recorder(TgBackend):
    """Remembers which model is being run."""

    model: ModelProto | None = None
    runner: OnnxRunner | None = None

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: object) -> TgBackendRep:
        _Recorder.model = model
        prepared = super().prepare(model, device, **kwargs)
        _Recorder.runner = prepared.runner
        return prepared


class _Result(TestResult):
    """Keeps the exception of a case."""

    error: BaseException | None = None
    skipped_reason: str | None = None

    def addError(self, test: TestCase, err: object) -> None:
        self.error = err[1]  # type: ignore[index]

    def addFailure(self, test: TestCase, err: object) -> None:
        self.error = err[1]  # type: ignore[index]

    def addSkip(self, test: TestCase, reason: str) -> None:
        self.skipped_reason = reason


def suite_cases(only: str = "") -> list[TestCase]:
    """The cases of the suite that run on a CPU, those whose names contain `only`."""
    suite = BackendTest(_Recorder, __name__).test_suite
    return [case for case in _flat(suite) if case.id().endswith("_cpu") and only in _name_of(case)]


def run_case(case: TestCase, seconds: int) -> Outcome:
    """Run one case, for at most so long."""
    result = _Result()
    _Recorder.model = _Recorder.runner = None
    previous = signal.signal(signal.SIGALRM, _out_of_time)
    signal.alarm(seconds)
    try:
        case.run(result)
    except CaseTimeout as error:
        result.error = error
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
    return _outcome(_name_of(case), result)


def _outcome(name: str, result: _Result) -> Outcome:
    operator = _operator_of(_Recorder.model)
    error = result.error
    if error is None and result.skipped_reason is None:
        on_host = _Recorder.runner is not None and _Recorder.runner.ran_on_host
        return Outcome(name, operator, "on host" if on_host else "passed")
    if error is None or isinstance(error, SkipTest):
        return Outcome(name, operator, "unsupported", f"skipped: {result.skipped_reason}")
    reason = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    if isinstance(error, UnsupportedOperatorError):
        return Outcome(name, error.operator, "unsupported", reason)
    return Outcome(name, operator, "failed", reason)


def _out_of_time(number: int, frame: FrameType | None) -> None:
    raise CaseTimeout("the case took too long")


def _operator_of(model: ModelProto | None) -> str:
    if model is None or not model.graph.node:
        return "none"
    return str(model.graph.node[-1].op_type)


def _name_of(case: TestCase) -> str:
    return case.id().rsplit(".", 1)[-1]


def _flat(suite: TestSuite | TestCase) -> Iterator[TestCase]:
    if isinstance(suite, TestCase):
        yield suite
        return
    for member in suite:
        yield from _flat(member)


def report(line: str) -> None:
    """Write one line to standard output."""
    sys.stdout.write(f"{line}\n")


def main() -> int:
    """Print a line an operator and the totals; 0 when nothing failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="run the cases whose names contain this")
    parser.add_argument("--seconds", type=int, default=20, help="time for one case")
    parser.add_argument("--failures", type=Path, help="write the cases that did not pass here")
    arguments = parser.parse_args()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    lines = []
    for case in suite_cases(arguments.only):
        outcome = run_case(case, arguments.seconds)
        counts[outcome.operator][outcome.verdict] += 1
        if outcome.verdict not in ("passed", "on host"):
            lines.append(f"{outcome.verdict}\t{outcome.operator}\t{outcome.case}\t{outcome.reason}")
    report(f"{'operator':32}" + "".join(f"{verdict:>13}" for verdict in VERDICTS))
    for operator, found in sorted(counts.items()):
        report(f"{operator:32}" + "".join(f"{found[verdict]:13}" for verdict in VERDICTS))
    totals: Counter[str] = Counter()
    for found in counts.values():
        totals.update(found)
    report(f"{'total':32}" + "".join(f"{totals[verdict]:13}" for verdict in VERDICTS))
    if arguments.failures is not None:
        arguments.failures.write_text("\n".join(lines) + "\n")
    return 0 if totals["passed"] + totals["on host"] == sum(totals.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
