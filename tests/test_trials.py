"""tests/README.md says which test covers which trouble report, and it is true."""

import difflib

import pytest

from tests import trials


def test_tables_are_those_of_the_tests():
    shipped = trials.README.read_text(encoding="utf-8")
    diff = difflib.unified_diff(
        shipped.splitlines(), trials.written(shipped).splitlines(), "shipped", "tests", lineterm=""
    )
    assert trials.written(shipped) == shipped, "run `python -m tests.trials`:\n" + "\n".join(diff)


@pytest.mark.parametrize("report", trials.TROUBLE)
def test_every_report_has_a_test(report):
    assert trials.covered().get(report), f"no test's name begins with test_{report.lower()}_"


def test_names_and_ledger_hold_nothing_unknown():
    assert set(trials.covered()) <= set(trials.TROUBLE) and set(trials.NOTES) <= set(trials.TROUBLE)
    assert trials.skipping() == set(trials.SKIPS)


def test_ids_are_read_from_the_front_of_a_name():
    assert trials.ids("test_m06_x05_contract") == ["M06", "X05"]
    assert trials.ids("test_contract_of_m06") == trials.ids("test_i1_x") == trials.ids("test_q01_x") == []
