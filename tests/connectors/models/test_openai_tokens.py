"""Log-probabilities from services: the two interfaces, and servers that only look as if."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

import numpy as np
import pytest

from radarstream.connectors.models.openai_http.options import OpenAiTokenOptions
from radarstream.connectors.models.openai_http.replies import read_echo
from radarstream.connectors.models.openai_http.tokens import OpenAiTokens
from radarstream.connectors.models.rendering import completion_text
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.errors import ModelError, ModelOutageError
from radarstream.schemas.prompt import ContinuationQuery, Task
from tests.connectors.models.scoring_server import BEGIN, Mend, ScoringServer, logarithm, scoring

PROMPTS = tuple(
    build_prompt(Task.ATOMIC_ANSWER, "Where does Aldo live?", (f"In {town}.",))
    for town in ("Bern", "Oslo")
)
QUERY = ContinuationQuery(PROMPTS, "Oslo, far north")


@contextmanager
def asking(mend: Mend | None = None, **options: Any) -> Iterator[Any]:
    with scoring() as server:
        if mend is not None:
            server.mend = mend
        fast = {"attempts": 1, "api_key_variable": "", "model": "small"} | options
        tokens = OpenAiTokens(OpenAiTokenOptions(base_url=server.url, **fast))
        try:
            yield tokens, server
        finally:
            tokens.close()


def expected(server: ScoringServer) -> list[list[float]]:
    said = server.ids(f" {QUERY.continuation}")
    rows = []
    for prompt in PROMPTS:
        ids = [BEGIN, *server.ids(completion_text(prompt)), *said]
        rows.append([logarithm(ids, i) for i in range(len(ids) - len(said), len(ids))])
    return rows


def test_the_numbers_are_the_servers() -> None:
    with asking(price_in=1e6) as (tokens, server):
        (logs,) = tokens.log_probs([QUERY])
        np.testing.assert_array_equal(logs, expected(server))
        assert logs.shape == (2, 4)
        assert tokens.client.cost == tokens.client.tokens_in > 100
        assert not tokens.client.errors


def choice_with(change: Any) -> Mend:
    def mend(path: str, request: dict[str, Any], reply: dict[str, Any]) -> tuple[int, Any]:
        if "choices" in reply:
            change(reply["choices"][0])
        return 200, reply

    return mend


def change_logs(change: Any) -> Mend:
    return choice_with(lambda choice: change(choice["logprobs"]))


def cut(logs: dict[str, Any]) -> None:
    logs["tokens"], logs["token_logprobs"] = logs["tokens"][-1:], logs["token_logprobs"][-1:]


def shift(logs: dict[str, Any]) -> None:
    logs["tokens"][5] += "x"


def merge(logs: dict[str, Any]) -> None:
    at = logs["tokens"].index(":", len(logs["tokens"]) - 8)
    logs["tokens"][at : at + 2] = ["".join(logs["tokens"][at : at + 2])]
    del logs["token_logprobs"][at]


def test_an_echo_that_is_none_is_an_error() -> None:
    for mend, words in [
        (choice_with(lambda c: c.pop("logprobs")), "returns no log-probabilities"),
        (choice_with(lambda c: c.update(logprobs={"content": []})), "returns no log-prob"),
        (change_logs(cut), "does not echo"),  # echo is ignored
        (change_logs(shift), "does not echo"),  # another text
        (change_logs(merge), "token of its own"),
        (change_logs(lambda logs: logs["token_logprobs"].pop()), "returns no log-prob"),
        (change_logs(lambda logs: logs["token_logprobs"].__setitem__(-2, None)), "leaves out"),
        (change_logs(lambda logs: logs["token_logprobs"].__setitem__(-3, 0.5)), "not a logarithm"),
        (change_logs(lambda logs: logs["token_logprobs"].__setitem__(-3, True)), "leaves out"),
    ]:
        with asking(mend) as (tokens, _), pytest.raises(ModelError, match=words) as caught:
            tokens.log_probs([QUERY])
        assert not isinstance(caught.value, ModelOutageError)


def test_a_server_that_hangs_is_given_up_at_the_deadline_and_opens_the_circuit() -> None:
    release = Event()

    def mend(path: str, request: dict[str, Any], reply: dict[str, Any]) -> tuple[int, Any]:
        release.wait(20)
        return 200, reply

    with asking(mend, deadline_s=0.3, failures_to_open=2) as (tokens, _):
        with pytest.raises(ModelOutageError, match=r"0\.3 s"):
            tokens.log_probs([QUERY])
        assert tokens.client.errors["timeout"] == 2
        assert tokens.client.breaker.state == "open"
        release.set()


def test_an_echo_may_lack_its_ends_and_cannot_be_switched_off() -> None:
    import json

    def body(tokens: list[str]) -> bytes:
        logs = {"tokens": tokens, "token_logprobs": [-float(i) for i in range(len(tokens))]}
        return json.dumps({"choices": [{"logprobs": logs}]}).encode()

    assert read_echo(body(["a", ":", " b", "c"]), "a:", " bc").logs == [-2.0, -3.0]
    assert read_echo(body(["<s>", "a", ":", " b", "c", " x"]), "a:", " bc").logs == [-3.0, -4.0]
    with pytest.raises(ModelError, match="does not echo"):
        read_echo(body(["y", "z", "a", ":", " b", "c"]), "a:", " bc")
    with pytest.raises(ValueError, match="cannot set echo"):
        OpenAiTokenOptions(model="small", extra_body={"echo": False})
