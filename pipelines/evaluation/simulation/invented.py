"""Questions about invented towns, companies and clubs, for histories larger than the real ones."""

from datetime import date, timedelta
from random import Random

from radarstream.pipelines.evaluation.simulation.facts import Fact, Holding, office

_HEADS = ("Bel", "Cor", "Dun", "El", "Far", "Gal", "Hol", "Kes", "Lor", "Mar", "Nor", "Ost", "Pel")
_MIDDLES = ("a", "ber", "den", "e", "ing", "lo", "mi", "ra", "ster", "ti", "va", "wen")
_TAILS = ("brook", "croft", "dale", "fell", "gate", "holm", "mere", "nys", "rick", "stead", "vane")
_FORENAMES = (
    *("Ada", "Boris", "Carla", "Daniel", "Edith", "Felix", "Greta", "Hugo", "Irene", "Jonas"),
    *("Karin", "Leon", "Mona", "Nils", "Olga", "Paul", "Rosa", "Stefan", "Tilda", "Viktor"),
)
_POSITIONS = (
    (
        "mayor of {name}",
        "Who is the mayor of {name}?",
        ("tram lines", "the town hall", "flood walls"),
    ),
    (
        "chief executive of {name} Industries",
        "Who is the chief executive of {name} Industries?",
        ("factory sites", "export orders", "the annual report"),
    ),
    (
        "head coach of {name} Rovers",
        "Who is the head coach of {name} Rovers?",
        ("away matches", "the youth academy", "season tickets"),
    ),
    (
        "rector of the University of {name}",
        "Who is the rector of the University of {name}?",
        ("tuition fees", "the library", "new laboratories"),
    ),
    (
        "director of the {name} Museum",
        "Who is the director of the {name} Museum?",
        ("the new wing", "loan exhibitions", "school visits"),
    ),
)
_CHANGES = (0, 0, 1, 1, 2, 3, 4, 5)  # about a quarter of the questions never change
_FIRST_START = date(2009, 3, 1)
_LAST_START = date(2024, 9, 1)


def invented_facts(count: int, seed: int) -> list[Fact]:
    """`count` facts with distinct questions, the same for the same seed; a longer list of the
    same seed begins with the shorter one.
    """
    rng = Random(f"invented facts {seed}")
    facts: dict[str, Fact] = {}
    while len(facts) < count:
        fact = _invent(rng)
        facts.setdefault(fact.question, fact)
    return list(facts.values())


def _invent(rng: Random) -> Fact:
    role, question, topics = rng.choice(_POSITIONS)
    name = _name(rng)
    people = _people(rng, 10)
    changes = rng.choice(_CHANGES)
    starts = [_FIRST_START + timedelta(days=rng.randrange(700))]
    starts += sorted(_change_days(rng, changes))
    role = role.format(name=name)
    return Fact(
        question=question.format(name=name),
        kind="office",
        holdings=tuple(
            Holding(start, (person,)) for start, person in zip(starts, people, strict=False)
        ),
        aliases={},
        false_answers=tuple(people[6:]),
        topics=topics,
        phrases=office(role),
        synthetic=True,
    )


def _change_days(rng: Random, changes: int) -> list[date]:
    """Distinct years, so that nobody holds a position for less than a few months."""
    years = rng.sample(range(2012, _LAST_START.year + 1), changes)
    return [date(year, rng.randint(3, 9), rng.randint(1, 28)) for year in years]


def _name(rng: Random) -> str:
    return rng.choice(_HEADS) + rng.choice(_MIDDLES) + rng.choice(_TAILS)


def _people(rng: Random, count: int) -> list[str]:
    """Full names whose forenames and surnames all differ."""
    surnames: dict[str, None] = {}
    while len(surnames) < count:
        surnames[_name(rng)] = None
    return [
        f"{first} {last}"
        for first, last in zip(rng.sample(_FORENAMES, count), surnames, strict=True)
    ]
