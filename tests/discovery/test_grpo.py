"""Reinforcement learning on the demo model: what is learned from, skipped, stored, and what stops it."""

import logging
from dataclasses import replace

import pytest
import torch
from trl import GRPOTrainer
from vlmdx.discovery.callbacks import NoSignal, Watch
from vlmdx.discovery.log import read_log
from vlmdx.discovery.rollouts import read_parts, recompute
from vlmdx.discovery.sample import ask, banned_ids

from tests.discovery.training import IMAGES, POLICY, build, embed, panel, pictures, same, small, train, weights


def test_a_run_changes_the_language_model_and_leaves_the_vision_tower(unbroken):
    _, after, _ = unbroken
    before = POLICY.open().model.state_dict()
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert moved
    assert not any(name.startswith("model.visual.") for name in moved)
    assert all(torch.isfinite(tensor).all() for tensor in after.values())


def test_every_question_of_every_step_is_stored_with_what_the_prompt_showed(unbroken):
    folder, _, rows = unbroken
    assert len(rows) == 4 * small().questions
    assert [path.name for path in sorted((folder / "rollouts").iterdir())] == [
        f"step-{n:05d}.parquet" for n in range(1, 5)
    ]
    chains = {(r["step"], r["image_id"]): r["question"] for r in rows if r["sample"] == 0}
    for row in rows:
        assert row["turn"] == (row["step"] - 1) % 2
        earlier = chains[row["step"] - 1, row["image_id"]] if row["turn"] else None
        assert ("Not again:" in row["prompt"]) == bool(earlier)
        assert earlier is None or earlier in row["prompt"]


def test_a_planted_weakness_is_found(tmp_path):
    """Of questions of two words or more, those that hold "red" fail: first validity is learned, then the word."""
    settings = small(steps=26, batch_size=16, accumulation=1, generations=8, temperature=2.0, max_tokens=5)
    judges = panel(valid=lambda text: True, correct=lambda text: "red" not in text, diversity=False)
    train(tmp_path, replace(settings, save_every=100), judges)
    lines = read_log(tmp_path / "log.csv")
    failed = [float(line["failed"]) for line in lines]
    assert sum(failed[:3]) / 3 < 0.2
    assert sum(failed[-3:]) / 3 > 0.7
    assert sum(float(line["valid"]) for line in lines[-3:]) / 3 > 0.9


def test_a_stored_seed_draws_the_stored_question_again(unbroken):
    _, _, rows = unbroken
    first = [row for row in rows if row["step"] == 1]
    shown = {picture.image_id: picture.image for picture in pictures(IMAGES)}
    made = ask(
        POLICY.open(),
        [row["prompt"] for row in first],
        [shown[row["image_id"]] for row in first],
        [row["sample_seed"] for row in first],
        small().temperature,
        small().max_tokens,
        batch_size=3,
    )
    assert [said.text for said in made] == [row["question"] for row in first]
    assert [said.logprob for said in made] == pytest.approx([row["question_logprob"] for row in first], abs=1e-3)


def test_rewards_computed_anew_equal_those_of_the_run(unbroken):
    folder, _, rows = unbroken
    assert recompute(read_parts(folder / "rollouts"), panel().reward, embed).to_pylist() == rows


def test_the_log_has_a_line_per_step_that_agrees_with_the_rows(unbroken):
    folder, _, rows = unbroken
    lines = read_log(folder / "log.csv")
    assert [int(line["step"]) for line in lines] == [1, 2, 3, 4]
    for line in lines:
        mine = [row for row in rows if row["step"] == int(line["step"])]
        assert float(line["reward"]) == pytest.approx(sum(r["reward"] for r in mine) / len(mine), abs=1e-5)
        assert float(line["clipped"]) == pytest.approx(sum(not r["finished"] for r in mine) / len(mine), abs=1e-5)
        assert float(line["valid"]) == pytest.approx(sum(r["valid"] for r in mine) / len(mine), abs=1e-5)
        assert float(line["entropy"]) > 0
        assert line["kl"] == ""
    assert float(lines[0]["learning_rate"]) > float(lines[-1]["learning_rate"]) > 0


