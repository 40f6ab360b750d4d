"""A claim is read as a question and the answer that it gives; other answers are related to that.

The documents are asked the question alone, so that a round answers it as any other. Asked to label
a page as supporting or contradicting a claim, 270M parameters do no better than chance.
"""

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from radarstream.connectors.models.answer_agreement.meanings import stem_of
from radarstream.connectors.models.answer_agreement.quoting import quote_of
from radarstream.connectors.models.answer_agreement.tables import pattern, words
from radarstream.connectors.models.answer_agreement.words import TITLES, read_words
from radarstream.defenses.kernels.radar import both_ways
from radarstream.pipelines.signals.parsing import parse_answer
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.pipelines.signals.responses import completion_texts, relation_outcomes, together
from radarstream.schemas.claims import CheckedClaim, Claim, Stance, checked_claim
from radarstream.schemas.errors import ClaimError, ModelError
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.evidence import AGREEMENT
from radarstream.schemas.prompt import AnswerPair, Task

# With at least this probability an answer says all of a claim's with a number: "1999" is most of
# "3 May 1999", and agrees as an answer, but is no evidence of the day.
WHOLE: Final = 0.9
_DEFINITE: Final = re.compile(
    r"(?P<answer>(?!(?:it|he|she|they|this|that|these|those|there|we|i|you|the|only)\b)"
    r"[^,;:?]{1,100}?)"
    r" (?P<rest>(?:is|was|are|were|became|won) the .+?)[.!]?",
    re.IGNORECASE,
)
_NAMED: Final = re.compile(
    r"[Tt](?P<kind>he .{1,100}?) (?P<verb>is|was|are|were) "
    r"(?P<answer>(?!.*\b(?:is|was|are|were|who|which|and|but|or|than|instead)\b)"
    r"[A-Z\d][^,;:]{0,100}?)[.!]?"
)
# A question, or two statements in one, the second with a verb or without ("and Quito of Ecuador").
_NO_CLAIM: Final = re.compile(
    r"\?\s*$|\b(?:is|was|are|were) .*\b(?:and|but) (?:(?!wh|that\b)[\w'-]+ )+(?:is|was|are|were)\b"
    r"|\bof .*\band (?:[\w'-]+ )+of\b",
    re.IGNORECASE,
)
DENYING: Final = "the claim denies something: check what it denies"
UNREAD: Final = "the model made no question of the claim that it answers: word it more plainly"


def read_claims(models: Models, texts: Sequence[str]) -> list[Claim | ClaimError | ModelError]:
    """Each claim with its question and answer, in two batches of prompts.

    Where a word of a claim is lost, a `definite` one is read by rule; any other, and one that
    denies something, asks, or states two things, is a ClaimError in its place.
    """
    prompts = [build_prompt(Task.QUESTION_OF_CLAIM, "", (text,)) for text in texts]
    questions = completion_texts(models.generator, prompts) if prompts else []
    asked = {
        place: question
        for place, text in enumerate(questions)
        if not isinstance(text, ModelError) and (question := parse_question(text))
    }
    prompts = [
        build_prompt(Task.ATOMIC_ANSWER, question, (texts[place],))
        for place, question in asked.items()
    ]
    replies = completion_texts(models.generator, prompts) if prompts else []
    found: list[Claim | ClaimError | ModelError] = [
        text if isinstance(text, ModelError) else ClaimError(UNREAD) for text in questions
    ]
    for (place, question), reply in zip(asked.items(), replies, strict=True):
        if isinstance(reply, ModelError):
            found[place] = reply
        else:
            found[place] = claim_of(texts[place], question, reply)
    return [
        ClaimError(DENYING)
        if pattern("NEGATION").search(text)
        else ClaimError(UNREAD)
        if _NO_CLAIM.search(text)
        else definite(text) or one
        if isinstance(one, ClaimError)
        else one
        for text, one in zip(texts, found, strict=True)
    ]


