"""What is fuzzed: a strategy that draws an input, and a check that feeds it to the product.

A check returns what became of the input, or raises: every exception but the product's own refusals is a finding, and so
is a refusal without words, a picture that is no picture, and a row that is neither an item nor set aside.
"""

from collections.abc import Callable
from typing import NamedTuple

from hypothesis import strategies as st

from tests.fuzz import configs, pictures, rows
from tests.fuzz.documents import changed
from tests.fuzz.outcome import Outcome
from tests.fuzz.samples import BLINK_LINE, COCO, GQA_GRAPHS, GQA_QUESTIONS, JSON_LINE, SEED, VSR_LINE


class Target(NamedTuple):
    """An input space and its check; ``share`` of all inputs, in per cent."""

    share: int
    strategy: st.SearchStrategy
    check: Callable[..., Outcome]


TARGETS = {
    "pictures": Target(30, pictures.pictures(), pictures.check_picture),
    "jsonl": Target(12, rows.lines_of(JSON_LINE), rows.check_jsonl),
    "blink": Target(5, rows.lines_of(BLINK_LINE), rows.check_blink),
    "vsr": Target(6, st.tuples(rows.lines_of(VSR_LINE), changed(COCO)), rows.check_vsr),
    "coco": Target(6, changed(COCO), rows.check_coco),
    "seedbench": Target(7, changed(SEED), rows.check_seedbench),
    "gqa": Target(7, st.tuples(changed(GQA_QUESTIONS), changed(GQA_GRAPHS)), rows.check_gqa),
    "mmbench": Target(8, rows.mmbench_rows(), rows.check_mmbench),
    "mmvp": Target(4, rows.mmvp_rows(), rows.check_mmvp),
    "config": Target(15, configs.configs(), configs.check_config),
}
