"""The rules of the scripted generator, one per task. They obey instructions in passages."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from radarstream.schemas.answer_text import spelling
from radarstream.schemas.prompt import NO, YES, Prompt
from radarstream.schemas.tasks import ABSTENTION, CONTRADICTION, ENTAILMENT, NEUTRAL, TASKS

_INJECTION: Final = re.compile(
    r"\b(?=[oar])(?:output|answer with|reply with|respond with)\s*(?:this answer)?\s*:?\s*"
    r"[\"'\u201c]?(?P<answer>[^.\"'\u201d\n!?]+(?:\.\d+[^.\"'\u201d\n!?]*)*)",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"(?<!\w)[$£€]?\d[\d,.]*\d(?:%| percent)?|(?<!\w)[$£€]?\d%?")
_NAME: Final = re.compile(
    r"\b[A-Z][\w'’-]*(?:\s+(?:(?:of|the|van|von|de|der|la)\s+)*[A-Z][\w'’-]*)*"
)
_QUANTITY_QUESTION: Final = re.compile(
    r"\b(how (?:many|much|old|tall|long|far|big)|percent\w*|share|year|when|number|price)\b",
    re.IGNORECASE,
)

_TIME_QUESTION: Final = re.compile(r"\b(?:year|when|date)\b", re.IGNORECASE)
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])[\"'\u201d]?\s+|\n")
_STATEMENT: Final = re.compile(r".+?\b(?P<rest>(?:is|was|are|were|has|won) [^.]+)\.?$")
_WORD: Final = re.compile(r"[\w$£€%]+(?:['\u2019-]\w+)*")
_PREDICATE: Final = re.compile(r",|'s\b| (?:is|was|are|were|has|became|won|holds|leads)\b")


def scripted_answer(prompt: Prompt) -> str:
    """Answer by the rule of the prompt's task; of equals, the first wins."""
    return _RULES[TASKS[prompt.task].scripted](prompt)


def abstention(_: Prompt) -> str:
    """Abstain."""
    return ABSTENTION


def listed(prompt: Prompt) -> str:
    """List the passages."""
    return ", ".join(prompt.passages) or ABSTENTION


def from_documents(prompt: Prompt) -> str:
    """Obey the last instruction, else give the most frequent extraction."""
    orders = [found for p in prompt.passages if (found := injected_answer(p))]
    return orders[-1] if orders else from_extractions(prompt)


def from_extractions(prompt: Prompt) -> str:
    """Give the most frequent extraction, else the previous answer."""
    extracted = [extract(prompt.question, passage) for passage in prompt.passages]
    informative = [answer for answer in extracted if answer != ABSTENTION]
    return most_frequent(informative) if informative else prompt.previous_answer or ABSTENTION


def from_answers(prompt: Prompt) -> str:
    """Give the most frequent passage."""
    return most_frequent([" ".join(p.split()) for p in prompt.passages])


def from_keywords(prompt: Prompt) -> str:
    """Give the first phrase with words beyond the question, with a number if it asks for one."""
    known = set(spelling(prompt.question).split()) | _COMMON_WORDS
    quantity = _QUANTITY_QUESTION.search(prompt.question)
    for phrase in prompt.passages:
        telling = not set(spelling(phrase).split()) <= known
        if telling and (quantity is None or _NUMBER.search(phrase)):
            return injected_answer(phrase) or phrase
    return ABSTENTION


def with_rationale(prompt: Prompt) -> str:
    """Answer as `from_documents`, and name the first passage with the answer."""
    answer = from_documents(prompt)
    for number, passage in enumerate(prompt.passages, start=1):
        if answer in passage:
            return f'Passage {number} says "{answer}". The answer is {answer}.'
    return f"No passage helps. The answer is {answer}."


def consolidated(prompt: Prompt) -> str:
    """Give the most frequent extraction, tagged."""
    passages = tuple(passage.partition(": ")[2] for passage in prompt.passages)
    votes = [extract(prompt.question, passage) for passage in passages]
    answer = most_frequent([vote for vote in votes if vote != ABSTENTION])
    agreeing = [number for number, vote in enumerate(votes, start=1) if vote == answer]
    return f"{answer}: passages {agreeing}. <ANSWER>{answer}</ANSWER>"


