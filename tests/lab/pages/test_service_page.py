"""The page of a study of a service: its figures, hostile texts inert."""

import pytest

from radarstream.lab.pages.service import SERVICE
from radarstream.lab.service.study import ServiceStudy
from radarstream.lab.study.harness import REPORT
from tests.lab.pages.attribution_pages import hostile_data
from tests.lab.service_studies import Bench, lands
from tests.pipelines.pages.page_checks import ParsedPage, check_inert
from tests.pipelines.pages.report_run import IMAGE


def written(study: ServiceStudy) -> str:
    SERVICE.report(study.out, study.record, study.store)
    return (study.out / REPORT).read_text("utf-8")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> ServiceStudy:
    bench = Bench(tmp_path_factory.mktemp("study") / "out")
    return bench.run(
        "mba:each=true,poisoning,leakage",
        "static:audit,static",
        dataset=lands(),
        members=3,
        others=2,
    )


def test_the_page_opens_with_what_attackers_get(study):
    shown = ParsedPage(written(study)).text
    assert "mba:each=true: hidden words told" in shown
    assert "poisoning: attack success 100% without modules" in shown
    assert "What attackers get: without modules ○, under static ●" in shown
    for words in ("Readers' questions", "Planted texts: poisoning", "Membership probes",
                  "Requests for the documents: leakage", "What acts", "What it costs"):  # fmt: skip
        assert words in shown


def test_without_an_attack_nobody_attacked(tmp_path):
    assert "Nobody attacked." in ParsedPage(written(Bench(tmp_path / "out").run())).text


def test_hostile_texts_are_inert(tmp_path):
    study = Bench(tmp_path / "out").run(
        "mba,poisoning,leakage", "static", dataset=hostile_data(), command=IMAGE, notes=(IMAGE,)
    )
    check_inert(written(study))
