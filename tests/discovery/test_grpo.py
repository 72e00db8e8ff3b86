"""Reinforcement learning on tiny models: what is learned, skipped, stopped, refused and gone on with."""

import logging
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoConfig, AutoModelForImageTextToText, AutoProcessor
from trl import GRPOTrainer

from vlmdx.discovery import reinforce as module
from vlmdx.discovery.callbacks import NoSignal
from vlmdx.discovery.grpo import QuestionerTrainer
from vlmdx.discovery.log import read_log
from vlmdx.discovery.plan import check_batch, plan
from vlmdx.discovery.reinforce import reinforce
from vlmdx.discovery.rollouts import Recorder, read_parts
from vlmdx.discovery.sample import banned_ids
from vlmdx.models.load import load

from tests.discovery.training import FIXED, POLICY, panel, pictures, small
from tests.models import tiny, tiny_families

IMAGES = 6


def train(folder, settings, judges=None, adapter=None, shown=None, first=0):
    """One run; returns the trained model and its rows."""
    shown = shown or pictures(IMAGES)
    prompts = check_batch(settings.batch_size, settings.accumulation, settings.generations, len(shown))
    steps = plan([p.image_id for p in shown], prompts, settings.questions_per_image, settings.steps + first, 0)
    recorder = Recorder(Path(folder) / "rollouts", FIXED)
    adapter = adapter or POLICY.open()
    judges = judges or panel()
    model = reinforce(adapter, judges, shown, steps[first:], settings, recorder, Path(folder), 0, first)
    return model, read_parts(Path(folder) / "rollouts").to_pylist()


def weights(model):
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def same(first, second):
    return all(torch.equal(first[name], second[name]) for name in first)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """Four steps without a break: folder, weights, rows."""
    folder = tmp_path_factory.mktemp("unbroken")
    model, rows = train(folder, small())
    return folder, weights(model), rows


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


def test_a_stored_seed_draws_the_stored_question_again(unbroken):
    from vlmdx.discovery.sample import ask

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
    from vlmdx.discovery.rollouts import recompute

    from tests.discovery.training import embed

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


def test_the_passes_give_what_trl_gives_from_its_own_inputs():
    """Log-probabilities from the adapter's inputs equal those of the processor's, as TRL would make them."""
    adapter = POLICY.open()
    shown = pictures(2)
    trainer = build(adapter, shown, small(steps=1))
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


def build(adapter, shown, settings, judges=None, folder=None):
    """A trainer that is ready to generate."""
    import tempfile

    from vlmdx.discovery.callbacks import Watch
    from vlmdx.discovery.log import Log
    from vlmdx.discovery.weights import lora

    folder = Path(folder or tempfile.mkdtemp())
    prompts = settings.questions // settings.generations
    steps = plan([p.image_id for p in shown], prompts, settings.questions_per_image, settings.steps, 0)
    return QuestionerTrainer(
        adapter=adapter,
        panel=judges or panel(),
        pictures=shown,
        plan=steps,
        settings=settings,
        recorder=Recorder(folder / "rollouts", FIXED),
        args=module._arguments(adapter, settings, settings.steps, folder, 0),
        watch=Watch(Log(folder / "log.csv"), settings.generations, settings.patience),
        first=0,
        seed=0,
        done=[],
        peft=lora(adapter, settings.lora_rank) if settings.lora_rank else None,
    )


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
    watch = module.Watch.on_step_end
    module.Watch.on_step_end = lambda self, *args, **kwargs: note(self.trainer)
    try:
        train(tmp_path, small(steps=3), judges)
    finally:
        module.Watch.on_step_end = watch
    assert not same(before, taught[0])
    assert same(taught[0], taught[1])
    assert same(taught[0], taught[2])


def test_g01_the_run_stops_after_patience_steps_without_spread(tmp_path):
    with pytest.raises(NoSignal, match=r"stopped at step 2: for 2 steps in a row .* 0% of the questions were valid"):
        train(tmp_path, small(steps=4, patience=2), panel(valid=lambda text: False))
    assert len(read_log(tmp_path / "log.csv")) == 2


def test_g01_groups_without_spread_do_not_dilute_those_with():
    """The policy term of one live group is the same whether or not a dead group stands beside it."""
    adapter = POLICY.open()
    shown = pictures(2)
    trainer = build(adapter, shown, small(steps=1))
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


