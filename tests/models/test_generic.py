"""Families without an adapter: the generic one fits and proves it, or refuses and names the check."""

import pytest
import torch
from vlmdx.models import contract
from vlmdx.models.load import load

from tests.models import tiny_unknown


@pytest.mark.parametrize("name", ["vipllava", "aya_vision"])
def test_an_unknown_family_that_fits_passes_all_checks_when_it_is_opened(tmp_path, name):
    folder = str(tiny_unknown.build(name, tmp_path / "m"))
    with pytest.raises(ValueError, match=rf"'{name}' has no adapter; .*vlmdx doctor.*family: generic"):
        load(folder, device="cpu")
    adapter = load(folder, device="cpu", family="generic")
    assert adapter.describe()["family"] == "generic"
    assert all(verdict.passed for verdict in contract.examine(adapter))


def test_an_unknown_family_that_does_not_fit_is_refused_with_the_check_named(tmp_path):
    folder = str(tiny_unknown.build("mllama", tmp_path / "m"))
    with pytest.raises(ValueError, match=r"generic adapter fails the check 'text side': input 'cross_attention_mask'"):
        load(folder, device="cpu", family="generic")


def test_generic_equals_the_family_adapters(every):
    """Two ways to the same logits: the processor's own inputs one by one, and the adapters' shared batches."""
    generic = load(
        every.source, device="cpu", family="generic", attention=every.model.config._attn_implementation, verify=False
    )
    if every.processor.chat_template is None:
        with pytest.raises(ValueError, match=r"'span': ValueError: .*no chat template"):
            generic.verify()
        return
    _, images, rows = contract.samples(every)
    torch.testing.assert_close(generic.logits(rows, images), every.logits(rows, images), atol=1e-4, rtol=0)
    kept = [type(row)(row.ids, row.image, keep) for row, keep in zip(rows, (2, 1, 3), strict=True)]
    torch.testing.assert_close(generic.logits(kept, images), every.logits(kept, images), atol=1e-4, rtol=0)