def definite(text: str) -> Claim | None:
    """An English claim about the one of a kind, which names it first or last; None for any other.

    >>> definite("Lima is the capital of Peru.").question
    'What is the capital of Peru?'
    >>> definite("The mayor of Exampleton is Ann Lee.").question
    'Who is the mayor of Exampleton?'
    >>> definite("Lima is a city."), definite("It is the capital.")
    (None, None)
    """
    whole = " ".join(text.split())
    if found := _NAMED.fullmatch(whole):
        asked = f"{found['verb']} t{found['kind']}"
    elif found := _DEFINITE.fullmatch(whole):
        asked = found["rest"]
    else:
        return None
    head = re.split(r" (?:of|in|at|for|to|from|since|on)\b", asked)[0].split()[-1]
    return Claim(
        text, f"{'Who' if head.casefold() in TITLES else 'What'} {asked}?", found["answer"]
    )


def parse_question(reply: str) -> str:
    r"""The question on the first line of a reply; "" where there is none.

    >>> parse_question(" Who won? Rome.\nWho lost?"), parse_question("Rome won.")
    ('Who won?', '')
    """
    line = (reply.strip().splitlines() or [""])[0]
    question, mark, _ = line.partition("?")
    return f"{question.strip()}?" if mark and question.strip() else ""


def claim_of(text: str, question: str, reply: str) -> Claim | ClaimError:
    """The claim with its question and what a model replied to that; a ClaimError if the claim does
    not say the answer, the question says it, or they lose a word of it.
    """
    answer = parse_answer(reply, question)
    if answer.abstained or quote_of(answer.text, question, text) is None:
        return ClaimError(UNREAD)
    asked, answered = _words(question), _words(answer.text)
    if answered <= asked or not _words(text) <= asked | answered:
        return ClaimError(UNREAD)
    return Claim(text, question, answer.text)


def _words(text: str) -> set[str]:
    """The stems of its words, without those that a question is free to have or not.

    >>> sorted(_words("When did it open?") ^ _words("It opened in 1932."))
    ['1932', 'when']
    """
    every = (word.word for word in read_words(text, keep_stopwords=True))
    return {stem_of(word) for word in every if word not in words("free")}


def check_claims(
    models: Models, answered: Sequence[tuple[Claim, AnswerEvent]]
) -> list[CheckedClaim | ModelError]:
    """What became of each claim, by the answer to its question; relations in one batch.

    An answer supports a claim if it entails the claim's own, one with a number as a `WHOLE`, and
    contradicts it if each contradicts the other.
    """
    texts = [_answers_in(event, claim.question) for claim, event in answered]
    pairs = [
        pair
        for (claim, _), others in zip(answered, texts, strict=True)
        for other in others
        for pair in (
            AnswerPair(claim.question, other, claim.answer),
            AnswerPair(claim.question, claim.answer, other),
        )
    ]
    rows = iter(relation_outcomes(models.relations, pairs) if pairs else ())
    checked: list[CheckedClaim | ModelError] = []
    for (claim, event), others in zip(answered, texts, strict=True):
        related = together(list(islice(rows, 2 * len(others))))
        if isinstance(related, ModelError):
            checked.append(related)
            continue
        stances: dict[str, Stance | None] = dict.fromkeys(others)
        enough = WHOLE if any(map(str.isdigit, claim.answer)) else AGREEMENT
        for place, other in enumerate(others):
            to, back = related[2 * place], related[2 * place + 1]
            if to[0] >= enough:
                stances[other] = Stance.SUPPORTS
            elif both_ways(to, back)[2] >= AGREEMENT:
                stances[other] = Stance.CONTRADICTS
        checked.append(checked_claim(claim, event, stances))
    return checked


def _answers_in(event: AnswerEvent, question: str) -> list[str]:
    """All different answers that an event names, without those that only repeat the question."""
    named = [event.verdict.weighed, event.support.rival_answer if event.support else None]
    named += [document.atomic_answer for document in event.verdict.documents]
    return [text for text in dict.fromkeys(filter(None, named)) if _words(text) - _words(question)]
