"""How contenders are drawn: one colour per defence, and panels that are not too full."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from radarstream.pipelines.evaluation.defences.records import Adaptation, Contender, DefencesRecord
from radarstream.pipelines.pages.scales import Series

MOST = 10  # contenders in one panel, before panels are split
UNDEFENDED = "vanilla"
ALONE = "alone"
VARIANTS = "variants"


@dataclass(frozen=True, slots=True)
class Group:
    """Contenders that share a panel; `title` is empty where all of them do."""

    title: str
    series: tuple[Series, ...]

    def heading(self, title: str) -> str:
        """Title of a panel of this group."""
        return f"{title}, {self.title}" if self.title else title


def series_of(record: DefencesRecord) -> list[Series]:
    """Contenders of one defence share a colour; grey is the undefended generator, or else the
    reference.
    """
    defenses = list(dict.fromkeys(contender.defense for contender in record.contenders))
    reference = next((c.defense for c in record.contenders if c.name == record.reference), "")
    grey = UNDEFENDED if UNDEFENDED in defenses else reference
    others = [defense for defense in defenses if defense != grey]
    seen: dict[str, int] = {}
    series = []
    for contender in record.contenders:
        variant = seen.setdefault(contender.defense, 0)
        seen[contender.defense] += 1
        number = 0 if contender.defense == grey else others.index(contender.defense) + 1
        series.append(Series(contender.name, number, variant))
    return series


def groups_of(record: DefencesRecord, series: Sequence[Series]) -> list[Group]:
    """One group, or, where contenders are many, one per adaptation to time and one of variants.

    Every group of several has the reference to compare with.
    """
    if len(series) <= MOST:
        return [Group("", tuple(series))]
    titles = [_title(contender) for contender in record.contenders]
    return [
        Group(
            title,
            tuple(
                replace(one, label=one.name.removesuffix(f"+{title}"))
                for one, own in zip(series, titles, strict=True)
                if own == title or one.name == record.reference
            ),
        )
        for title in dict.fromkeys(titles)
    ]


def _title(contender: Contender) -> str:
    if contender.options or contender.relations:
        return VARIANTS
    if contender.adaptation in (Adaptation.OWN, Adaptation.NONE):
        return ALONE
    return str(contender.adaptation)