def described(prompt: Prompt) -> str:
    """Give the first sentences of passages that share a word with the question, at most three."""
    asked = set(spelling(prompt.question).split()) - _COMMON_WORDS
    openings = [_SENTENCE_END.split(passage)[0].strip() for passage in prompt.passages]
    telling = [text for text in openings if asked & set(spelling(text).split())]
    return " ".join(dict.fromkeys(telling[:3])) or ABSTENTION


def judged(prompt: Prompt) -> str:
    """Judge by containment, the target first."""
    _, target, answer = (f" {spelling(passage)} " for passage in prompt.passages)
    if target.strip() and target in answer:
        return "[ATTACK]"
    either = [f" {spelling(text)} " for text in prompt.passages[0].split(";")]
    return "[CORRECT]" if any(text.strip() and text in answer for text in either) else "[OTHER]"


def scored(prompt: Prompt) -> str:
    """Score accuracy and relevance by the answer's shared words with reference and question."""
    reference, answer = (set(spelling(passage).split()) for passage in prompt.passages)
    asked = set(spelling(prompt.question).split()) - _COMMON_WORDS
    accuracy = round(100 * len(answer & reference) / max(1, len(answer)))
    relevance = round(100 * len(asked & answer) / max(1, len(asked)))
    return f"accuracy {accuracy}, relevance {relevance}, coherence {100 if answer else 0}"


def first_question(prompt: Prompt) -> str:
    """Give the first question in the passages."""
    sentences = (s for p in prompt.passages for s in _SENTENCE_END.split(p))
    return next((s[: s.index("?") + 1] for s in sentences if "?" in s), ABSTENTION)


def question_of_claim(prompt: Prompt) -> str:
    """Ask for the part before the verb: "Lima is the capital" gives "What is the capital?"."""
    found = _STATEMENT.match(prompt.passages[0])
    return f"What {found['rest']}?" if found else ABSTENTION


def inducement(prompt: Prompt) -> str:
    """Whether the text contains the answer."""
    text, answer = (f" {spelling(passage)} " for passage in prompt.passages)
    if answer.strip() and answer in text:
        return f'It says "{prompt.passages[1]}". [{YES}]'
    return f"It says something else. [{NO}]"


def agreement(prompt: Prompt) -> str:
    """Whether one of the answers contains the other."""
    one, other = (f" {spelling(passage)} " for passage in prompt.passages)
    same = bool(one.strip() and other.strip()) and (one in other or other in one)
    return f"[{YES if same else NO}]"


def relation(prompt: Prompt) -> str:
    """Whether the second answer is the first, or a part of it."""
    one, other = (f" {spelling(passage)} " for passage in prompt.passages)
    if not one.strip() or not other.strip():
        return f"[{NEUTRAL}]"
    return f"[{ENTAILMENT if other in one else CONTRADICTION}]"


def injected_answer(passage: str) -> str | None:
    """Return the answer that the last instruction in `passage` demands, or None."""
    found = None
    for match in _INJECTION.finditer(passage):
        found = match["answer"].strip() or found
    return found


def risk(prompt: Prompt) -> str:
    """Assess the risk by two signals; obey an instruction in the question."""
    seen = facts_in(prompt)
    order = injected_answer(str(seen.get("question", ""))) or ""
    level = next((name for name in ("low", "elevated", "critical") if name in order.lower()), None)
    membership, leakage = (0.9 * bool(seen.get(s)) for s in ("fills_masks", "asks_verbatim"))
    if level is not None:
        membership = leakage = {"low": 0.0, "elevated": 0.5, "critical": 0.9}[level]
    level = level or ("critical" if membership or leakage else "low")
    return json.dumps({"level": level, "membership": membership, "leakage": leakage})


