"""The six methods: what each asks, learns and leaves, at the same number of questions."""

from dataclasses import replace

import pytest
import torch
from vlmdx.discovery import methods as module
from vlmdx.discovery.finetune import Example, FinetuneSettings, finetune, keep_failed
from vlmdx.discovery.job import METHODS, UNTRAINED
from vlmdx.discovery.memory import failed
from vlmdx.discovery.methods import ask_held_out, train_questioner
from vlmdx.discovery.sample import ask
from vlmdx.discovery.sequence import with_mistakes
from vlmdx.models.load import load

from tests.discovery.training import POLICY, embed, job, panel, pictures, same, small, weights

TUNING = FinetuneSettings(epochs=1, learning_rate=1e-3, batch_size=4, rounds=2)
CONME = "Ask one short question.\n\nIt failed on:\n{mistakes}\n\nNot again:\n{earlier}\n"


@pytest.fixture(scope="module")
def shown():
    return pictures(6)


@pytest.fixture(scope="module")
def finished(tmp_path_factory, shown):
    """Every method trained on four images and asked about two others: method -> (job, training, held-out rows)."""
    root, made = tmp_path_factory.mktemp("methods"), {}
    for method in METHODS:
        one = job(root / method, method)
        trained = train_questioner(one, POLICY, panel(), shown[:4], small(), TUNING)
        rows = trained.to_pylist()
        mistakes = [row["question"] for row in rows if failed(row)]
        asked = ask_held_out(one, POLICY, panel(), shown[4:], small(), CONME, mistakes)
        made[method] = one, rows, asked.to_pylist()
    return made


@pytest.mark.parametrize("method", METHODS)
def test_each_method_spends_the_same_budget(finished, method):
    _, trained, asked = finished[method]
    assert len(trained) == (0 if method == "zero-shot" else small().steps * small().questions)
    assert len(asked) == 2 * small().questions_per_image
    assert {row["method"] for row in trained + asked} == {method}
    assert {row["phase"] for row in asked} == {"held-out"}
    keys = [(row["step"], row["image_id"], row["turn"], row["sample"]) for row in trained]
    assert len(set(keys)) == len(keys)


def test_all_methods_ask_about_the_same_images_turns_and_seeds(finished):
    def places(rows):
        return {(r["step"], r["image_id"], r["turn"], r["sample"], r["sample_seed"]) for r in rows}

    trained = [places(finished[method][1]) for method in METHODS if method != "zero-shot"]
    assert all(other == trained[0] for other in trained)
    asked = [places(finished[method][2]) for method in METHODS]
    assert all(other == asked[0] for other in asked)


def test_before_anything_is_learned_all_methods_ask_the_same(finished):
    asking = [method for method in METHODS if method != "zero-shot"]
    first = [[row["question"] for row in finished[method][1] if row["step"] == 1] for method in asking]
    assert all(other == first[0] for other in first)


@pytest.mark.parametrize("method", METHODS)
def test_a_trained_policy_is_left_as_a_folder_that_opens(finished, method):
    one = finished[method][0]
    assert one.checkpoint.exists() == (method not in UNTRAINED)
    if method in UNTRAINED:
        return
    after, before = weights(load(str(one.checkpoint), device="cpu").model), weights(POLICY.open().model)
    assert not same(before, after)
    assert not list(one.folder.glob(".checkpoint*"))


def test_conme_shows_mistakes_of_training_and_nobody_else_does(finished):
    _, trained, asked = finished["conme"]
    mistakes = {row["question"] for row in trained if row["valid"] and row["correct"] is False}
    assert mistakes
    for row in asked:
        listed = row["prompt"].split("It failed on:\n")[1].split("\n\n")[0].splitlines()
        assert len(listed) == min(5, len(mistakes))
        assert set(listed) <= {" ".join(mistake.split()) for mistake in mistakes}
    assert all("failed on" not in row["prompt"] for method in set(METHODS) - {"conme"} for row in finished[method][2])


def test_conme_without_a_mistake_to_show_says_so():
    with pytest.raises(ValueError, match="conme: the answerer made no mistake on any of the training questions"):
        with_mistakes(CONME, [], 5, 0)


def test_held_out_sequences_see_their_own_earlier_questions(finished):
    for method in METHODS:
        rows = {(row["image_id"], row["turn"]): row for row in finished[method][2]}
        for (image_id, turn), row in rows.items():
            earlier = [" ".join(rows[image_id, t]["question"].split()) for t in range(turn)]
            assert row["prompt"].partition("Not again:\n")[2].splitlines() == [text for text in earlier if text]


def test_rewards_of_held_out_questions_can_be_computed_anew(finished):
    from vlmdx.discovery.rollouts import recompute

    one, _, rows = finished["rl"]
    table = module.read_parts(one.folder / "asking" / "turn-0")
    again = recompute(table, panel().reward, embed)
    assert again.to_pylist() == [row for row in rows if row["turn"] == 0]


