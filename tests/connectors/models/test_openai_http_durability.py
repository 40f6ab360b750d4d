"""Completed calls survive: a crash repeats those in flight, a failure repeats nothing."""

import signal
from typing import Any

from sqlalchemy import Engine

from radarstream.connectors.models.openai_http.generator import OpenAiGenerator
from radarstream.connectors.models.openai_http.options import OpenAiOptions
from radarstream.connectors.models.response_cache import Cached, ResponseCache
from radarstream.connectors.models.scripted import ScriptedEmbedder, ScriptedRelations
from radarstream.defenses.radar import Radar
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.round.values import Ready
from radarstream.pipelines.signals.fulfilment import Failure
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import ModelError, PartialModelError
from radarstream.schemas.evidence import AtomicAnswer
from tests.builders import make_snapshot
from tests.clocks import until
from tests.connectors.models.fault_server import FaultServer, chat_reply, status
from tests.programs import done, started
from tests.replies import Reply

COUNT, IN_FLIGHT = 60, 4


def test_a_killed_client_repeats_only_what_was_in_flight(server, tmp_path):
    server.always = Reply(chat_reply("Bern"), after_s=0.02)
    client = (server.url, f"sqlite:///{tmp_path / 'state.db'}", str(COUNT))
    module = "tests.connectors.models.openai_client"
    with started(*client, out=tmp_path / "log", module=module) as running:
        until(lambda: len(server.requests) >= COUNT // 2)
        running.send_signal(signal.SIGKILL)
        assert running.wait(10.0) == -signal.SIGKILL
    until(lambda: server.in_flight == 0)
    assert done(*client, module=module).returncode == 0
    asked = server.asked()
    assert len(asked) == COUNT
    repeated = sum(times - 1 for times in asked.values())
    assert repeated <= IN_FLIGHT


def pipeline_over(server: FaultServer, engine: Engine, **options: Any) -> DefensePipeline[Any]:
    patience = {"attempts": 1, "deadline_s": 5.0, "failures_to_open": 3, **options}
    generator = OpenAiGenerator(
        OpenAiOptions(base_url=server.url, model="small", api_key_variable="", **patience)
    )
    cached = Cached(generator, ResponseCache(engine))
    return DefensePipeline(
        "radar", Radar(), Models(cached, ScriptedRelations(), ScriptedEmbedder())
    )


def answers_of(found: Ready | Failure) -> tuple[AtomicAnswer, ...]:
    assert isinstance(found, Ready)
    return found.evidence.answers or ()


def test_a_page_that_fails_parks_its_snapshot_and_nothing_is_asked_twice(server, engine):
    def unless_lima(request: dict[str, Any]) -> Reply:
        broken = "Lima" in request["messages"][-1]["content"]
        return Reply(chat_reply("Bern"), 400 if broken else 200)

    server.always = unless_lima
    pipeline = pipeline_over(server, engine)
    pages = [("Zoo in Bern.", "In Bern."), ("Zoo in Lima.", "Perhaps Oslo."), ("The zoo of Bern.",)]
    snapshots = [
        make_snapshot(question=f"Where is zoo {i}?", texts=texts) for i, texts in enumerate(pages)
    ]
    first, second, third = pipeline.gather(snapshots)
    assert isinstance(second, ModelError)
    assert not isinstance(second, PartialModelError)
    assert [len(answers_of(first)), len(answers_of(third))] == [2, 1]
    assert set(server.asked().values()) == {1}
    server.always = None
    assert all(isinstance(found, Ready) for found in pipeline.gather(snapshots))
    assert sorted(server.asked().values()) == [1, 1, 1, 1, 2]


def test_in_an_outage_known_answers_go_on(server: FaultServer, engine: Engine) -> None:
    known = make_snapshot(question="Where is the zoo?", texts=("The zoo is in Bern.",) * 3)
    unknown = [make_snapshot(question=f"Where is zoo {i}?", texts=("In Oslo.",)) for i in range(20)]
    pipeline = pipeline_over(server, engine, concurrency=1)
    pipeline.gather([known])
    server.always = status(503)
    before = len(server.requests)
    *lost, kept = pipeline.gather([*unknown, known])
    assert all(isinstance(outcome, ModelError) for outcome in lost)
    assert len(answers_of(kept)) == 3
    assert len(server.requests) == before + 3  # then the circuit is open
