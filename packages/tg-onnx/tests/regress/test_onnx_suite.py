"""Families of the onnx package's own suite pass, with exact counts: a case lost is a regression."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from tg_onnx.coverage import run_case, suite_cases

# the text that names of a family's cases contain: (passed on tensors, passed on the host)
FAMILIES = {
    "test_lstm_": (6, 0),
    "test_gru_": (6, 0),
    "test_rnn_": (1, 0),
    "test_simple_rnn_": (5, 0),
    "test_if_": (3, 0),
    "test_scan": (4, 0),
    "test_optional": (11, 0),
    "test_gathernd": (3, 0),
    "test_scatternd": (7, 0),
    "test_mod_": (19, 0),
    "test_qlinearmatmul": (8, 0),
    "test_convinteger": (2, 0),
    "test_nonmaxsuppression": (10, 0),
    "test_mvn": (3, 0),
    "test_prelu_broadcast": (2, 0),
    "test_sequence_insert": (2, 0),
    "test_string_concat": (5, 0),
}


@cache
def cases():
    return suite_cases()


@pytest.mark.parametrize("family", FAMILIES)
def test_family(family):
    outcomes = [run_case(case, 60) for case in cases() if family in case.id()]
    counts = Counter(outcome.verdict for outcome in outcomes)
    found = (counts["passed"], counts["on host"])
    lost = [o for o in outcomes if o.verdict not in ("passed", "on host")]
    assert (found, lost) == (FAMILIES[family], [])
