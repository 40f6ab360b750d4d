"""The harness with a plug-in of its own: what any kind of study can rely on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from radarstream.connectors.models.scripted import (
    ScriptedEmbedder,
    ScriptedGenerator,
    ScriptedRelations,
)
from radarstream.lab.study.datasets import Dataset
from radarstream.lab.study.harness import Progress, Study, start_over
from radarstream.lab.study.kind import Keys, Kind, Request, Rows
from radarstream.lab.study.rows import EVIDENCE_WORK, StudyRow
from radarstream.lab.study.specs import Spec
from radarstream.pipelines.settings import load_settings
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import ConfigurationError

MODELS = Models(ScriptedGenerator(), ScriptedRelations(), ScriptedEmbedder())


@dataclass(frozen=True, slots=True, kw_only=True)
class Square(StudyRow):
    value: int


class Squares(Kind):
    """Squares numbers, one a batch; stops before `stop`."""

    name: ClassVar[str] = "squares"
    files: ClassVar[Mapping[type[Any], str]] = {Square: "squares.jsonl"}
    gathers: ClassVar[str] = "nothing"

    def __init__(
        self,
        numbers: tuple[int, ...],
        stop: int | None = None,
        seed: int = 0,
    ) -> None:
        self.stop = stop
        settings = load_settings(profile="scripted")
        self.request = Request(dataset=Dataset("n", (), "0"), settings=settings, seed=seed)
        self.k, self.models, self.facts, self.reference = 1, MODELS, {}, "squaring"
        self.conditions, self.methods = ("all",), (Spec("squaring", "squaring"),)
        self.asked = tuple(f"q{number}" for number in numbers)
        self.computed: list[int] = []

    def missing(self, condition: str) -> Sequence[Any]:
        return []

    def gather(self, condition: str, items: Sequence[Any]) -> Rows:
        raise AssertionError

    def owed(self, method: Spec, condition: str) -> Keys:
        return {id_: [("squaring", "all", id_, 0)] for id_ in self.asked}

    def answer(
        self, method: Spec, condition: str, items: Sequence[str]
    ) -> Iterator[tuple[int, Rows]]:
        for id_ in items:
            number = int(id_[1:])
            if number == self.stop:
                raise KeyboardInterrupt
            self.computed.append(number)
            row = Square(contender="squaring", condition="all", query_id=id_, value=number**2)
            yield 1, [row]


def values(study: Study) -> dict[int, int]:
    return {int(row.query_id[1:]): row.value for row in study.store.of(Square).values()}


def test_an_interrupted_study_keeps_its_rows_and_goes_on(tmp_path: Path) -> None:
    cut = Study(Squares((1, 2, 3, 4), stop=3), tmp_path)
    with pytest.raises(KeyboardInterrupt):
        cut.run()
    assert (cut.progress.answered, cut.progress.wanted, cut.progress.done) == (2, 4, 2)
    assert cut.progress.seconds_left() is not None
    plugin = Squares((1, 2, 3, 4))
    rest = Study(plugin, tmp_path)
    assert (rest.progress.answered, rest.progress.total) == (2, 2)
    rest.run()
    assert plugin.computed == [3, 4]
    assert values(rest) == {1: 1, 2: 4, 3: 9, 4: 16}
    assert rest.record.seconds > cut.record.seconds > 0.0


def test_rows_without_their_record_are_of_nobody_knows_which_study(tmp_path: Path) -> None:
    Study(Squares((1, 2), seed=1), tmp_path).run()
    (tmp_path / "study.json").unlink()
    with pytest.raises(ConfigurationError, match="rows without their study.json.*--no-resume"):
        Study(Squares((1, 2)), tmp_path)
    start_over(tmp_path, Squares((1, 2)))
    Study(Squares((1, 2)), tmp_path).run()


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
