"""The harness with a plug-in of its own: what any kind of study can rely on."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pytest

from radarstream.connectors.models.scripted import (
    ScriptedEmbedder,
    ScriptedGenerator,
    ScriptedRelations,
)
from radarstream.lab.study.harness import Progress, Study, start_over
from radarstream.lab.study.plugin import Batch
from radarstream.lab.study.record import StudyRecord
from radarstream.lab.study.rows import EVIDENCE_WORK
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import ConfigurationError

MODELS = Models(ScriptedGenerator(), ScriptedRelations(), ScriptedEmbedder())


@dataclass(frozen=True)
class Square:
    number: int
    value: int | None
    error: str | None = None

    @property
    def key(self) -> int:
        return self.number

    @property
    def author(self) -> str:
        return "squaring"

    @property
    def query_id(self) -> str:
        return f"q{self.number}"


class SquaresRecord(StudyRecord):
    KIND: ClassVar[str] = "squares"


@dataclass
class Squares:
    """Squares numbers, one a batch; stops before `stop`, and fails on what is in `failing`."""

    numbers: tuple[int, ...]
    stop: int | None = None
    failing: frozenset[int] = frozenset()
    digest: str = "1"
    seed: int = 0
    computed: list[int] = field(default_factory=list)

    files: ClassVar[Mapping[type[Square], str]] = {Square: "squares.jsonl"}

    def describe(self) -> SquaresRecord:
        return SquaresRecord(
            dataset="numbers", dataset_digest="0", k=1, seed=self.seed, models={}, settings={},
            command="squares", revision="1", code={"squaring": self.digest},
            asked=tuple(f"q{number}" for number in self.numbers)
        )  # fmt: skip

    def code(self, _: SquaresRecord) -> dict[str, str | None]:
        return {"squaring": self.digest}

    def plan(self, study: Study[SquaresRecord]) -> Iterator[Batch]:
        rows = study.store.of(Square)
        left = [n for n in self.numbers if n not in rows or rows[n].error]
        study.progress.expected["squaring"] = len(left)
        study.progress.wanted = len(self.numbers)
        study.progress.answered = sum(n in rows for n in self.numbers)
        return self.work(left)

    def work(self, left: list[int]) -> Iterator[Batch]:
        for number in left:
            if number == self.stop:
                raise KeyboardInterrupt
            self.computed.append(number)
            failed = number in self.failing
            row = Square(number, None if failed else number**2, "down" if failed else None)
            yield Batch("squaring", 1, [row])


def values(study: Study[SquaresRecord]) -> dict[int, int | None]:
    return {row.number: row.value for row in study.store.of(Square).values()}


def test_an_interrupted_study_keeps_its_rows_and_goes_on(tmp_path: Path) -> None:
    cut = Study(Squares((1, 2, 3, 4), stop=3), MODELS, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        cut.run()
    assert (cut.progress.answered, cut.progress.wanted, cut.progress.done) == (2, 4, 2)
    assert cut.progress.seconds_left() is not None
    plugin = Squares((1, 2, 3, 4))
    rest = Study(plugin, MODELS, tmp_path)
    assert (rest.progress.answered, rest.progress.total) == (2, 2)
    rest.run()
    assert plugin.computed == [3, 4]
    assert values(rest) == {1: 1, 2: 4, 3: 9, 4: 16}
    assert rest.record.seconds > cut.record.seconds > 0.0


def test_what_failed_is_done_again_and_the_last_row_counts(tmp_path: Path) -> None:
    Study(Squares((1, 2), failing=frozenset({2}), digest="old"), MODELS, tmp_path).run()
    with pytest.raises(ConfigurationError, match="answers there of squaring .* other code"):
        Study(Squares((1, 2)), MODELS, tmp_path)
    mended = Study(Squares((1, 2), digest="old"), MODELS, tmp_path)
    mended.run()
    assert values(mended) == {1: 1, 2: 4}
    assert len((tmp_path / "squares.jsonl").read_bytes().splitlines()) == 3


def test_another_study_is_refused_until_it_starts_over(tmp_path: Path) -> None:
    Study(Squares((1, 2)), MODELS, tmp_path).run()
    with pytest.raises(ConfigurationError, match="seed: 0 there, 1 here.*--no-resume"):
        Study(Squares((1, 2), seed=1), MODELS, tmp_path)
    fewer = Study(Squares((1,)), MODELS, tmp_path)
    assert fewer.uncounted == 1
    start_over(tmp_path, Squares((1,)))
    assert list(tmp_path.iterdir()) == []
    fresh = Study(Squares((1, 2), seed=1), MODELS, tmp_path)
    fresh.run()
    assert values(fresh) == {1: 1, 2: 4}


def test_rows_without_their_record_are_of_nobody_knows_which_study(tmp_path: Path) -> None:
    Study(Squares((1, 2), seed=1), MODELS, tmp_path).run()
    (tmp_path / "study.json").unlink()
    with pytest.raises(ConfigurationError, match="rows without their study.json.*--no-resume"):
        Study(Squares((1, 2)), MODELS, tmp_path)
    start_over(tmp_path, Squares((1, 2)))
    Study(Squares((1, 2)), MODELS, tmp_path).run()


def test_each_kind_of_work_has_its_own_pace() -> None:
    progress = Progress()
    progress.expected.update({EVIDENCE_WORK: 10, "slow": 4, "fast": 4})
    assert progress.seconds_left() is None
    progress.finished.update({EVIDENCE_WORK: 10, "slow": 1, "fast": 2})
    progress.seconds |= {EVIDENCE_WORK: 5.0, "slow": 12.0, "fast": 2.0}
    assert progress.seconds_left() == pytest.approx(3 * 12.0 + 2 * 1.0)
    assert (progress.total, progress.done) == (18, 13)


def test_an_unknown_contender_takes_what_the_others_take() -> None:
    progress = Progress()
    progress.expected.update({EVIDENCE_WORK: 4, "new": 2})
    progress.finished[EVIDENCE_WORK] = 2
    progress.seconds[EVIDENCE_WORK] = 1.0
    assert progress.seconds_left() == pytest.approx(2 * 0.5 + 2 * 1.0)
    progress.finished["known"] = progress.expected["known"] = 1
    progress.seconds["known"] = 7.0
    assert progress.seconds_left() == pytest.approx(2 * 0.5 + 2 * 7.0)


def test_work_is_timed_and_counted() -> None:
    progress = Progress()
    for units in (2, 3):
        progress.record("radar", units, 0.5 * units)
    assert progress.finished["radar"] == 5
    assert progress.seconds["radar"] == 2.5
