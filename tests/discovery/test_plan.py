"""The arithmetic of a batch, checked before any model is loaded, and the order of images and turns."""

import pytest
from vlmdx.discovery.finetune import FinetuneSettings
from vlmdx.discovery.job import METHODS
from vlmdx.discovery.methods import check_steps, rounds, train_questioner
from vlmdx.discovery.plan import check_batch, plan
from vlmdx.discovery.settings import check_vllm

from tests.discovery.training import job, panel, pictures, small

IDS = [f"image {n}" for n in range(7)]


@pytest.mark.parametrize(
    ("batch_size", "accumulation", "generations", "images", "words"),
    [
        (1, 1, 8, 100, "1 x 1 = 1 questions per step cannot be cut into groups of generations = 8.*multiple of 8"),
        (8, 2, 4, 3, r"4 prompts per step .* need as many different images, but there are 3; give generations one of "),
        (8, 1, 1, 100, r"1 question per prompt leaves nothing to compare it with; give 2 or more .*\[2, 4, 8\]"),
        (0, 1, 4, 100, "batch_size: 0 is not possible"),
        (6, 1, 4, 100, r"give generations one of \[2, 3, 6\]"),
    ],
)
def test_g03_numbers_that_do_not_fit_are_refused_with_those_that_do(
    batch_size, accumulation, generations, images, words
):
    with pytest.raises(ValueError, match=words):
        check_batch(batch_size, accumulation, generations, images)


def test_g03_values_named_as_fitting_do_fit():
    with pytest.raises(ValueError, match="give generations one of") as raised:
        check_batch(8, 2, 5, 3)
    named = eval(str(raised.value).split("one of ")[1].split("]")[0] + "]")
    assert named == [8, 16]
    assert [check_batch(8, 2, n, 3) for n in named] == [2, 1]


def test_g03_a_small_set_trains_on_as_many_prompts_as_it_has_images():
    assert check_batch(batch_size=4, accumulation=3, generations=4, images=3) == 3


def test_g03_refused_before_a_model_is_looked_for(tmp_path):
    class Nowhere:
        def open(self, checkpoint=None):
            raise AssertionError("a model was loaded")

    for wrong in (small(generations=1), small(generations=3), small(use_vllm=True)):
        with pytest.raises(ValueError, match=r"generations|vllm"):
            train_questioner(job(tmp_path), Nowhere(), panel(), pictures(4), wrong, FinetuneSettings())


def test_vllm_that_is_not_installed_is_refused(monkeypatch):
    monkeypatch.setattr("vlmdx.discovery.settings.find_spec", lambda name: None)
    with pytest.raises(ValueError, match="vllm is not installed here; install it or set use_vllm: false"):
        check_vllm(small(use_vllm=True))
    check_vllm(small(use_vllm=False))


def test_the_same_images_get_all_their_turns_in_a_row():
    steps = plan(IDS, prompts=2, turns=3, steps=12, seed=0)
    for block in range(4):
        three = steps[3 * block : 3 * block + 3]
        assert [{place.turn for place in step} for step in three] == [{0}, {1}, {2}]
        assert len({tuple(place.image for place in step) for step in three}) == 1


def test_no_image_comes_twice_in_a_step_or_a_round_and_each_round_has_its_own_order():
    steps = plan(IDS, prompts=3, turns=1, steps=4, seed=0)
    first, second = ([place.image for step in steps[i : i + 2] for place in step] for i in (0, 2))
    assert len(set(first)) == len(set(second)) == 6
    assert first != second


def test_a_plan_is_a_function_of_seed_and_ids_and_a_shorter_one_is_its_beginning():
    assert plan(IDS, 2, 3, 12, 0) == plan(IDS, 2, 3, 12, 0)
    assert plan(IDS, 2, 3, 5, 0) == plan(IDS, 2, 3, 12, 0)[:5]
    assert plan(IDS, 2, 3, 12, 0) != plan(IDS, 2, 3, 12, 1)
    turned = IDS[::-1]
    shown = [[[ids[p.image] for p in step] for step in plan(ids, 2, 3, 12, 0)] for ids in (IDS, turned)]
    assert shown[0] == shown[1]


@pytest.mark.parametrize("method", METHODS)
def test_every_step_is_spent_once(method):
    cuts = rounds(method, 10, 4)
    assert cuts == sorted(cuts)
    assert cuts[-1] == {"rl": 0, "sft-rl": 5}.get(method, 10)
    assert len(set(cuts)) == {"expert-iteration": 4}.get(method, len(set(cuts)))


def test_too_few_steps_for_the_rounds_are_refused():
    with pytest.raises(ValueError, match="steps: 3 is too few for expert-iteration; give 4 or more"):
        check_steps("expert-iteration", small(steps=3), FinetuneSettings(rounds=4))
    check_steps("expert-iteration", small(steps=4), FinetuneSettings(rounds=4))
