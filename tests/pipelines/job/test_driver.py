"""The driver's loop, point by point; `tests/simulation` lets everything fail at once."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from radarstream.pipelines.job.answering.driver import DeadShareError
from radarstream.schemas.codec import encode
from radarstream.schemas.errors import BrokerError, ConfigurationError, ModelError, ReasonClass
from radarstream.schemas.prompt import Prompt
from radarstream.schemas.records import RawRecord
from tests.builders import OBSERVED_AT, make_snapshot
from tests.simulation.life import Life, born
from tests.simulation.plan import BREAKS_THE_GRAPH, Input, payload, peaceful
from tests.simulation.world import UnreliableGenerator

BROKEN = encode(make_snapshot([BREAKS_THE_GRAPH], query_id="cup-0", observed_at=OBSERVED_AT))


@pytest.fixture
def life() -> Iterator[Life]:
    with born(peaceful(queries=2)) as life:
        yield life


def append(life: Life, *payloads: bytes, partition: int = 0) -> None:
    for data in payloads:
        life.world.topic.append(Input(partition, data))


def published(life: Life) -> list[str]:
    return [r.event_id for r in life.world.topics.published if r.topic == "answers.defended"]


def reasons(life: Life) -> list[ReasonClass]:
    life.promises.read_topics()
    return sorted(reason for found in life.promises.letters.values() for reason in found)


def failing(work: Callable[..., Any], *errors: BaseException) -> Callable[..., Any]:
    """Raise these errors at the first calls, then work."""
    waiting = list(errors)

    def wrapped(*arguments: Any, **named: Any) -> Any:
        if waiting:
            raise waiting.pop(0)
        return work(*arguments, **named)

    return wrapped


def test_a_poisoned_record_beside_a_failing_model_does_not_end_the_job(life, monkeypatch) -> None:
    """The model's error came before the defect; it is not its cause."""
    append(life, payload(0, 0), BROKEN)
    complete = UnreliableGenerator.complete

    def failing_together(self: UnreliableGenerator, prompts: Sequence[Prompt]) -> Any:
        if len(prompts) > 3:
            raise ModelError("down")
        return complete(self, prompts)

    monkeypatch.setattr(UnreliableGenerator, "complete", failing_together)
    life.worker.driver.step()
    assert (reasons(life), published(life)) == ([ReasonClass.INTERNAL_ERROR], ["cup-0/0"])


def test_what_does_not_heal_ends_the_job_and_commits_nothing(life: Life) -> None:
    append(life, payload(0, 0))
    driver = life.worker.driver
    driver.publish = failing(driver.publish, *[BrokerError("gone")] * driver.settings.attempts)
    before = life.world.clock.monotonic()
    with pytest.raises(BrokerError):
        driver.step()
    assert life.world.topic.committed == {}
    assert life.world.clock.monotonic() > before + 3 * 0.05  # it paused between its tries
    life.restart()
    life.worker.driver.step()
    assert published(life) == ["cup-0/0"]


def test_a_fatal_error_is_not_tried_again(life: Life) -> None:
    append(life, payload(0, 0))
    driver = life.worker.driver
    driver.batch = failing(driver.batch, ConfigurationError("another defence"))
    with pytest.raises(ConfigurationError):
        driver.step()
    assert published(life) == []


def test_stopping_finishes_the_batch_in_hand(life: Life) -> None:
    append(life, payload(0, 0), payload(0, 1))
    driver = life.worker.driver
    graph = driver.batch

    def batch(records: Sequence[RawRecord]) -> Any:
        life.worker.stopped = True
        return graph(records)

    driver.batch = batch
    driver.run()
    assert (published(life), life.world.topic.committed) == (["cup-0/0", "cup-0/1"], {0: 2})


def test_draining_ends_with_the_log_also_when_records_are_held_back() -> None:
    with born(peaceful(snapshots=4, lateness_s=25.0)) as life:
        append(life, *(payload(0, n) for n in (1, 0, 3, 2)))
        life.worker.driver.run(drain=True)
        assert (published(life), reasons(life)) == ([f"cup-0/{step}" for step in range(4)], [])


def test_records_of_a_partition_lost_while_the_batch_filled_are_left_to_others(monkeypatch) -> None:
    with born(peaceful(queries=2, partitions=2, lateness_s=25.0)) as life:
        append(life, payload(0, 0), payload(0, 1))
        life.worker.driver.step()
        append(life, payload(0, 2))
        reader = life.worker.reader

        def poll(**limits: Any) -> list[RawRecord]:
            polled = type(reader).poll(reader, **limits)
            if not polled:
                reader.assign(frozenset({1}))
            return polled

        monkeypatch.setattr(reader, "poll", poll)
        life.worker.driver.step()
        assert life.world.topic.committed.get(0, 0) == 0


def test_batches_grow_until_they_take_as_long_as_they_may(life: Life) -> None:
    driver = life.worker.driver
    changes = {"batch_records": 1_000, "batch_work_seconds": 10.0}
    driver.settings, sizes = driver.settings.model_copy(update=changes), []
    for _ in range(8):
        driver.fit_batch_size(0.1)
        sizes.append(driver.batch_size)
    assert (sizes, sizes[-1]) == (sorted(sizes), 100)
    driver.fit_batch_size(60.0)
    assert driver.batch_size == 1


def test_too_many_dead_letters_end_the_job_after_they_are_committed(life: Life) -> None:
    driver = life.worker.driver
    driver.settings = driver.settings.model_copy(update={"dead_share": 0.5})
    driver.dead = deque(maxlen=4)
    append(life, payload(0, 0), b"", b"", b"")
    with pytest.raises(DeadShareError, match="75% of the last 4"):
        driver.step()
    assert life.world.topic.committed == {0: 4}


def test_asked_to_stop_during_an_outage_it_stops_and_the_next_start_goes_on(life: Life) -> None:
    append(life, payload(0, 0))
    driver = life.worker.driver
    asked: list[bool] = []
    publish, stopping = driver.publish, driver.stopping

    def down(lanes: frozenset[int]) -> int:
        asked.append(True)
        raise BrokerError("gone")

    driver.publish, driver.stopping = down, lambda: bool(asked)
    driver.run()
    assert life.world.topic.committed == {}
    driver.publish, driver.stopping = publish, stopping
    driver.step()
    assert published(life) == ["cup-0/0"]