def test_undecided_questions_have_no_part_in_any_advantage():
    trainer = build(POLICY.open(), pictures(2), small(steps=1))
    trainer.panel = panel(valid=lambda text: None if len(text) % 2 else len(text) % 4 == 0, correct=lambda text: False)
    batch = trainer._generate_and_score_completions([{"step": 0, "place": i // 4} for i in range(8)])
    advantages = batch["advantages"].tolist()
    assert {row["valid"] for row in trainer.rows} >= {None, False}
    for group in (slice(0, 4), slice(4, 8)):
        decided = [(r["reward"], a) for r, a in zip(trainer.rows[group], advantages[group], strict=True)]
        known = [(r, a) for (r, a), row in zip(decided, trainer.rows[group], strict=True) if row["valid"] is not None]
        assert all(a == 0 for (_, a), row in zip(decided, trainer.rows[group], strict=True) if row["valid"] is None)
        assert sum(a for _, a in known) == pytest.approx(0, abs=1e-4)


# ---- G02 ------------------------------------------------------------------------------------------------------------


def test_g02_the_trainers_reward_takes_every_shape_of_completion():
    trainer = build(POLICY.open(), pictures(2), small(steps=1))
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


# ---- G06 ------------------------------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from vlmdx.discovery.callbacks import Watch
from tests.discovery.test_grpo import small, torch, train

torch.set_num_threads(1)

def die(self, args, state, control, **kwargs):
    if state.global_step == 3:
        os.kill(os.getpid(), signal.SIGKILL)

Watch.on_step_end = die
train(sys.argv[1], small())
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A run that was killed with SIGKILL at the end of step 3, after its rollouts and before a checkpoint."""
    folder = tmp_path_factory.mktemp("killed")
    done = subprocess.run([sys.executable, "-c", KILLED, folder], capture_output=True, text=True, timeout=300)
    assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]
    assert sorted(path.name for path in (folder / "checkpoints").iterdir()) == ["checkpoint-2"]
    assert (folder / "rollouts" / "step-00003.parquet").exists()
    return folder


def test_g06_a_killed_run_goes_on_as_if_it_had_not_been(killed, unbroken, tmp_path):
    _, expected, rows = unbroken
    folder = shutil.copytree(killed, tmp_path / "run")
    model, again = train(folder, small())
    assert again == rows
    assert same(expected, weights(model))
    assert lines_but_seconds(folder) == lines_but_seconds(unbroken[0])


def test_g06_rollouts_after_the_checkpoint_are_made_again(killed, unbroken, tmp_path):
    folder = shutil.copytree(killed, tmp_path / "run")
    stale = folder / "rollouts" / "step-00003.parquet"
    shutil.copy(folder / "rollouts" / "step-00001.parquet", stale)  # its rows would break the memory
    assert train(folder, small())[1] == unbroken[2]


def test_g06_a_half_written_checkpoint_is_skipped(unbroken, tmp_path, caplog):
    folder = shutil.copytree(unbroken[0], tmp_path / "run")
    (folder / "checkpoints" / "checkpoint-4" / "trainer_state.json").unlink()
    with caplog.at_level(logging.WARNING):
        model, rows = train(folder, small())
    assert "checkpoint-4 is not whole" in caplog.text
    assert "going on after step 2" in caplog.text
    assert rows == unbroken[2]
    assert same(unbroken[1], weights(model))


def test_g06_a_finished_run_that_lost_its_export_trains_nothing_more(unbroken, tmp_path):
    folder = shutil.copytree(unbroken[0], tmp_path / "run")
    model, rows = train(folder, small())
    assert rows == unbroken[2]
    assert same(unbroken[1], weights(model))


def test_g06_lora_goes_on_as_if_unbroken(random_policy, tmp_path):
    settings = small(lora_rank=2, max_tokens=3, temperature=1.0)
    model, rows = train(tmp_path, settings, adapter=opened(random_policy))
    expected = weights(model)
    (tmp_path / "checkpoints" / "checkpoint-4" / "optimizer.pt").write_bytes(b"half")
    again, same_rows = train(tmp_path, settings, adapter=opened(random_policy))
    assert same_rows == rows
    assert same(expected, weights(again))


def lines_but_seconds(folder):
    return [{name: line[name] for name in line if name != "seconds"} for line in read_log(folder / "log.csv")]


# ---- G07 ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["qwen", "smolvlm"])
def random_policy(request, tmp_path_factory):
    """Folder of a tiny random Qwen2.5-VL (with the demo's small vocabulary) or SmolVLM."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "smolvlm":
        return tiny_families.build("smolvlm", folder)
    torch.manual_seed(0)
    config = AutoConfig.from_pretrained(POLICY.source)
    config.text_config.initializer_range = config.vision_config.initializer_range = 0.2
    AutoModelForImageTextToText.from_config(config).save_pretrained(folder)
    AutoProcessor.from_pretrained(POLICY.source).save_pretrained(folder)
    return folder


def opened(folder):
    return load(str(folder), device="cpu")


@pytest.mark.parametrize("rank", [None, 2], ids=["all weights", "LoRA"])
def test_g07_pixels_reach_policy_and_reference_in_every_pass(random_policy, tmp_path, rank, monkeypatch):
    adapter = opened(random_policy)
    seen = []
    features = type(adapter.model).get_image_features

    def note(model, *args, **kwargs):
        seen.append((id(model), tuple(kwargs["pixel_values"].shape)))
        return features(model, *args, **kwargs)

    monkeypatch.setattr(type(adapter.model), "get_image_features", note)
    settings = small(steps=1, beta=0.1, lora_rank=rank, max_tokens=3, temperature=1.0)
    model, rows = train(tmp_path, settings, adapter=adapter)
    assert len(rows) == settings.questions
    passes = 1 + 2 + 2 * 2 + 2 * 2 + 2  # sampling; reference; proof of policy and of reference; loss, in micro-batches
    assert len(seen) == passes
    assert len({who for who, _ in seen}) == (2 if rank is None else 1)
    assert read_log(tmp_path / "log.csv")[0]["kl"] != ""


def test_g07_logprobs_change_when_the_image_changes(random_policy):
    adapter = opened(random_policy)
    shown = pictures(2)
    trainer = build(adapter, shown, small(steps=1, max_tokens=3, temperature=1.0))
    batch = trainer._generate_and_score_completions([{"step": 0, "place": i // 4} for i in range(8)])
    ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
    mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)
    keep = batch["completion_ids"].shape[1]
    swapped = {"demo:0": shown[1].image, "demo:1": shown[0].image}
    seen, other = (
        trainer._get_per_token_logps_and_entropies(trainer.model, ids, mask, keep, images=images)[0]
        for images in (None, swapped)
    )
    assert ((seen - other).abs().amax(1) > 1e-4).all()


def test_g07_a_policy_that_does_not_see_is_refused(random_policy, tmp_path):
    adapter = opened(random_policy)
    sees = adapter.vision_inputs
    blank = tiny.picture(140, 140)
    object.__setattr__(adapter, "vision_inputs", lambda images, which: sees([blank] * len(images), which))
    # The trainer's passes go through copies of the adapter, which do not copy this; so blind the class as well.
    cls = type(adapter)
    original = cls.vision_inputs
    cls.vision_inputs = lambda self, images, which: original(self, [blank] * len(images), which)
    try:
        with pytest.raises(ValueError, match="the policy's log-probabilities are the same for an image and its negative"):
            train(tmp_path, small(steps=1, max_tokens=3, temperature=1.0), adapter=adapter)
    finally:
        cls.vision_inputs = original


@pytest.mark.parametrize("nothing", [None, [], b""], ids=["None", "empty list", "no bytes"])
def test_g07_a_row_without_an_image_is_refused_by_its_id(nothing):
    from vlmdx.discovery.pictures import check_pictures

    shown = pictures(3)
    shown[1] = replace(shown[1], png=nothing)
    with pytest.raises(ValueError, match=r"1 of 3 rows have no image \(first: \['demo:1'\]\)"):
        check_pictures(shown)


# ---- settings -------------------------------------------------------------------------------------------------------


def test_lora_trains_its_own_weights_alone(random_policy, tmp_path):
    before = {name: t.clone() for name, t in opened(random_policy).model.state_dict().items()}
    model, _ = train(
        tmp_path, small(steps=4, lora_rank=2, max_tokens=3, temperature=1.0), adapter=opened(random_policy)
    )
    learned = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert learned
    assert all("lora_" in name for name in learned)
    merged = model.merge_and_unload().state_dict()
    moved = {name for name in before if not torch.equal(before[name], merged[name])}
    assert moved
    assert not any("visual" in name or "vision" in name for name in moved)


def test_full_weights_in_half_precision_are_refused():
    adapter = load(POLICY.source, device="cpu", dtype="bfloat16")
    with pytest.raises(ValueError, match="loaded as torch.bfloat16, in which most updates .* set `lora_rank`"):
        module.full_weights(adapter)


def test_kl_holds_the_policy_back(tmp_path):
    before = weights(POLICY.open().model)
    moved = []
    for beta in (0.0, 50.0):
        model, _ = train(tmp_path / str(beta), small(steps=3, beta=beta))
        after = weights(model)
        moved.append(sum(float((after[name] - before[name]).abs().sum()) for name in before))
    assert read_log(tmp_path / "50.0" / "log.csv")[1]["kl"] != ""
    assert moved[0] != moved[1]


def test_a_loss_that_is_no_number_stops_the_run_before_it_reaches_the_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(GRPOTrainer, "_compute_loss", lambda *args: torch.tensor(float("nan"), requires_grad=True))
    adapter = POLICY.open()
    before = weights(adapter.model)
    with pytest.raises(FloatingPointError, match="the loss of step 1 is nan; the weights are as after step 0"):
        train(tmp_path, small(steps=1), adapter=adapter)
    assert same(before, weights(adapter.model))