def test_the_passes_give_what_trl_gives_from_its_own_inputs(tmp_path):
    """Log-probabilities from the adapter's inputs equal those of the processor's, as TRL would make them."""
    adapter = POLICY.open()
    shown = pictures(2)
    trainer = build(adapter, shown, small(steps=1), tmp_path)
    batch = trainer._generate_and_score_completions([{"step": 0, "place": i // 4} for i in range(8)])
    ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
    mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)
    keep = batch["completion_ids"].shape[1]
    ours, entropies, _ = trainer._get_per_token_logps_and_entropies(trainer.model, ids, mask, keep, 3)
    texts = [adapter.render(slot.prompt) for slot in trainer._slots]
    images = [[slot.picture.image] for slot in trainer._slots]
    made = adapter.processor(text=texts, images=images, padding=True, padding_side="left", return_tensors="pt")
    assert torch.equal(made["input_ids"], batch["prompt_ids"])
    theirs, other, _ = GRPOTrainer._get_per_token_logps_and_entropies(
        trainer,
        trainer.model,
        ids,
        mask,
        keep,
        3,
        compute_entropy=True,
        pixel_values=made["pixel_values"],
        image_grid_thw=made["image_grid_thw"],
        num_images=[1] * 8,
        mm_token_type_ids=(ids == adapter.image_token_id).int(),
    )
    real = batch["completion_mask"].bool()
    assert torch.allclose(ours[real], theirs[real], atol=2e-5)
    assert torch.allclose(entropies[real], other[real], atol=2e-5)
    assert not ours[~real].any()


# ---- G01 ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("valid", "correct"), [(False, False), (True, True)], ids=["verifier says 0", "verifier says 1"]
)
def test_g01_rewards_without_spread_leave_the_weights_alone_and_are_warned_about(tmp_path, caplog, valid, correct):
    before = weights(POLICY.open().model)
    judges = panel(valid=lambda text: valid, correct=lambda text: correct)
    # Questions of one word are screened out as invalid, which would be spread.
    judges = replace(judges, reward=replace(judges.reward, penalty=0.0)) if valid else judges
    with caplog.at_level(logging.WARNING):
        model, rows = train(tmp_path, small(steps=3), judges)
    assert same(before, weights(model))
    assert len({row["reward"] for row in rows}) == 1
    assert "2 of 2 groups have no spread in their rewards and are skipped (6 groups since the start)" in caplog.text
    lines = read_log(tmp_path / "log.csv")
    assert [line["zero_spread"] for line in lines] == ["1"] * 3
    assert all(float(line["loss"]) == 0 for line in lines)


def test_g01_a_step_without_spread_does_not_move_the_weights_by_adams_memory(tmp_path):
    """After a step that taught something, a step of equal rewards leaves the weights as they are."""
    calls = []

    class Turning(type(panel().verifier)):
        def validity(self, questions):
            calls.append(len(questions))
            self.valid = (lambda text: len(text) % 3 > 0) if len(calls) == 1 else (lambda text: False)
            return super().validity(questions)

    taught = []

    def note(trainer, *args, **kwargs):
        taught.append(weights(trainer.model))

    judges = replace(panel(), verifier=Turning(None, lambda text: len(text) % 2 == 0))
    before = weights(POLICY.open().model)
    watch = Watch.on_step_end
    Watch.on_step_end = lambda self, *args, **kwargs: note(self.trainer)
    try:
        train(tmp_path, small(steps=3), judges)
    finally:
        Watch.on_step_end = watch
    assert not same(before, taught[0])
    assert same(taught[0], taught[1])
    assert same(taught[0], taught[2])


def test_g01_the_run_stops_after_patience_steps_without_spread(tmp_path):
    with pytest.raises(NoSignal, match=r"stopped at step 2: for 2 steps in a row .* 0% of the questions were valid"):
        train(tmp_path, small(steps=4, patience=2), panel(valid=lambda text: False))
    assert len(read_log(tmp_path / "log.csv")) == 2


def test_g01_groups_without_spread_do_not_dilute_those_with(tmp_path):
    """The policy term of one live group is the same whether or not a dead group stands beside it."""
    adapter = POLICY.open()
    shown = pictures(2)
    trainer = build(adapter, shown, small(steps=1), tmp_path)
    spread = {"demo:0": 0, "demo:1": 0}

    class OneImage(type(panel().verifier)):
        def validity(self, questions):
            return [
                replace(v, valid=False) if q.image_id == "demo:1" else v
                for q, v in zip(questions, super().validity(questions), strict=True)
            ]

    trainer.panel = replace(panel(), verifier=OneImage(lambda text: len(text) % 3 > 0, lambda text: len(text) % 2 == 0))
    batch = trainer._generate_and_score_completions([{"step": 0, "place": i // 4} for i in range(8)])
    for row, advantage in zip(trainer.rows, batch["advantages"].tolist(), strict=True):
        spread[row["image_id"]] += abs(advantage)
    assert spread["demo:1"] == 0 < spread["demo:0"]
    alone = batch["completion_mask"][[row["image_id"] == "demo:0" for row in trainer.rows]].sum()
    rewards = torch.tensor([row["reward"] for row in trainer.rows if row["image_id"] == "demo:0"])
    plainly = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
    mine = batch["advantages"][[row["image_id"] == "demo:0" for row in trainer.rows]]
    assert torch.allclose(mine / batch["num_items_in_batch"], plainly / alone, atol=1e-4)


# ---- verdicts that are missing --------------------------------------------------------------------------------------


def test_undecided_questions_have_no_part_in_any_advantage(tmp_path):
    trainer = build(POLICY.open(), pictures(2), small(steps=1), tmp_path)
    trainer.panel = panel(valid=lambda text: None if len(text) % 2 else len(text) % 4 == 0, correct=lambda text: False)
    batch = trainer._generate_and_score_completions([{"step": 0, "place": i // 4} for i in range(8)])
    advantages = batch["advantages"].tolist()
    assert {row["valid"] for row in trainer.rows} >= {None, False}
    for group in (slice(0, 4), slice(4, 8)):
        decided = [(r["reward"], a) for r, a in zip(trainer.rows[group], advantages[group], strict=True)]
        known = [(r, a) for (r, a), row in zip(decided, trainer.rows[group], strict=True) if row["valid"] is not None]
        assert all(a == 0 for (_, a), row in zip(decided, trainer.rows[group], strict=True) if row["valid"] is None)
        assert sum(a for _, a in known) == pytest.approx(0, abs=1e-4)


def test_questions_that_another_sampler_drew_are_graded_without_a_seed(tmp_path):
    """The path of vLLM, with TRL's own generation in its place: no log-probability, no seed, the rest as ever."""
    trainer = build(POLICY.open(), pictures(2), small(steps=1), tmp_path)
    trainer.rollout_func = None
    trainer.settings = replace(trainer.settings, use_vllm=True)
    batch = trainer._generate_and_score_completions([{"step": 0, "place": i // 4} for i in range(8)])
    for row, ids, mask in zip(trainer.rows, batch["completion_ids"], batch["completion_mask"], strict=True):
        said = ids[mask.bool()].tolist()
        assert row["sample_seed"] == -1
        assert row["question_logprob"] is None
        assert row["question_tokens"] == len(said)
        assert row["finished"] == (said[-1] == 0)
        assert row["question"] == trainer.adapter.processor.tokenizer.decode(said, skip_special_tokens=True).strip()


# ---- G02 ------------------------------------------------------------------------------------------------------------


def test_g02_the_trainers_reward_takes_every_shape_of_completion(tmp_path):
    trainer = build(POLICY.open(), pictures(2), small(steps=1), tmp_path)
    trainer._slots = trainer.slots([{"step": 0, "place": i // 4} for i in range(8)])
    seen = []
    trainer.panel = replace(panel(), verifier=Listening(seen))
    trainer.recorder = Nowhere()
    question = "is this one red"
    shapes = [
        question,
        [{"role": "assistant", "content": question}],
        [{"role": "assistant", "content": [{"type": "text", "text": question}]}],
        {"role": "assistant", "content": question},
        "",
        [{"role": "assistant", "content": ""}],
        [{"role": "user", "content": question}],
        [{"role": "assistant", "content": None}],
    ]
    given = trainer.reward(
        completions=shapes,
        slot=trainer._slots,
        completion_ids=[[9, 0]] * 8,
        prompts=[[]] * 8,
        trainer_state=object(),
        log_extra=print,
    )
    assert [row["question"] for row in trainer.rows] == [question] * 4 + [""] * 4
    assert given[4:] == [-0.5] * 4
    assert all(isinstance(value, float) and value >= 0 for value in given[:4])
    assert all(row["finished"] and row["question_tokens"] == 2 for row in trainer.rows)
    assert seen == [question] * 4


class Listening(type(panel().verifier)):
    def __init__(self, seen):
        super().__init__(lambda text: True, lambda text: False)
        self.seen = seen

    def validity(self, questions):
        self.seen += [question.text for question in questions]
        return super().validity(questions)


class Nowhere:
    def write(self, step, rows):
        pass


# ---- G04, G05 -------------------------------------------------------------------------------------------------------


def test_g04_a_bias_for_image_tokens_neither_crashes_a_run_nor_shows_in_a_question(tmp_path):
    adapter = POLICY.open()
    adapter.model.generation_config.sequence_bias = [[[adapter.image_token_id], 1000.0]]
    _, rows = train(tmp_path, small(steps=2), adapter=adapter)
    assert all("image_pad" not in row["question"] for row in rows)
    assert sum(row["question_tokens"] for row in rows) > len(rows)


def test_g05_a_run_of_cut_off_questions_that_are_masked_has_loss_0_and_no_nan(tmp_path, monkeypatch):
    before = weights(POLICY.open().model)
    monkeypatch.setattr("vlmdx.discovery.sample.banned_ids", lambda adapter: [*banned_ids(adapter), *adapter_ends])
    adapter_ends = [POLICY.open().processor.tokenizer.eos_token_id]  # no question ever ends
    model, rows = train(tmp_path, small(steps=2, max_tokens=4, mask_truncated=True))
    assert not any(row["finished"] for row in rows)
    lines = read_log(tmp_path / "log.csv")
    assert [float(line["clipped"]) for line in lines] == [1.0, 1.0]
    assert all(float(line["zero_spread"]) < 1 for line in lines)  # there was something to learn, had it not been masked
    assert all(float(line["loss"]) == 0 and float(line["grad_norm"]) == 0 for line in lines)
    assert same(before, weights(model))


# ---- settings -------------------------------------------------------------------------------------------------------


def test_a_loss_that_is_no_number_stops_the_run_before_it_reaches_the_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(GRPOTrainer, "_compute_loss", lambda *args: torch.tensor(float("nan"), requires_grad=True))
    adapter = POLICY.open()
    before = weights(adapter.model)
    with pytest.raises(FloatingPointError, match="the loss of step 1 is nan; the weights are as after step 0"):
        train(tmp_path, small(steps=1), adapter=adapter)
    assert same(before, weights(adapter.model))
