"""M06: what a row gets does not depend on what shares its batch. Images 56 x 56 to 900 x 300, prompts of 10 to 300 ids.

The tolerance cannot hide a defect: in float64 the same comparison has to agree to the digits that float32 logits have.
A difference there is the adapter's fault; one that shows in float32 alone is a fault of this torch's kernels.
"""

import pytest
from vlmdx.models import contract
from vlmdx.models.adapter import Row

SIZES = [(56, 56), (900, 300), (300, 900), (500, 375), (64, 448), (333, 217)]
LENGTHS = [10, 300, 25, 120, 60, 200]
ORDERS = [[0, 1, 2, 3, 4, 5], [5, 3, 1, 0, 2, 4]]


def mixed(adapter):
    """Prompts of at least ``LENGTHS`` ids beside the image, their images and rows."""
    words = ["Answer", "with", "the", "option", "what", "letter", "given"]
    prompts = []
    for number, length in enumerate(LENGTHS):
        text = words[number]
        while len(adapter.encode_text(adapter.render(text))) < length:
            text += f" {words[len(text) % len(words)]}"
        prompts.append(adapter.render(text))
    images = [contract.image(size, seed) for seed, size in enumerate(SIZES)]
    rows = [Row(adapter.encode(p, image), i) for i, (p, image) in enumerate(zip(prompts, images, strict=True))]
    return prompts, images, rows


def differences(adapter, orders=ORDERS):
    """Largest differences of a letter's probability, alone against each batch, and whether each choice is the same."""
    prompts, images, rows = mixed(adapter)
    alone = [adapter.logits([Row(row.ids, 0)], [images[row.image]])[0] for row in rows]
    for side in ("right", "left"):
        adapter.padding_side = side
        for order in orders:
            together = adapter.logits([rows[i] for i in order], images)
            for place, i in enumerate(order):
                one, other = (
                    contract.letter_probabilities(adapter, prompts[i], x) for x in (alone[i], together[place])
                )
                yield (one - other).abs().max().item(), int(one.argmax()) == int(other.argmax())
    adapter.padding_side = "right"


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_m06_mixed_batches_agree_with_single_rows(every, attention):
    if attention not in (before := every.model.config._attn_implementation, "eager"):
        pytest.skip(f"this family has no {attention}; it is opened with {before}")
    try:
        every.model.set_attn_implementation(attention)
        found = list(differences(every, ORDERS if attention == before else ORDERS[1:]))
    finally:
        every.model.set_attn_implementation(before)
    assert len(found) >= 2 * len(SIZES)
    assert max(difference for difference, _ in found) <= 1e-4
    assert all(same for _, same in found)


def test_m06_in_float64_nothing_but_the_last_digits_of_float32_are_left(every):
    try:
        every.model.double()
        found = list(differences(every, ORDERS[1:]))
    finally:
        every.model.float()
    assert max(difference for difference, _ in found) <= 1e-6
    assert all(same for _, same in found)
