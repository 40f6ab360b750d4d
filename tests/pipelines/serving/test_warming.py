"""Models that load while the service already listens."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx
import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import create_engine, func, inspect, select, text

from radarstream.connectors.models.response_cache import Cached, ResponseCache
from radarstream.pipelines.build import build_models, warm_up
from radarstream.pipelines.serving import app as app_module
from radarstream.pipelines.serving import question_queue as warming_module
from radarstream.pipelines.serving.app import create_app
from radarstream.pipelines.serving.question_queue import Warming
from radarstream.pipelines.signals.relation_judge import JudgedRelations
from radarstream.schemas.errors import ModelError
from tests.pipelines.serving.test_faults import ASKED, BASE, HEADERS, POLLING, in_hand
from tests.scripted_models import FixedRows
from tests.serving import FakeAsker, HeldAsker, PeopleInMemory, running, service_settings


@dataclass
class Loading:
    """Loads once it is released; fails as often as it is told."""

    failures: int = 0
    released: Event = field(default_factory=Event)
    tries: int = 0

    def __call__(self) -> None:
        assert self.released.wait(20)
        self.tries += 1
        if self.tries <= self.failures:
            raise ModelError("no weights yet")


def service(
    folder: Path, patched: pytest.MonkeyPatch, load: Loading, asker: FakeAsker, **serving: object
) -> Any:
    patched.setattr(app_module, "built_answerer", lambda *_: (asker, Warming(load)))
    return create_app(service_settings(folder, **serving), people=PeopleInMemory())


def models_ready(url: str) -> bool:
    return bool(POLLING.get(f"{url}/readyz").json()["checks"]["models"])


def test_questions_wait_for_the_models_and_their_time_counts_from_then(tmp_path, monkeypatch):
    load, asker, got = Loading(), HeldAsker(), []
    with running(service(tmp_path, monkeypatch, load, asker, timeout_s=0.05)) as port:
        url = f"{BASE}:{port}"

        def ask() -> None:
            got.append(httpx.post(f"{url}/answers", json=ASKED, headers=HEADERS, timeout=20))

        asking = Thread(target=ask)
        asking.start()
        while in_hand(url) < 1:
            assert asking.is_alive()
        for _ in range(20):
            assert not models_ready(url)
        assert httpx.get(f"{url}/readyz").status_code == 503
        assert httpx.get(f"{url}/healthz").status_code == 200
        assert got == [] and not asker.begun.is_set()
        load.released.set()
        asking.join(20)
        # It was asked before its time was over, which had not begun before.
        assert asker.begun.is_set() and got[0].json()["error"]["code"] == "timeout"
        asker.released.set()
        assert models_ready(url) and load.tries == 1


def test_models_that_do_not_answer_are_tried_again_and_hold_no_question_up(tmp_path, monkeypatch):
    monkeypatch.setattr(warming_module, "AGAIN_S", 0.0)
    load = Loading(failures=2)
    load.released.set()
    with running(service(tmp_path, monkeypatch, load, FakeAsker())) as port:
        sent = httpx.post(f"{BASE}:{port}/answers", json=ASKED, headers=HEADERS, timeout=20)
        assert sent.status_code == 200
        while not models_ready(f"{BASE}:{port}"):
            assert load.tries <= 3
        assert load.tries == 3


def test_the_console_tells_whether_models_are_loaded(tmp_path, monkeypatch) -> None:
    load = Loading()
    app = service(tmp_path, monkeypatch, load, FakeAsker())
    with TestClient(app, base_url=BASE) as client:
        page = client.get("/console/health", headers=HEADERS).text
        assert "are not loaded yet" in page and "Something needs a look." in page
        load.released.set()
        while not client.get("/readyz").json()["ready"]:
            pass
        assert "are not loaded yet" not in client.get("/console/health", headers=HEADERS).text


def test_warming_up_leaves_nothing_in_the_database(tmp_path: Path) -> None:
    app = create_app(service_settings(tmp_path))
    engine = app.state.context.engine

    def rows() -> list[Any]:
        names = inspect(engine).get_table_names()
        with engine.connect() as connection:
            return [connection.execute(select(func.count()).select_from(text(f'"{name}"'))).all()
                    for name in names]  # fmt: skip

    before = rows()
    with TestClient(app, base_url=BASE) as client:
        while not client.get("/readyz").json()["ready"]:
            pass
    assert rows() == before


def test_a_stored_reply_loads_no_model_so_that_none_is_used(tmp_path: Path) -> None:
    settings = service_settings(tmp_path)
    engine = create_engine("sqlite://")
    models, embedder = build_models(settings, engine), FixedRows(np.ones((1, 1)))
    cached = Cached(embedder, ResponseCache(engine, max_entries=10))
    judged = JudgedRelations(models.generator, models.relations)
    models = replace(models, embedder=cached, relations=judged)
    warm_up(models)
    warm_up(models)
    assert len(embedder.log) == 2 and cached.calls == 0
