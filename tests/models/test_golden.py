"""Every family is shown what it was shown when the golden files were written (python -m tests.models.goldens)."""

import json

import pytest

from tests.models import goldens, vocabularies
from tests.models.conftest import EVERY


@pytest.fixture
def name(request):
    """Name of the family under test."""
    return request.node.callspec.params["every"]


def test_m10_golden_prompts(every, name):
    if not vocabularies.have_qwen() and vocabularies.needs_qwen(name):
        pytest.skip(f"no real Qwen tokenizer at {vocabularies.QWEN}")
    golden = json.loads(goldens.path(name).read_text(encoding="utf-8"))
    found = goldens.prompts(every)
    for item, entry in golden.items():
        assert found[item] == entry, f"{name}, {item}: not what the golden file says; see tests/models/goldens.py"
    assert found.keys() == golden.keys()


def test_every_family_has_a_golden_file_and_no_other_has():
    assert {path.stem for path in goldens.FOLDER.glob("*.json")} == set(EVERY)


@pytest.mark.parametrize("name", EVERY)
def test_golden_files_hold_what_a_model_is_asked(name):
    golden = json.loads(goldens.path(name).read_text(encoding="utf-8"))
    assert [len(golden[item]["letter_ids"]) for item in golden] == [2, 3, 4, 5, 3, 3]
    for item, (question, options) in goldens.ITEMS.items():
        entry = golden[item]
        assert question in entry["prompt"] and len(set(entry["letter_ids"])) == len(options)
        for letter, option in zip("ABCDE", options, strict=False):
            assert f"{letter}. {option}" in entry["prompt"]
        assert entry["letter_ids"] == golden["five options"]["letter_ids"][: len(options)]
