"""What a method asks of the models about one item."""

from dataclasses import replace

import numpy as np

from radarstream.defenses.protocol import (
    AttemptAll,
    Complete,
    CompleteAll,
    Embed,
    LogProbs,
    LogProbsAll,
    Norms,
    Relate,
)
from radarstream.lab.study.costs import Ledger, Spending
from radarstream.lab.study.rows import Cost
from radarstream.pipelines.signals.prompts import prompts_of
from radarstream.schemas.attribution import Attribution, Finding
from radarstream.schemas.prompt import AnswerPair, Completion, ContinuationQuery, Task

ROME = Complete(Task.ATOMIC_ANSWER, "Who won?", ("Rome won.",))
BERN = Complete(Task.ATOMIC_ANSWER, "Who won?", ("Bern won.",))
FOUND = Attribution("made", Finding.NOTHING_FLAGGED)


def ledger():
    found = Ledger()
    for request, seconds in ((ROME, 2.0), (BERN, 3.0)):
        (prompt,) = prompts_of([request])
        found.completions[prompt.digest()] = Completion("x", 100, 5, seconds)
    found.seconds[AnswerPair("Who won?", "Rome", "Bern")] = 0.5
    found.seconds["text"] = 0.25
    query = ContinuationQuery(prompts_of([ROME, BERN]), "Rome")
    found.seconds[query] = 7.0
    return found


def cost(*exchanges):
    tally = Spending(ledger())
    for request, response in exchanges:
        tally.charge(request, response)
    return tally.cost()


def test_completions_count_once_however_they_are_asked():
    found = cost((ROME, None), (CompleteAll((ROME, BERN)), None), (AttemptAll((BERN,)), None))
    assert (found.calls, found.prompt_tokens, found.completion_tokens) == (2, 200, 10)
    assert (found.seconds, found.generation_seconds) == (5.0, 5.0)
    assert cost((replace(ROME, final=False), None)).atomic_seconds == 2.0


def test_a_prompt_that_failed_was_asked_and_took_no_time():
    unknown = Complete(Task.ATOMIC_ANSWER, "Who lost?", ("Nobody.",))
    assert cost((unknown, None)).calls == 1 and cost((unknown, None)).seconds == 0.0


def test_tokens_that_a_model_did_not_count_are_not_counted():
    found = ledger()
    (prompt,) = prompts_of([BERN])
    found.completions[prompt.digest()] = Completion("Bern")
    tally = Spending(found)
    tally.charge(ROME)
    tally.charge_prompt(prompt, "generation_seconds")
    assert tally.cost() == Cost(2, None, None, generation_seconds=2.0)


def test_scored_prompts_count_apart_with_their_tokens():
    asked = LogProbs((ROME, BERN), "Rome")
    found = cost((asked, np.zeros((2, 3))), (LogProbsAll((asked,)), (np.zeros((2, 3)),)))
    assert (found.calls, found.forwards, found.continuation_tokens) == (0, 2, 6)
    assert found.seconds == 7.0


def test_comparisons_and_embeddings():
    related = Relate("Who won?", ("Rome", "Rome"), ("Bern", "Bern"))
    found = cost((related, None), (AttemptAll((related,)), None), (Embed(("text", "text")), None),
                 (Norms(("text",)), None))  # fmt: skip
    assert found == Cost(pairs=1, embeddings=1, relation_seconds=0.5, selection_seconds=0.25)
