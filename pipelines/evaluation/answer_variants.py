"""Rewordings of a short answer that keep its meaning, made by rule: the same every time."""

import re

_UNIT_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty"
)
_TEN_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
_MONTH_WORDS = (
    "January February March April May June July August September October November December"
)
_MONTHS = _MONTH_WORDS.split()
_MONTH = "|".join(_MONTHS)
_AMERICAN = re.compile(rf"^({_MONTH}) (\d{{1,2}}), (\d{{4}})$")
_BRITISH = re.compile(rf"^(\d{{1,2}}) ({_MONTH})$")
_PERSON = re.compile(r"^([A-Z][a-z]+) (?:[A-Z]\. )?([A-Z][a-z]+)$")
_MILLIONS = re.compile(r"^([$\u00a3\u20ac])(\d+(?:\.\d+)?) (million|billion)$")


def equivalents(question: str, answer: str) -> list[str]:
    """Other ways to give `answer` to `question`, without repeats; the answer itself left out.

    >>> equivalents("how many seasons are there", "4")[:2]
    ['four', 'The answer is 4.']
    """
    bare = answer.strip().rstrip(".")
    if bare.casefold() in {"yes", "no"}:
        return [f"{bare.capitalize()}.", bare.upper(), f"The answer is {bare}."]
    made = [*_numbers(bare), *_dates(bare), *_people(question, bare), *_sentences(question, bare)]
    made += [bare.upper() if bare.islower() else bare.casefold()]
    return [variant for variant in dict.fromkeys(made) if variant != answer]


def near_miss(right: str, wrong: str) -> list[str]:
    """A wrong answer that shares a word with the right one: half of each, where both are phrases.

    >>> near_miss("Elvis Presley", "Frank Sinatra")
    ['Frank Presley']
    """
    ours, theirs = right.split(), wrong.split()
    if min(len(ours), len(theirs)) < 2 or not all(word.isalpha() for word in [*ours, *theirs]):
        return []
    if min(len(ours[0]), len(theirs[0])) < 3 or "The" in (ours[0], theirs[0]):
        return []  # an article or initial swapped is no other answer
    return [" ".join([theirs[0], *ours[1:]])] if ours[0] != theirs[0] else []


def coarser(answer: str) -> list[str]:
    """Answers that follow from a full date but do not imply it: its month, its year."""
    match = _AMERICAN.match(answer)
    return [f"{match[1]} {match[3]}", match[3]] if match else []


def _numbers(answer: str) -> list[str]:
    made: list[str] = []
    if answer.isdigit() and len(answer) < 3:
        made.append(spelled(int(answer)))
    if answer.isdigit() and len(answer) == 4 and not 1500 <= int(answer) <= 2100:
        made.append(f"{int(answer):,}")
    if answer.endswith("%") and answer[:-1].isdigit():
        number = int(answer[:-1])
        made += [f"{number} percent", f"{spelled(number)} per cent"]
    if match := _MILLIONS.match(answer):
        scale = {"million": 10**6, "billion": 10**9}[match[3]]
        made += [f"{match[1]}{round(float(match[2]) * scale):,}"]
    if match := re.match(r"^(\d{1,2}|\w+) (years|hours|days)$", answer):
        made += [f"{spelled(int(match[1]))} {match[2]}"] if match[1].isdigit() else []
    return made


def spelled(number: int) -> str:
    """A number below 100 in words, others in digits."""
    if number <= 20:
        return _UNIT_WORDS.split()[number]
    if number >= 100:
        return str(number)
    tens = _TEN_WORDS.split()[number // 10 - 2]
    return tens if number % 10 == 0 else f"{tens}-{_UNIT_WORDS.split()[number % 10]}"


def _dates(answer: str) -> list[str]:
    if match := _AMERICAN.match(answer):
        month, day, year = match.groups()
        return [f"{day} {month} {year}", f"{year}-{_MONTHS.index(month) + 1:02d}-{int(day):02d}"]
    if match := _BRITISH.match(answer):
        return [f"{match[2]} {match[1]}", f"the {match[1]}th of {match[2]}"]
    return [f"in {answer}"] if re.fullmatch(r"(?:1[5-9]|20)\d\d", answer) else []


def _people(question: str, answer: str) -> list[str]:
    match = _PERSON.match(answer)
    if not match or not re.search(r"\bwho\b", question, re.IGNORECASE):
        return []
    given, family = match.groups()
    return [family, f"{given[0]}. {family}", f"Mr. {family}", f"Sir {given} {family}"]


def _sentences(question: str, answer: str) -> list[str]:
    made = [f"The answer is {answer}.", f"It is {answer}"]
    asks_value = re.search(r"\b(?:when|how|what year|percentage)\b", question, re.IGNORECASE)
    if not asks_value and not any(char.isdigit() for char in answer):
        made += [f"It was {answer} in 2019.", f"According to the report, it was {answer}."]
    elif re.search(r"\bhow many\b", question, re.IGNORECASE):
        made += [f"There are {answer} in total, according to the page."]
    return made