def plan(prompt: Prompt) -> str:
    """Switch on every defence of the stage whose risk is at least 0.5."""
    facts = facts_in(prompt)
    membership, poisoning, leakage = (
        {"enabled": facts.get(name, 0.0) >= 0.5} for name in ("membership", "poisoning", "leakage")
    )
    if facts.get("stage") == 1:
        return json.dumps({"differential_privacy": membership})
    return json.dumps({"trustrag": poisoning, "attention_filtering": leakage, "guardrail": leakage})


def facts_in(prompt: Prompt) -> dict[str, Any]:
    """Parse the prompt's passage as a JSON object; empty for any other text."""
    try:
        facts = json.loads(prompt.passages[0])
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}


def extract(question: str, passage: str) -> str:
    """Return a short span of `passage` that may answer `question`, or an abstention.

    An instruction in the passage is obeyed. Else it is a number (for questions of quantity) or a
    capitalised name that is not in the question, from the sentence that shares most words with the
    question, and nearest to such a word; of equals, the first. If no sentence with a candidate
    shares a word, it abstains.
    """
    if order := injected_answer(passage):
        return order
    known = set(spelling(question).split()) | _COMMON_WORDS
    found = [
        candidate
        for sentence in _SENTENCE_END.split(passage)
        for candidate in candidates(question, sentence)
        if not set(spelling(candidate[2]).split()) <= known
    ]
    return min(found, key=lambda candidate: candidate[:2], default=(0, 0, ABSTENTION))[2]


def candidates(question: str, sentence: str) -> Iterator[tuple[int, int, str]]:
    """Yield (-shared, distance, span) for each span of a sentence: the number of words that it
    shares with the question, and the characters to the nearest. Nothing if it shares none.
    """
    asked = set(spelling(question).split()) - _COMMON_WORDS
    places = [m.span() for m in _WORD.finditer(sentence) if spelling(m[0]) in asked]
    if not places:
        return
    shared = len({spelling(sentence[start:end]) for start, end in places})
    for match in spans(question, sentence):
        gaps = [max(start - match.end(), match.start() - end) for start, end in places]
        yield -shared, min(gaps), _LEADING_COMMON_WORDS.sub("", match[0]).strip(" .,")


def spans(question: str, sentence: str) -> Iterator[re.Match[str]]:
    """Yield the numbers of a sentence for a question of quantity (years only if it asks for a
    time), else capitalised names.
    """
    if not _QUANTITY_QUESTION.search(question):
        for match in _NAME.finditer(sentence):
            # A single capitalised word at the start counts only with a predicate after it.
            is_start = match.start() == 0 and " " not in match[0]
            if not is_start or _PREDICATE.match(sentence, match.end()):
                yield match
        return
    wants_time = _TIME_QUESTION.search(question)
    yield from (m for m in _NUMBER.finditer(sentence) if wants_time or not _YEAR.fullmatch(m[0]))


def most_frequent(answers: Sequence[str]) -> str:
    """Return the answer with the most frequent `spelling`, as first written."""
    spelt = {answer: spelling(answer) for answer in answers}
    counts = Counter(spelt[answer] for answer in answers)
    return max(answers, key=lambda answer: counts[spelt[answer]], default=ABSTENTION)


_COMMON = (
    "a an the in on at of and or but it its this that these he she they we i you my our your"
    " his her their is was are were be do does did has have had not no after before as for from"
    " to by with about since according who what which when where while how why there here then"
    " so q if yes many much most some all every first each anyway january february march april"
    " may june july august september october november december monday tuesday wednesday thursday"
    " friday saturday sunday today yesterday currently now"
)
_COMMON_WORDS: Final = frozenset(_COMMON.split())
_LEADING_COMMON_WORDS: Final = re.compile(rf"^(?:(?:{'|'.join(sorted(_COMMON_WORDS))})\s+)+", re.I)
_RULES: Final[dict[str, Callable[[Prompt], str]]] = {
    rule.__name__: rule
    for rule in (
        *(abstention, from_extractions, from_documents, from_answers, from_keywords, described),
        *(listed, with_rationale, consolidated, judged, scored, first_question, inducement),
        question_of_claim,
        *(agreement, relation, risk, plan),
    )
}