@pytest.mark.parametrize("method", ["expert-iteration", "sft-rl"])
def test_a_killed_job_goes_on_to_the_same_rows_and_weights(finished, shown, tmp_path, method, monkeypatch):
    """Stopped in the second round or in the first steps of reinforcement learning, then called again."""

    class Stopped(Exception):
        pass

    def stop(*args, **kwargs):
        raise Stopped

    one = job(tmp_path, method)
    with monkeypatch.context() as patch:
        if method == "sft-rl":
            patch.setattr(module, "reinforce", stop)
        else:
            real, calls = module.finetune, []
            patch.setattr(module, "finetune", lambda *a, **k: stop() if calls else (calls.append(1), real(*a, **k))[1])
        with pytest.raises(Stopped):
            train_questioner(one, POLICY, panel(), shown[:4], small(), TUNING)
    assert (one.training / "round-1").exists()
    again = train_questioner(one, POLICY, panel(), shown[:4], small(), TUNING)
    done, rows, _ = finished[method]
    assert again.to_pylist() == rows
    first, second = (weights(load(str(j.checkpoint), device="cpu").model) for j in (done, one))
    assert same(first, second)


def test_asking_goes_on_with_the_first_turn_that_is_missing(finished, shown, tmp_path):
    _, _, rows = finished["zero-shot"]
    other = job(tmp_path, "zero-shot")
    first = ask_held_out(other, POLICY, panel(), shown[4:], replace(small(), questions_per_image=1), CONME)
    whole = ask_held_out(other, POLICY, panel(), shown[4:], small(), CONME)
    assert whole.to_pylist()[: first.num_rows] == first.to_pylist()
    assert whole.to_pylist() == rows


def test_a_folder_of_other_settings_is_emptied_and_a_finished_one_left_alone(finished, shown, tmp_path, caplog):
    one = job(tmp_path, "conme", identity="old")
    train_questioner(one, POLICY, panel(), shown[:4], small(steps=1), TUNING)
    part = one.training / "rollouts" / "step-00001.parquet"
    before = part.stat().st_mtime_ns
    train_questioner(one, POLICY, panel(), shown[:4], small(steps=1), TUNING)
    assert part.stat().st_mtime_ns == before
    train_questioner(replace(one, identity="new"), POLICY, panel(), shown[:4], small(steps=1), TUNING)
    assert "was made with other settings; it is removed" in caplog.text
    assert part.stat().st_mtime_ns > before


@pytest.mark.parametrize(("method", "logs"), [("conme", set()), ("sft", {"rounds.csv"}), ("rl", {"log.csv"})])
def test_a_settled_job_keeps_its_logs_alone(shown, tmp_path, method, logs):
    one = job(tmp_path, method)
    train_questioner(one, POLICY, panel(), shown[:4], small(), TUNING)
    one.settle(tmp_path / "history")
    assert {path.name for path in (tmp_path / "history").iterdir()} == logs
    assert not one.training.exists()
    assert one.trained == (method not in UNTRAINED)


def test_a_kill_while_working_files_are_removed_leaves_nothing_to_go_on_from(shown, tmp_path, monkeypatch, caplog):
    one = job(tmp_path, "conme")
    rows = train_questioner(one, POLICY, panel(), shown[:4], small(), TUNING).to_pylist()
    with monkeypatch.context() as patch:
        patch.setattr("vlmdx.discovery.job.shutil.rmtree", lambda folder: None)
        one.settle(tmp_path / "history")
    (one.training / "rollouts" / "step-00001.parquet").unlink()
    assert train_questioner(one, POLICY, panel(), shown[:4], small(), TUNING).to_pylist() == rows
    assert "it is removed" in caplog.text


def test_training_that_is_not_there_is_not_asked(shown, tmp_path):
    with pytest.raises(FileNotFoundError, match="checkpoint: not there; train the questioner first"):
        ask_held_out(job(tmp_path), POLICY, panel(), shown[4:], small(), CONME)


def test_nothing_that_failed_is_nothing_to_learn_from(shown, tmp_path):
    with pytest.raises(ValueError, match="sft, round 1: none of 32 questions was valid and answered wrongly"):
        train_questioner(job(tmp_path, "sft"), POLICY, panel(correct=lambda t: True), shown[:4], small(), TUNING)


# ---- fine-tuning ----------------------------------------------------------------------------------------------------


def test_kept_are_valid_failed_questions_once_each(finished, shown):
    rows = finished["conme"][1]
    kept = keep_failed(rows + rows, shown)
    assert len(kept) == len({(e.picture.image_id, e.prompt, e.question) for e in kept})
    wanted = {row["question"] for row in rows if row["valid"] is True and row["correct"] is False}
    assert {example.question for example in kept} == wanted


def test_fine_tuning_learns_the_question_and_where_it_ends(shown, tmp_path):
    examples = [Example(picture, "Ask.", "Is there a red circle ?") for picture in shown[:4]]
    settings = FinetuneSettings(epochs=15, learning_rate=3e-3, batch_size=4)
    adapter = POLICY.open()
    _, loss = finetune(adapter, examples, settings, None, tmp_path, 0)
    said = ask(adapter, ["Ask."] * 2, [picture.image for picture in shown[:2]], [1, 2], 0.1, 12)
    assert [(s.text, s.finished) for s in said] == [("Is there a red circle ?", True)] * 2
    assert loss > 0


def test_the_same_examples_and_seed_give_the_same_weights(shown, tmp_path):
    examples = [
        Example(picture, "Ask.", f"Is this {word} ?") for picture, word in zip(shown, ["red", "blue"] * 3, strict=True)
    ]
    made = [
        weights(finetune(POLICY.open(), examples, TUNING, rank, tmp_path, seed)[0])
        for rank, seed in ((None, 0), (None, 0), (None, 1), (2, 0), (2, 0))
    ]
    assert same(made[0], made[1])
    assert not same(made[0], made[2])
    assert same(made[3], made[4])
    assert any("lora_B" in name and bool(torch.any(weight)) for name, weight in made[3].items())
