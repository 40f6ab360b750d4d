"""The command that computes one cell of the table again."""

import shlex
from collections.abc import Iterator, Sequence

from radarstream.pipelines.evaluation.attacks.protocol import BENIGN, Condition
from radarstream.pipelines.evaluation.defences.records import Adaptation, Contender, DefencesRecord
from radarstream.pipelines.evaluation.defences.scorers import NOISE

OTHERS = {  # options of `radarstream evaluate` that ask for more than the cell, or elsewhere
    "--defenses", "--attacks", "--positions", "--condition", "--schedule", "--sweep",
    "--nli-noise", "--relation-scorers", "--adaptations", "--reference", "--out", "--amounts",
    "--placement",
}  # fmt: skip
SWITCHES = {"--json", "--resume", "--no-resume"}


def cell_command(record: DefencesRecord, contender: Contender, condition: Condition) -> str:
    """The run's command, narrowed to one contender under one condition and the clean one."""
    try:
        words = shlex.split(record.command)
    except ValueError:  # a quotation without its end: not a command of ours
        return record.command
    attack = ["--attacks", ""] if condition.attack == BENIGN else ["--condition", condition.name]
    return shlex.join([*_kept(words), *_contender(contender), *attack, "--out", "build/cell"])


def _kept(words: Sequence[str]) -> Iterator[str]:
    """What holds for every cell: data, models, k, seed."""
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in OTHERS:
            skip = True
        elif word not in SWITCHES and word.partition("=")[0] not in OTHERS:
            yield word


def _contender(contender: Contender) -> Iterator[str]:
    yield from ("--defenses", contender.name.removesuffix(f"[{contender.relations}]"))
    if contender.adaptation is Adaptation.NONE and not contender.name.endswith("+none"):
        yield from ("--adaptations", "none")
    if contender.relations.startswith(NOISE):
        yield from ("--nli-noise", contender.relations.removeprefix(NOISE))
    elif contender.relations:
        yield from ("--relation-scorers", contender.relations)
