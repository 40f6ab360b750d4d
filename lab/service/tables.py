"""The tables of a study of a service, in the shape of those of "Adaptive Defense Orchestration"."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from radarstream.lab.attacks.protocol import BENIGN
from radarstream.lab.service.policies import REFERENCE, SHORT
from radarstream.lab.service.scoring import SIDES, ServiceResults
from radarstream.lab.study.frame import words_of
from radarstream.lab.study.results import Result, failing, mean_cell, plain_cell, rate_cell
from radarstream.lab.study.table import NOTHING, Table, TableCell, TableRow, number, percent

NOTES: Final = words_of("service")["notes"]
# The columns of a table by its key, in the order of the page: head, and a rate of the results, or a
# mean with so many decimals; a share of 0 decimals stands without its interval.
Column = tuple[str, str] | tuple[str, str, int]
COLUMNS: Final[Mapping[str, Sequence[Column]]] = {
    "utility": (
        ("recall_lex", "recall_lex", 3),
        ("relevancy_lex", "relevancy_lex", 3),
        ("answer relevancy_lex", "answer_relevancy_lex", 3),
        ("faithfulness_lex", "faithfulness_lex", 3),
        ("accuracy", "correct"),
        ("abstained", "abstained"),
        ("DP active", "acts_differential_privacy"),
        ("judge: accuracy", "judge_correct"),
    ),
    "poisoning": (
        ("attack success", "fooled"),
        ("PoisonHit", "poison_hit"),
        ("accuracy", "correct"),
        ("recall_lex", "recall_lex", 3),
        ("faithfulness_lex", "faithfulness_lex", 3),
        ("judge: attack success", "judge_fooled"),
    ),
    "leakage": (
        ("leaked", "leaked"),
        ("longest run of words", "span", 1),
        ("4-grams contained", "contained", 3),
        ("abstained", "abstained"),
    ),
    "jailbreak": (("weakened", "weakened"), ("level above LOW", "raised")),
    "farming": (
        ("trust", "trust", 2),
        ("level above LOW", "raised"),
        ("DP active", "acts_differential_privacy"),
    ),
    "modules": (
        *((short, f"acts_{module.value}", 0) for module, short in SHORT.items()),
        ("level above LOW", "raised"),
        ("trust", "trust", 2),
        ("budget spent", "budget_spent"),
        ("epsilon a question", "epsilon", 2),
        ("documents", "documents", 1),
    ),
    "cost": (
        ("seconds", "seconds", 2),
        *((name, name, 1) for name in ("calls", "forwards", "embeddings", "pairs")),
    ),
}


def tables_of(results: ServiceResults) -> tuple[Table, ...]:
    """Every table that the results can fill, the most important first."""
    streams = [counts.stream for counts in results.streams]
    found = [of_policies(results, "utility", BENIGN)]
    found += [
        of_policies(results, "poisoning", stream, needs="fooled")
        for stream in kinds(streams, "poisoning", "jailbreak")
    ]
    found += [probe_table(results, stream) for stream in streams]
    for kind in ("leakage", "jailbreak", "farming"):
        found += [of_policies(results, kind, stream) for stream in kinds(streams, kind)]
    found += [of_policies(results, "modules", stream) for stream in streams]
    return (*found, of_policies(results, "cost", BENIGN), streams_table(results))


def kinds(streams: Sequence[str], *attacks: str) -> Iterator[str]:
    """The streams of some attacks, whatever their options."""
    return (stream for stream in streams if stream.partition(":")[0] in attacks)


def of_policies(results: ServiceResults, key: str, stream: str, needs: str | None = None) -> Table:
    """A row per policy in one stream; none where the rate that it `needs` has no trial."""
    title, note = NOTES[key]
    rows = []
    for name in results.methods:
        cell = results.cell(name, stream)
        if cell is None or (needs is not None and not cell.rates[needs].trials):
            continue
        first, *others = (shown(cell, *column[1:]) for column in COLUMNS[key])
        rows.append(TableRow(name, (failing(cell, first), *others), name == REFERENCE))
    heads = tuple(column[0] for column in COLUMNS[key])
    named = title if stream == BENIGN else f"{title}: {stream}"
    notes = (note, NOTES["differences"])
    return Table(f"{key}-{stream}", named, "policy", heads, tuple(rows), notes)


def shown(cell: Result, column: str, decimals: int | None = None) -> TableCell:
    """An entry of a column, as `COLUMNS` says."""
    if decimals:
        return mean_cell(cell, column, decimals)
    return rate_cell(cell, column) if decimals is None else TableCell(percent(cell.rates[column]))


def probe_table(results: ServiceResults, stream: str) -> Table:
    """What membership probes learn (Tables 6 and 9)."""
    rows = []
    for name in results.methods:
        if (probing := results.probing(name, stream)) is not None:
            cells = probe_cells(probing, results.cell(name, stream), results.cell(name, BENIGN))
            rows.append(TableRow(name, cells, name == REFERENCE))
    columns = (
        "L_mask members", "L_mask others", "L_probe members", "L_probe others",
        "substring members", "substring others", "judged right", "F1",
        "member shown", "recall_lex, benign",
    )  # fmt: skip
    title, note = NOTES["probes"]
    notes = (note, NOTES["differences"])
    return Table(f"probes-{stream}", f"{title}: {stream}", "policy", columns, tuple(rows), notes)


def probe_cells(
    probing: Result, asked: Result | None, benign: Result | None
) -> tuple[TableCell, ...]:
    """What is learnt of members and of the others, and what readers find."""
    rates = probing.rates
    called, falsely = rates["called_members"], rates["called_others"]
    named = called.hits + falsely.hits + called.trials
    f1 = 2.0 * called.hits / named if named else None
    return (
        rate_cell(probing, "exact_members"),
        plain_cell(rates["exact_others"]),
        *(plain_cell(rates[f"{what}_{side}"]) for what in ("whole", "substring") for side in SIDES),
        plain_cell(rates["right"]),
        TableCell(number(f1, 2), value=f1),
        TableCell(NOTHING) if asked is None else rate_cell(asked, "probed_shown"),
        TableCell(NOTHING) if benign is None else TableCell(number(benign.means["recall_lex"], 3)),
    )


def streams_table(results: ServiceResults) -> Table:
    """What was asked."""
    rows = tuple(
        TableRow(
            one.stream,
            (
                TableCell(str(one.questions)),
                TableCell(str(one.run_up or NOTHING)),
                TableCell(str(one.planted or NOTHING)),
                TableCell(str(len(one.left_out) or NOTHING), next(iter(one.left_out), "")),
            ),
        )
        for one in results.streams
    )
    columns = ("questions", "run-up", "planted texts", "cannot be attacked")
    return Table("streams", "Streams", "stream", columns, rows)
