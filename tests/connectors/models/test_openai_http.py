"""The OpenAI-compatible generator against a server that misbehaves in every way we know."""

import logging
import pickle
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from radarstream.connectors.models.openai_http.client import budgets
from radarstream.connectors.models.openai_http.generator import OpenAiGenerator
from radarstream.connectors.models.openai_http.options import OpenAiOptions
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.errors import (
    ConfigurationError,
    ModelError,
    ModelOutageError,
    PartialModelError,
)
from radarstream.schemas.prompt import Completion, Prompt, Task
from tests.connectors.models.fault_server import (
    Fault,
    FaultServer,
    chat_reply,
    drip,
    half,
    hang,
    reset,
    says,
    status,
)
from tests.replies import Reply
from tests.servers import free_port

CANARY = "sk-canary-7f3a"  # never a real key
PHRASE = "zebra-phrase"  # in a page
TOWNS = ("Bern", "Oslo", "Lima", "Kyiv", "Rabat")
Make = Callable[..., OpenAiGenerator]


@pytest.fixture
def make(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    monkeypatch.setenv("TEST_KEY", CANARY)
    made = []

    def build(**options: Any) -> OpenAiGenerator:
        patient = {"first_pause_s": 0.01, "longest_pause_s": 0.02, "deadline_s": 10.0}
        place = {"base_url": server.url, "model": "small", "api_key_variable": "TEST_KEY"}
        generator = OpenAiGenerator(OpenAiOptions(**{**patient, **place, **options}))
        made.append(generator)
        return generator

    yield build
    for generator in made:
        generator.close()


def page(
    number: int, question: str = "Where is the zoo?", task: Task = Task.ATOMIC_ANSWER
) -> Prompt:
    town = TOWNS[number % len(TOWNS)]
    return build_prompt(task, question, [f"The zoo of page {number} {PHRASE} is in {town}."])


def pages(count: int, **options: Any) -> list[Prompt]:
    return [page(number, **options) for number in range(count)]


def failure(generator: OpenAiGenerator, prompt: Prompt | None = None) -> ModelError:
    with pytest.raises(PartialModelError) as raised:
        generator.complete([prompt or page(0)])
    (error,) = raised.value.outcomes
    assert isinstance(error, ModelError)
    return error


def test_answers_keep_order_and_share_connections(make: Make, server: FaultServer) -> None:
    generator = make(concurrency=4, price_in=2.0, price_out=10.0)
    for _ in range(3):
        texts = [completion.text for completion in generator.complete(pages(20))]
        assert texts == [TOWNS[number % 5] for number in range(20)]
    assert server.most_in_flight <= 4
    assert len(server.connections) <= 4
    client = generator.client
    assert (client.calls, client.tokens_in, client.tokens_out) == (60, 6_000, 300)
    assert client.cost == pytest.approx((6_000 * 2.0 + 300 * 10.0) / 1e6)
    assert generator.complete([]) == []


def test_the_request_holds_what_the_options_say(make: Make, server: FaultServer) -> None:
    make(
        seed=7,
        extra_tokens=100,
        max_tokens_field="max_completion_tokens",
        extra_body={"top_p": 0.5},
    ).complete([page(0)])
    make(temperature=None).complete([page(0)])
    full, plain = server.requests
    options = [full[name] for name in ("model", "seed", "temperature", "top_p")]
    assert options == ["small", 7, 0.0, 0.5]
    assert full["max_completion_tokens"] == page(0).max_tokens + 100
    assert plain.keys() == {"model", "messages", "max_tokens"}
    assert [m["role"] for m in plain["messages"]][0] == "system"
    assert server.headers[0]["authorization"] == f"Bearer {CANARY}"
    assert server.headers[0]["accept-encoding"] == "identity"
    make(api_key_variable="").complete([page(0)])
    assert "authorization" not in server.headers[2]


def choice(**message: object) -> Reply:
    return Reply({"choices": [message]})


@pytest.mark.parametrize(
    "fault",
    [status(429, Retry_After="0"), status(500), status(503), reset, half]
    + [*map(Reply, (b"", b"<html>Sign in</html>", b'{"choices": [{"mess', b"[" * 100_000, []))]
    + [Reply({"choices": []}), choice(message="hi"), choice(message={"content": ["x"]})],
)
def test_a_passing_fault_costs_nothing(make: Make, server: FaultServer, fault: Fault) -> None:
    server.script.extend([fault, fault])
    generator = make()
    assert generator.complete([page(1)]) == [Completion("Oslo", 100, 5)]
    assert len(server.requests) == 3
    assert sum(generator.client.errors.values()) == 2
    assert generator.client.breaker.state == "closed"


@pytest.mark.parametrize("code", [500, 429, 503, 502])
def test_attempts_are_bounded_and_an_outage_is_told(make, server, code):
    server.always = status(code)
    error = failure(make(attempts=3))
    assert isinstance(error, ModelOutageError)
    assert str(code) in str(error)
    assert len(server.requests) == 3


OUTAGES = (401, 403, 404)


@pytest.mark.parametrize(
    ("fault", "outage"),
    [(status(code), code in OUTAGES) for code in (400, 422, *OUTAGES)]
    + [
        (status(429, "insufficient_quota"), True),
        (status(302, Location="http://127.0.0.1:9/"), True),
    ]
    + [(Reply(b"x" * 1_000_000), False), (says("word " * 200_000), False)]
    + [(says(text), False) for text in (None, "")]  # the task is about no single page
    + [(says(text, reason="length"), False) for text in ("", "<think>hm")]
    + [(says(None, refusal="I cannot"), False), (says("", reason="content_filter"), False)],
)
def test_what_asking_again_cannot_mend_is_asked_once(make, server, fault, outage):
    server.always = fault
    generator = make()
    error = failure(generator, page(0, task=Task.SYNTHESISE_ANSWERS))
    assert isinstance(error, ModelOutageError) is outage
    assert len(server.requests) == 1
    assert sum(generator.client.errors.values()) == 1


@pytest.mark.parametrize(
    "fault",
    [says(None, refusal="I cannot help with that"), says("", reason="content_filter"), says("")]
    + [status(400, "content_filter")],
)
def test_a_page_that_makes_the_model_decline_costs_that_page_only(make, server, fault):
    server.script.append(fault)
    generator = make(concurrency=1)
    texts = [completion.text for completion in generator.complete(pages(3))]
    assert texts == ["I don't know", "Oslo", "Lima"]


def test_impossible_token_counts_are_no_counts(make: Make, server: FaultServer) -> None:
    generator = make()
    for usage in ({"prompt_tokens": -1}, {"prompt_tokens": True}, [], "many"):
        server.always = Reply({**chat_reply("Bern"), "usage": usage})
        generator.complete([page(0)])
    assert (generator.client.tokens_in, generator.client.tokens_out) == (0, 0)
    server.always = Reply({**chat_reply(""), "usage": None})
    assert "no text" in str(failure(generator)), "without a count an empty text is no answer"


def test_thoughts_are_no_answer_and_waiting_does_not_count(make, server) -> None:
    replies = ["<think>Oslo? No.</think>\nBern", "It is Be", "a" * 100_000]
    server.script.extend([says(text, reason="length") for text in replies])
    texts = [completion.text for completion in make(concurrency=1).complete(pages(3))]
    assert texts == ["Bern", "It is Be", "a" * 32 * page(0).max_tokens]
    server.always = Reply(chat_reply("Bern"), after_s=0.8)
    generator = make(deadline_s=8.0, concurrency=1)  # 2.8 s for each question's documents
    prompts = [page(0, f"Where is zoo {number}?") for number in range(4)]
    assert len(generator.complete(prompts)) == 4


def test_a_page_too_long_for_the_model_is_shortened(make: Make, server: FaultServer) -> None:
    server.script.extend([status(400, "context_length_exceeded")] * 2)
    long = build_prompt(
        Task.ATOMIC_ANSWER, "Where is the zoo?", ["The zoo is in Bern. " + "x" * 800]
    )
    assert make().complete([long])[0].text == "Bern"
    lengths = [len(request["messages"][-1]["content"]) for request in server.requests]
    assert lengths == sorted(lengths, reverse=True)
    server.always = status(400, "context_length_exceeded")
    assert not isinstance(failure(make(), long), ModelOutageError)


@pytest.mark.parametrize(
    "value",
    ["3600", format_datetime(datetime.now(UTC) + timedelta(hours=1))],
    ids=["seconds", "date"],  # parallel workers must agree about the names
)
def test_nobody_waits_longer_than_the_deadline(make: Make, server: FaultServer, value: str) -> None:
    server.always = status(429, Retry_After=value)
    started = time.perf_counter()
    assert "429" in str(failure(make(deadline_s=5.0)))
    assert time.perf_counter() - started < 5.0
    assert len(server.requests) == 1


STAGES = [
    (Task.ATOMIC_ANSWER, 0.35), (Task.ANSWER_FROM_DOCUMENTS, 0.1), (Task.SYNTHESISE_ANSWERS, 0.1),
]  # fmt: skip


@pytest.mark.parametrize("fault", [hang, drip], ids=["hang", "drip"])
def test_all_stages_together_keep_the_deadline(make, server, fault):
    generator = make(deadline_s=4.0, call_timeout_s=9.0, concurrency=4, failures_to_open=99)
    generator.complete([page(0)])  # starts the loop and loads certificates
    server.always = fault
    total = 0.0
    for task, share in STAGES:
        started = time.perf_counter()
        with pytest.raises(PartialModelError) as raised:
            generator.complete(pages(10, task=task))  # more than can be in flight
        seconds = time.perf_counter() - started
        assert all(isinstance(outcome, ModelOutageError) for outcome in raised.value.outcomes)
        assert seconds > 4.0 * share - 0.05
        total += seconds
    assert total < 8.0 * sum(
        share for _, share in STAGES
    )  # three times with a deadline for each wave
    assert generator.client.errors["timeout"] == 12  # those in flight; the others were never asked
    server.always = None
    server.closing.set()
    assert generator.complete([page(0)])[0].text == "Bern"  # no connection was lost


def test_errors_of_a_dead_server_name_its_address(make: Make, server: FaultServer) -> None:
    dead = f"http://127.0.0.1:{free_port()}/v1"
    generator = make(base_url=dead, attempts=1, failures_to_open=1)
    error = failure(generator)
    assert isinstance(error, ModelOutageError)
    assert str(error) == f"no connection to {dead}: ConnectError"
    assert str(failure(generator)) == f"circuit open: {dead} has been failing"
    server.always = hang
    assert str(failure(make(attempts=1, call_timeout_s=0.05))) == (
        f"no answer from {server.url} within 0.05 s"
    )
    told = str(failure(make(deadline_s=0.5)))
    assert f"no answer from {server.url} within " in told
    assert CANARY not in told


def test_a_caller_who_stops_stops_the_requests(make: Make, server: FaultServer) -> None:
    generator = make(concurrency=2, call_timeout_s=0.5)
    arriving = generator.complete_each(pages(200))
    next(arriving)
    arriving.close()  # type: ignore[attr-defined]
    assert generator.complete([page(0)])[0].text == "Bern"
    assert len(server.requests) < 150


def test_the_model_id_names_what_decides_the_answer(make: Make) -> None:
    changed = [
        {}, {"model": "other"}, {"seed": 1}, {"temperature": 0.5}, {"extra_body": {"top_p": 1}},
        {"base_url": "http://elsewhere:8000/v1"}, {"extra_tokens": 9}, {"service": "prod"},
    ]  # fmt: skip
    assert len({make(**options).model_id for options in changed}) == len(changed)
    assert make(concurrency=3).model_id == make().model_id
    assert "small" in make().model_id


def test_keys_and_pages_stay_out_of_errors_and_logs(make, server, caplog):
    caplog.set_level(logging.DEBUG)
    generator = make(attempts=1, failures_to_open=999)
    echo = Reply({"error": {"message": CANARY + PHRASE, "code": CANARY, "type": PHRASE}}, 400)
    seen = [repr(generator), str(generator), generator.model_id, repr(generator.options)]
    faults = [status(code, CANARY) for code in (400, 401, 403, 404, 429, 500)]
    for fault in [*faults, echo, Reply(CANARY.encode()), says(None, refusal=PHRASE), half, reset]:
        server.always = fault
        try:
            generator.complete([page(0)])
        except PartialModelError as error:
            seen += [
                "".join(traceback.format_exception(e)) + repr(e)
                for e in (error, *error.outcomes)
                if isinstance(e, BaseException)
            ]
    seen += [str(generator.client.errors), pickle.dumps(generator).decode("latin-1"), caplog.text]
    assert len(seen) > 20
    assert not [text for text in seen if CANARY in text or PHRASE in text]


@pytest.mark.parametrize("value", ["", "two\nlines", "with blank", "ключ"])
def test_an_impossible_key_is_told_by_its_variable(make, monkeypatch, value):
    monkeypatch.setenv("TEST_KEY", value)
    with pytest.raises(ConfigurationError, match="TEST_KEY") as raised:
        make()
    assert not value or value not in str(raised.value)


def test_wrong_options_are_refused() -> None:
    for wrong in [
        {"base_url": "ftp://x/v1"}, {"base_url": "http://x:99999/v1"},
        {"base_url": "http://user:hunter2@host/v1"}, {"base_url": "http://host/v1?key=hunter2"},
        {"extra_body": {"model": "x"}}, {"attempts": 0},
    ]:  # fmt: skip
        with pytest.raises(ValueError, match="1 validation error"):
            OpenAiOptions(model="small", **wrong)


def test_the_probe_tells_what_is_there(make: Make, server: FaultServer) -> None:
    assert make().probe()
    server.always = status(500)
    assert make(attempts=1).probe()
    assert not make(base_url="http://127.0.0.1:9/v1").probe()
    server.always = hang
    assert not make(deadline_s=0.2).probe()
    server.always = status(404, "model_not_found")
    with pytest.raises(ConfigurationError, match="'large'"):
        make(model="large").probe()
    server.always, server.key = None, "another"
    with pytest.raises(ConfigurationError, match="TEST_KEY"):
        make().probe()


def test_every_task_has_time_and_the_stages_of_radar_share_the_deadline() -> None:
    """With a model that judges relations: between answers, to the memory, to the last answer."""
    for task in Task:
        prompt = Prompt(task, "", (), "Who?", (), 24)
        first, second = budgets([prompt, prompt], 10.0)
        assert first is second and first.seconds >= 1.0
    judged = Task.JUDGE_RELATION
    stages = [Task.ATOMIC_ANSWER, judged, Task.ANSWER_FROM_DOCUMENTS, judged]
    stages += [Task.SYNTHESISE_ANSWERS, judged]
    prompts = [Prompt(task, "", (), "Who?", (), 24) for task in stages]
    shares = [budget.seconds for budget in budgets(prompts, 10.0)]
    assert shares == [3.5, 1.5, 1.0, 1.5, 1.0, 1.5]
    assert sum(shares) == 10.0
