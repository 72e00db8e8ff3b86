"""The endpoint verifier against a local server that misbehaves."""

import base64
import io
import json
import logging
import os

import numpy as np
import pytest
from PIL import Image
from vlmdx.discovery.examine import examine
from vlmdx.discovery.prompted import PromptedVerifier, Reply, VerifierPrompts
from vlmdx.discovery.roles import CRITERIA, Question
from vlmdx.discovery.verify_endpoint import Endpoint, EndpointError, EndpointSettings, endpoint_verifier

from tests.discovery.fakes import FakeAnswerer
from tests.discovery.stub_server import Stub, completion

KEY = "sk-very-secret-0123456789"
PROMPTS = VerifierPrompts("VALID {question}", "OWN {question}", "JUDGE {question} {reference} {answer}")


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    for name in os.environ:
        if name.lower().endswith("_proxy") or name.startswith("OPENAI_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("STUB_KEY", KEY)


def said(**fields):
    return json.dumps({"reason": "because", **fields})


VALID = said(**dict.fromkeys(CRITERIA, True))


def right(number, request):
    """A server that finds every question valid, and every answer wrong."""
    prompt = request["messages"][0]["content"][1]["text"]
    texts = {"VALID": VALID, "OWN": said(answer="blue"), "JUDGE": said(verdict="incorrect")}
    return 200, completion(texts[prompt.split()[0]])


def first(*failures):
    """A server that goes through ``failures`` before it behaves."""
    return lambda number, request: failures[number] if number < len(failures) else right(number, request)


def questions(count=1):
    images = [Image.fromarray(np.full((28, 28, 3), n, np.uint8)) for n in range(count)]
    return [Question(str(n), image, f"Is thing {n} red?") for n, image in enumerate(images)]


def verifier(stub, folder, sleep=lambda s: None, **options):
    settings = EndpointSettings(stub.url, "stub", "STUB_KEY", **{"timeout": 5.0, "retries": 3, **options})
    return PromptedVerifier(Endpoint(settings, folder / "cache", folder / "usage.json", sleep), PROMPTS)


def usage(folder):
    return json.loads((folder / "usage.json").read_text())


def test_a_whole_examination(tmp_path):
    with Stub(right) as stub:
        found = examine(questions(5), FakeAnswerer(), verifier(stub, tmp_path))
    assert [e.question.image_id for e in found] == list("01234")
    assert all(e.failed and e.judgement.reference == "blue" for e in found)
    assert set(stub.keys) == {f"Bearer {KEY}"}
    assert usage(tmp_path)["requests"] == len(stub.requests) == 15


def test_the_image_goes_as_png_without_loss(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (21, 35, 3), dtype=np.uint8)
    with Stub(right) as stub:
        verifier(stub, tmp_path).validity([Question("1", Image.fromarray(pixels), "Is it red?")])
    part = stub.requests[0]["messages"][0]["content"][0]
    kind, _, data = part["image_url"]["url"].partition(",")
    assert kind == "data:image/png;base64"
    assert np.array_equal(np.array(Image.open(io.BytesIO(base64.b64decode(data)))), pixels)
    assert stub.requests[0]["temperature"] == 0 and stub.requests[0]["model"] == "stub"


PASSING = {
    "time-out": (-1.0, ""),
    "dropped": (0, ""),
    "429": (429, {"error": {"message": "slow down"}}),
    "500": (500, "<html>oops</html>", {"Content-Type": "text/html"}),
    "malformed JSON": (200, '{"choices": [{"mess'),
    "no completion": (200, {"hello": "world"}),
    "no choices": (200, completion("x") | {"choices": []}),
    "null content": (200, completion(None)),
    "plain text": (200, "hello", {"Content-Type": "text/plain"}),
    "empty body": (200, ""),
    "unreadable verdict": (200, completion("I think it is fine.")),
    "wrong keys": (200, completion('{"valid": true}')),
}


@pytest.mark.parametrize("name", PASSING)
def test_what_fails_in_passing_is_tried_again(name, tmp_path):
    with Stub(first(PASSING[name], PASSING[name])) as stub:
        (found,) = verifier(stub, tmp_path, timeout=0.3).validity(questions())
    assert found.valid is True
    assert usage(tmp_path)["retries"] == 2 and usage(tmp_path)["undecided"] == 0


@pytest.mark.parametrize("name", PASSING)
def test_what_never_recovers_is_undecided_counted_and_not_kept(name, tmp_path):
    with Stub(lambda number, request: PASSING[name]) as stub:
        found = verifier(stub, tmp_path, timeout=0.2, retries=1).validity(questions(2))
    assert [f.valid for f in found] == [None, None]
    assert all(f.detail for f in found)
    assert usage(tmp_path)["undecided"] == 2 and usage(tmp_path)["requests"] == 4
    assert not list((tmp_path / "cache").rglob("*.json"))
    with Stub(right) as stub:
        assert [f.valid for f in verifier(stub, tmp_path).validity(questions(2))] == [True, True]


def test_a_server_that_dies_in_mid_run_loses_nothing(tmp_path):
    with Stub(right) as stub:
        judge = verifier(stub, tmp_path, retries=1)
        assert all(v.valid for v in judge.validity(questions(3)))
        stub.die()
        found = judge.validity(questions(5))
        assert [f.valid for f in found] == [True, True, True, None, None]
        assert "Connection" in found[3].detail
    with Stub(right) as revived:
        assert all(v.valid for v in verifier(revived, tmp_path).validity(questions(5)))
    assert len(revived.requests) == 2  # the three that were answered are not paid again
    assert usage(tmp_path)["cached"] == 6


def test_back_off_doubles_is_bounded_and_obeys_retry_after(tmp_path):
    waits = []
    busy = (429, {"error": {"message": "slow"}})
    with Stub(first(busy, busy, (*busy, {"Retry-After": "30"}), (*busy, {"Retry-After": "9999"}), (0, ""))) as stub:
        judge = verifier(stub, tmp_path, waits.append, retries=5, backoff=1.0)
        assert judge.validity(questions())[0].valid is True
    assert 1 <= waits[0] <= 1.5
    assert waits[1] == pytest.approx(2 * waits[0])
    assert waits[2] == 30.0
    assert waits[3] == 60.0
    assert waits[4] == pytest.approx(16 * waits[0])


def test_a_bad_request_is_undecided_at_once(tmp_path):
    with Stub(lambda n, r: (400, {"error": {"message": "content filter"}})) as stub:
        (found,) = verifier(stub, tmp_path).validity(questions())
    assert found.valid is None and "400" in found.detail and "content filter" in found.detail
    assert len(stub.requests) == 1


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refused_key_stops_the_run_with_a_remedy_and_without_the_key(status, tmp_path):
    quoting = status, {"error": {"message": f"Incorrect API key provided: {KEY}"}}
    with Stub(lambda n, r: quoting) as stub, pytest.raises(EndpointError, match="STUB_KEY") as caught:
        verifier(stub, tmp_path).validity(questions(20))
    assert len(stub.requests) < 20  # the rest was not asked
    assert str(status) in str(caught.value) and "***" in str(caught.value)
    error = caught.value
    while error is not None:
        assert KEY not in repr(error) and (error.__suppress_context__ or error.__context__ is None)
        error = error.__cause__


@pytest.mark.parametrize(
    "reply",
    [
        (500, {"error": {"message": KEY}}),
        (200, completion(KEY)),
        (200, completion(said(**dict.fromkeys(CRITERIA, True)).replace("because", KEY))),
    ],
)
def test_no_key_in_any_log_verdict_or_file(reply, tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    logging.getLogger("openai").setLevel(logging.DEBUG)
    with Stub(lambda n, r: reply) as stub:
        judge = verifier(stub, tmp_path, retries=1)
        found = judge.validity(questions())
    assert len(stub.requests) > 0 and stub.keys[0] == f"Bearer {KEY}"
    assert caplog.text
    seen = caplog.text + repr(found) + repr(judge) + repr(vars(judge.ask.settings)) + "".join(capfd.readouterr())
    seen += "".join(p.read_text() for p in tmp_path.rglob("*") if p.is_file())
    assert KEY not in seen


def test_the_cache_goes_by_content(tmp_path):
    (one,) = questions()
    other_image = Question("0", Image.new("RGB", (28, 28), "red"), one.text)
    other_text = Question("0", one.image, "Is it blue?")
    same = Question("another id", one.image.copy(), one.text)
    with Stub(right) as stub:
        judge = verifier(stub, tmp_path)
        judge.validity([one])
        judge.validity([same])
        assert len(stub.requests) == 1
        judge.validity([other_image, other_text])
        assert len(stub.requests) == 3
        settings = EndpointSettings(stub.url, "another-model", "STUB_KEY")
        PromptedVerifier(Endpoint(settings, tmp_path / "cache", tmp_path / "usage.json"), PROMPTS).validity([one])
        assert len(stub.requests) == 4


def test_the_same_thing_twice_in_a_list_is_asked_once(tmp_path):
    with Stub(right) as stub:
        assert len(verifier(stub, tmp_path).validity(questions() * 6)) == 6
    assert len(stub.requests) == 1


def test_a_damaged_cache_file_is_named(tmp_path):
    with Stub(right) as stub:
        judge = verifier(stub, tmp_path)
        judge.validity(questions())
        (kept,) = (tmp_path / "cache").rglob("*.json")
        kept.write_text(kept.read_text()[:10])
        with pytest.raises(ValueError, match=kept.name):
            judge.validity(questions())


def test_cost_is_counted_over_resumed_jobs(tmp_path):
    price = {"prompt_price": 2.0, "completion_price": 10.0}
    with Stub(right) as stub:
        verifier(stub, tmp_path, **price).validity(questions(3))
        verifier(stub, tmp_path, **price).validity(questions(4))
    counted = usage(tmp_path)
    assert (counted["prompt_tokens"], counted["completion_tokens"], counted["cached"]) == (400, 40, 3)
    assert counted["cost"] == pytest.approx(4 * (100 * 2.0 + 10 * 10.0) / 1e6)


def test_without_prices_or_token_counts_no_cost_is_made_up(tmp_path):
    silent = completion(VALID) | {"usage": None}
    with Stub(lambda n, r: (200, silent)) as stub:
        verifier(stub, tmp_path).validity(questions())
    assert usage(tmp_path)["cost"] is None
    assert usage(tmp_path)["replies_without_usage"] == 1


def test_verdicts_do_not_depend_on_the_number_of_workers(tmp_path):
    def by_text(number, request):
        text = request["messages"][0]["content"][1]["text"]
        broken = "atomic" if int(text.split()[3]) % 3 == 0 else None
        return 200, completion(said(**{name: name != broken for name in CRITERIA}))

    found = []
    for workers in (1, 7):
        with Stub(by_text) as stub:
            judge = verifier(stub, tmp_path / str(workers), workers=workers)
            found.append(judge.validity(questions(12)))
    assert found[0] == found[1]
    assert [v.valid for v in found[0]] == [n % 3 != 0 for n in range(12)]


@pytest.mark.parametrize("value", ["", "  ", "two words", "sk-ключ", "sk-\x01"])
def test_a_missing_or_impossible_key_is_refused_without_showing_it(value, monkeypatch, tmp_path):
    monkeypatch.setenv("STUB_KEY", value)
    settings = EndpointSettings("http://127.0.0.1:9/v1", "stub", "STUB_KEY")
    with pytest.raises(ValueError, match="STUB_KEY") as caught:
        endpoint_verifier(settings, PROMPTS, tmp_path / "cache", tmp_path / "usage.json")
    assert not value.strip() or value not in str(caught.value)


def test_a_server_without_key_is_asked_without_one(tmp_path):
    with Stub(right) as stub:
        settings = EndpointSettings(stub.url, "stub")
        judge = endpoint_verifier(settings, PROMPTS, tmp_path / "cache", tmp_path / "usage.json")
        assert judge.validity(questions())[0].valid is True
    assert KEY not in str(stub.keys)


def test_replies_come_with_their_prompts(tmp_path):
    def echo(number, request):
        return 200, completion(request["messages"][0]["content"][1]["text"])

    with Stub(echo) as stub:
        ask = verifier(stub, tmp_path).ask
        prompts = [f"prompt {n}" for n in range(9)]
        assert ask(prompts, [Image.new("RGB", (8, 8))] * 9, str) == [Reply(p) for p in prompts]
