"""`radarstream evaluate` as a user meets it: results, errors, interruption, resumption."""

import json
import signal
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
from typer.testing import CliRunner

from radarstream.connectors.files.directories import hold_directory
from radarstream.connectors.models.scripted import ScriptedGenerator
from radarstream.defenses.registry import DEFENSES
from radarstream.lab.defences.records import Row
from radarstream.lab.study.rows import RowFile
from radarstream.pipelines.cli import terminal
from radarstream.pipelines.cli.app import app
from radarstream.schemas.codec import encode
from tests import commands
from tests.end_to_end.interrupting import interrupted
from tests.lab.defence_studies import make_history, read_rows

RIVALS = "radar,vanilla,reliability_rag"


pytestmark = pytest.mark.usefixtures("own_directory")


@pytest.fixture(scope="module")
def cups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four questions, asked once."""
    return written(tmp_path_factory.mktemp("cups") / "cups.jsonl", [["Rome"], ["Bern"]] * 2)


def written(file: Path, winners: list[list[str]]) -> Path:
    histories = [make_history(number, answers) for number, answers in enumerate(winners)]
    file.write_bytes(b"".join(encode(s) + b"\n" for history in histories for s in history))
    return file


run = partial(commands.run, "evaluate")
refused = partial(commands.refused, "evaluate")


def verdicts(out: Path) -> dict[object, object]:
    return {key: (row.verdict, row.error) for key, row in read_rows(out).items()}


def test_the_table_of_the_paper_in_one_command(cups: Path) -> None:
    result = run(
        "--dataset", cups, "--dry-run", "--defenses", "all", "--attacks", "pia,poison",
        "--positions", "1,3", "-k", 3, "--out", "out"
    )  # fmt: skip
    for name in (*DEFENSES, "benign", "pia@1", "pia@3", "poison@1", "poison@3"):
        assert name in result.output
    assert "Cost of an answer" in result.output
    out = Path("out")
    assert len(read_rows(out)) == len(DEFENSES) * 5 * 4
    record = json.loads((out / "study.json").read_text())
    assert record["command"].startswith("radarstream ")
    assert record["reference"] == "radar"
    results = json.loads((out / "results.json").read_text())
    assert len(results["cells"]) == len(DEFENSES) * 6  # and all attacks together
    assert all(cell["errors"] == 0 for cell in results["cells"])


def test_json_is_the_whole_result(cups: Path) -> None:
    options = ["--dataset", cups, "--dry-run", "--attacks", "", "--defenses", RIVALS]
    output = run(*options, "--out", "out", "--json", "--reference", "vanilla").stdout
    found = json.loads(output)
    assert found["record"]["command"]
    assert found["results"]["groups"] == ["benign"]
    assert found["results"] == json.loads(Path("out/results.json").read_text())
    assert found["results"]["reference"] == "vanilla"


def test_bars_end_a_pipeline_and_junit_tells_which(cups: Path) -> None:
    options = ["--dataset", cups, "--dry-run", "--attacks", "pia", "--positions", "1"]
    options += ["--defenses", "production,vanilla", "--reference", "production", "--out", "out"]
    run(*options, "--fail-under", "accuracy=0,attack_success=1", "--junit", "good.xml")
    good = ElementTree.parse("good.xml").getroot()
    assert (good.get("tests"), good.get("failures")) == ("3", "0")
    names = [case.get("name") for case in good]
    assert names == ["accuracy benign", "accuracy pia@1", "attack_success pia@1"]
    code, said = refused(*options, "--fail-under", "abstention=0,accuracy=1", "--junit", "bad.xml")
    cells = {c["condition"]: c for c in json.loads(Path("out/results.json").read_text())["cells"]
             if c["contender"] == "production"}  # fmt: skip
    missed = [
        f"{metric}, {condition}"
        for metric, column, bar in (("abstention", "abstained", 0.0), ("accuracy", "correct", 1.0))
        for condition, cell in cells.items()
        if cell["rates"][column]["value"] != bar
    ]
    assert missed and code == 1
    assert all(one in said for one in missed)
    bad = ElementTree.parse("bad.xml").getroot()
    assert bad.get("failures") == str(len(missed)) == str(len(bad.findall("testcase/failure")))
    calm = ["--dataset", cups, "--dry-run", "--attacks", "", "--defenses", "vanilla"]
    code, said = refused(*calm, "--out", "calm", "--fail-under", "attack_success=0")
    assert (code, "this study measures no attack_success" in said) == (2, True)


def test_all_answers_are_written_as_a_table_and_scored_by_the_wanted_definition(
    tmp_path: Path,
) -> None:
    """7 is in the answer "2017", but is not what it says."""
    year = {"docs": ["Oslo won it in 2017."] * 3, "answer": "7", "incorrect_answer": "1"}
    item = {"question": "In which year did Oslo win it?", "yearly_contexts": {"2018": year}}
    data = tmp_path / "history.json"
    data.write_text(json.dumps(item))
    common = ("--dataset", data, "--dry-run", "--defenses", "vanilla", "--attacks", "")
    whole = run(*common, "--out", "out", "--table", "answers.parquet")
    frame = pl.read_parquet("answers.parquet")
    assert frame.select("contender", "condition", "step").rows() == [("vanilla", "benign", 0)]
    assert frame["correct"].to_list() == [False]
    assert frame["contained_correct"].to_list() == [True]
    accuracy = json.loads(Path("out/results.json").read_text())["cells"][0]["rates"]["correct"]
    assert (accuracy["hits"], accuracy["trials"]) == (0, 1)
    assert "Accuracy / attack success (whole words)" in " ".join(whole.stdout.split())
    tables = Path("out/tables.md").read_text()
    assert "(contained)" in tables and "(whole words)" in tables
    again = CliRunner().invoke(app, ["report", "out"])
    assert again.exit_code == 0, again.output
    assert Path("out/tables.md").read_text() == tables


def test_conditions_may_be_spelled_out(cups: Path, tmp_path: Path) -> None:
    run("--dataset", cups, "--dry-run", "--defenses", "vanilla", "--out", "a",
              "--condition", "pia@1", "--condition", "poison@2+3", "--limit", 2)  # fmt: skip
    conditions = {key[1] for key in read_rows(Path("a"))}
    assert conditions == {"benign", "pia@1", "poison@2+3"}
    histories = written(tmp_path / "h.jsonl", [["Rome", "Bern", "Oslo"], ["Cork", "Cork"]])
    run(
        "--dataset", histories, "--dry-run", "--defenses", "radar,radar+none,vanilla",
        "--attacks", "pia", "--positions", "1", "--schedule", "late-1", "--out", "b"
    )  # fmt: skip
    contenders = {key[0] for key in read_rows(Path("b"))}
    assert contenders == {
        "radar",
        "radar+none",
        "vanilla",
        "vanilla+cumulative",
        "vanilla+lightweight",
    }
    attacked = {k[2:]: r.labels.attack for k, r in read_rows(Path("b")).items() if "late" in k[1]}
    assert {step: attack for (_, step), attack in attacked.items()} == {0: None, 1: "pia", 2: "pia"}


def test_a_schedule_that_never_applies_and_questions_without_documents_are_noted(
    tmp_path: Path, cups: Path
) -> None:
    bare = tmp_path / "bare.json"
    bare.write_text(
        json.dumps(
            {
                "test1": {
                    "id": "test1",
                    "question": "Who?",
                    "correct answer": "A",
                    "incorrect answer": "B",
                    "adv_texts": ["B did."],
                }
            }
        )
    )
    run("--dataset", cups, "--dataset", bare, "--dry-run", "--defenses", "vanilla",
              "--condition", "pia@1:1999", "--out", "out")  # fmt: skip
    notes = " ".join(json.loads(Path("out/study.json").read_text())["notes"])
    assert "pia@1:1999: attacks no step of any question" in notes
    assert "questions without any documents of their own: 1" in notes


def test_wrong_usage_is_told_in_a_line(cups: Path) -> None:
    for arguments, message in {
        "--defenses radr": "no defence named 'radr'",
        "--defenses=": "no method is left to evaluate",
        "--attacks pio": "pio",
        "--positions 0": "pia@0",
        "--positions 11": "beyond k = 10",
        "--condition pia": "cannot read attack 'pia'",
        "--condition pia@1 --schedule late-3": "says when by itself",
        "--adaptations bogus": "no adaptation 'bogus'",
        "--attacks pia,poisonedrag": "separate runs",
        "--reference astute": "no contender 'astute'",
        "--config none.toml": "no settings file",
        "--dataset missing.json": "missing.json",
        "--table answers.xlsx": "a table is written as .parquet or .csv",
        "--fail-under speed=1": "no metric 'speed'; there are accuracy",
        "--fail-under=": "no metric ''",  # of a variable that is not set
        "--fail-under accuracy=60": "a share in [0, 1]",
        "--fail-under accuracy=nan": "a share in [0, 1]",
        "--junit x.xml": "--junit needs --fail-under",
    }.items():
        dataset = [] if "--dataset" in arguments else ["--dataset", cups]
        code, error = refused(*dataset, "--dry-run", "--out", "out", *arguments.split())
        assert code == 2
        assert message in " ".join(error.split())
        assert not list(Path().glob("out/*.jsonl"))


def test_another_experiment_in_the_directory_is_refused(cups: Path) -> None:
    common = ["--dataset", cups, "--dry-run", "--defenses", "vanilla", "--out", "out"]
    run(*common, "--positions", "1")
    code, error = refused(*common, "--positions", "1", "--reranker", "grada")
    assert (code, "reranker: none there" in error) == (2, True)
    run(*common, "--positions", "1", "-k", 2, "--no-resume")


@pytest.mark.parametrize(("text", "failed"), [("Page", "all"), ("of 1:", "one")])
def test_a_contender_that_always_fails_ends_with_1_and_a_few_errors_are_a_note(
    cups: Path, monkeypatch: pytest.MonkeyPatch, text: str, failed: str
) -> None:
    made = ScriptedGenerator.__init__

    def failing(self: ScriptedGenerator, **options: object) -> None:
        made(self, **{**options, "fail_on_text": text})  # type: ignore[arg-type]

    monkeypatch.setattr(ScriptedGenerator, "__init__", failing)
    words = ("--dataset", cups, "--dry-run", "--attacks", "", "--out", "out")
    if failed == "one":
        assert "1 answer failed;" in run(*words, "--defenses", "vanilla").output
    else:
        code, error = refused(*words, "--defenses", "radar,vanilla")
        assert code == 1
        assert "no answer without an error from radar, vanilla" in error
    assert Path("out/results.json").exists()


def test_settings_may_name_a_cache_to_share(cups: Path, tmp_path: Path) -> None:
    config = tmp_path / "shared.toml"
    config.write_text('profile = "scripted"\ndatabase = "sqlite:///shared.sqlite"\n')
    options = ["--dataset", cups, "--config", config, "--defenses", "vanilla", "--attacks", ""]
    run(*options, "--out", "a")
    size = Path("shared.sqlite").stat().st_size
    assert size > 0
    assert not Path("a/state.sqlite").exists()


def test_a_judge_adds_its_scores(cups: Path, tmp_path: Path) -> None:
    options = ["--dataset", cups, "--dry-run", "--defenses", "vanilla", "--attacks", ""]
    judge = tmp_path / "judge.toml"
    judge.write_text('profile = "scripted"\n')
    for out, named in (("a", "own"), ("b", str(judge))):
        result = run(*options, "--out", out, "--judge", named)
        assert "By a judge" in result.output
        lines = Path(out, "judgements.jsonl").read_bytes().splitlines()
        assert {json.loads(line)["label"] for line in lines} == {"CORRECT", "OTHER"}
        assert "judged by scripted/3" in json.loads(Path(out, "study.json").read_text())["notes"]
    assert run(*options, "--out", "c", "--judge", "none.toml", exit_code=1).exception is not None


def test_a_directory_has_one_writer(cups: Path) -> None:
    Path("out").mkdir()
    with hold_directory(Path("out")):
        code, error = refused("--dataset", cups, "--dry-run", "--out", "out")
    assert code == 2
    assert "is writing to out" in error


@pytest.mark.parametrize(
    ("number", "call", "code"),
    [(signal.SIGTERM, 9, 143), pytest.param(signal.SIGKILL, 12, -9, marks=pytest.mark.long)],
)
def test_an_evaluation_goes_on_where_it_was_cut_off(
    tmp_path: Path, number: signal.Signals, call: int, code: int
) -> None:
    """Also in the background of a shell without job control, as commands of a script run."""
    data = written(tmp_path / "h.jsonl", [["Rome", "Bern"], ["Oslo", "Cork"], ["Graz"]])
    (tmp_path / "small.toml").write_text("[batch]\nsnapshots = 2\nqueries = 1\n")
    common = ["--dataset", data, "--dry-run", "--config", tmp_path / "small.toml", "--defenses",
              RIVALS, "--attacks", "pia", "--positions", "1", "--adaptations", "none"]  # fmt: skip
    run(*common, "--out", "whole")
    arguments = ["evaluate", *map(str, common), "--out", "out"]
    ended, error = interrupted(tmp_path, call, number, arguments, background=True)
    assert ended == code
    cut = len(read_rows(Path("out")))
    told = f"interrupted: {cut} of 30 answers are kept in out\nto go on: radarstream evaluate "
    assert (number != signal.SIGKILL) == (told in error)
    if number != signal.SIGKILL:  # what is there can be looked at
        assert error.endswith("what there is: radarstream report out\n")
        shown = CliRunner().invoke(app, ["report", "out"]).output.replace("\n", " ")
        assert "The run was cut short: the same command goes on." in shown
    assert cut < len(read_rows(Path("whole")))
    with Path("out/rows.jsonl").open("ab") as rows:
        rows.write(b'{"contender":"radar","cond')  # what a crash amid a write leaves
    resumed = run(*common, "--out", "out")
    assert f"{cut} of 30 answers are in out already" in resumed.stderr
    assert verdicts(Path("out")) == verdicts(Path("whole"))
    found, expected = (json.loads(Path(d, "results.json").read_text()) for d in ("out", "whole"))
    for results in (found, expected):
        for cell in (*results["cells"], *results["documents"]):
            cell["means"] = {k: v for k, v in cell["means"].items() if "seconds" not in k}
    assert found == expected


def test_an_error_tells_what_is_done(cups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    appended = RowFile.append
    batches = iter(range(3))

    def full(self: RowFile, lines: Sequence[Row]) -> None:
        if lines and isinstance(lines[0], Row) and next(batches, None) is None:
            raise OSError(28, "No space left on device")
        appended(self, lines)

    monkeypatch.setattr(RowFile, "append", full)
    code, error = refused("--dataset", cups, "--dry-run", "--defenses", RIVALS,
                          "--attacks", "pia", "--positions", "1", "--out", "out")  # fmt: skip
    done = len(read_rows(Path("out")))
    assert code == 1
    assert f"stopped by an error: {done} of 24 answers are kept in out" in error
    assert "No space left" in error
    assert 0 < done < 24


def test_fewer_questions_than_are_there_are_told_and_lose_nothing(cups: Path) -> None:
    common = ["--dataset", cups, "--dry-run", "--attacks", "pia", "--positions", "1"]
    run(*common, "--defenses", "radar,vanilla", "--out", "out")
    rows, results = read_rows(Path("out")), Path("out/results.json").read_bytes()
    part = run(*common, "--defenses", "radar,vanilla,trust_rag", "--out", "out", "--limit", 1)
    assert "4 of 6 answers are in out already" in part.stderr
    assert "answers to 3 other questions are kept there and not counted" in part.stderr
    cells = json.loads(Path("out/results.json").read_text())["cells"]
    assert {(c["contender"], c["rows"]) for c in cells} == {
        ("radar", 1), ("vanilla", 1), ("trust_rag", 1),
    }  # fmt: skip
    assert rows.items() <= read_rows(Path("out")).items()
    again = run(*common, "--defenses", "radar,vanilla", "--out", "out")
    assert "16 of 16 answers are in out already" in again.stderr
    assert "not counted" not in again.stderr
    found, before = json.loads(Path("out/results.json").read_text()), json.loads(results)
    kept = [cell for cell in found["cells"] if cell["contender"] != "trust_rag"]
    assert [c["rates"] for c in kept] == [c["rates"] for c in before["cells"]]


def test_a_narrow_terminal_shows_whole_names_and_the_verdict(
    cups: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal.stdout, "_width", 80)
    result = run(
        "--dataset", cups, "--dry-run", "--positions", "1,2,3", "-k", 3,
        "--defenses", "all,radar:similarity_threshold=0.1234567", "--out", "out"
    )  # fmt: skip
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" not in result.stdout
    assert sum(line.startswith("reliability_rag ") for line in lines) >= 3
    assert "Accuracy / attack success (whole words), continued" in result.stdout
    (heads,) = [line for line in lines if "calls" in line and "seconds" in line]
    assert heads.split() == [
        "defence",
        "seconds",
        "calls",
        "tokens",
        "in",
        "tokens",
        "out",
        "pairs",
    ]
    assert lines[-1] == "report: out/report.html"
    assert any(line.startswith("All attacks: radar (attack success") for line in lines)


def test_report_renders_the_same_files_again(tmp_path: Path) -> None:
    histories = written(
        tmp_path / "h.jsonl", [["Rome", "Bern", "Oslo"], ["Cork", "Cork"], ["Graz"]]
    )
    options = ["--dataset", histories, "--dry-run", "--defenses", RIVALS, "--condition",
               "pia@1:late-1", "--out", "out"]  # fmt: skip
    run(*options, "--judge", "own")
    run(*options, "--limit", 2)  # what the judge said still counts, the third question not
    files = [Path("out") / name for name in ("report.html", "tables.md")]
    before = [file.read_bytes() for file in files]
    assert all(words in before[1] for words in (b"By a judge", b"Reading: page by page"))
    for file in files:
        file.unlink()
    rendered = CliRunner().invoke(app, ["report", "out"])
    assert rendered.exit_code == 0, (rendered.output, rendered.exception)
    assert [file.read_bytes() for file in files] == before


def test_a_reader_by_labels_against_planted_sites(cups: Path, tmp_path: Path) -> None:
    """Three pages, each on a site of its own: two must say what `voices` answers."""
    data = tmp_path / "sites.jsonl"
    lines = [json.loads(line) for line in cups.read_text().splitlines()]
    for line in lines:
        for document in line["documents"]:
            document["url"] = f"https://site-{document['rank']}.example/"
    data.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run(
        "--dataset", data, "--reader", "labels", "--defenses", "voices,majority",
        "--attacks", "claim-varied", "--positions", "1,1..2,1..3,1..3/one-site", "-k", 3,
        "--out", "out"
    )  # fmt: skip
    board = json.loads(Path("out/results.json").read_text())
    own, one = board["planted"]
    assert board["language_model"]["tier"] == "labels"
    names = ("accuracy", "attack_success", "silence")
    rates = {
        ("all on one" in found["title"], contender): [
            [point[name]["value"] for name in names] for point in points
        ]
        for found in (own, one)
        for contender, points in found["curves"].items()
    }
    assert rates[False, "majority"] == [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]]
    assert rates[False, "voices"] == [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]]
    assert rates[True, "voices"][-1] == [0, 0, 1]
    assert "reader: labels" in Path("out/tables.md").read_text()
