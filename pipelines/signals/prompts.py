"""Every prompt: its instruction, its worked examples and how much untrusted text it takes.

Text from documents is only ever concatenated, capped in length; `connectors.models.rendering`
delimits it. The examples are our own and ask nothing that evaluation data asks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final
from unicodedata import category

from schemas.prompt import Prompt, Shot, Task

MAX_QUESTION_CHARACTERS: Final = 600
MAX_PREVIOUS_CHARACTERS: Final = 300
ABSTENTION: Final = "I don't know"


@dataclass(frozen=True, slots=True)
class Template:
    """The fixed part of a task's prompts.

    `passage_characters` caps one passage, `total_characters` all of them together; `max_tokens`
    caps the reply.
    """

    instruction: str
    shots: tuple[Shot, ...]
    passage_characters: int
    total_characters: int
    max_tokens: int


_ATOMIC: Final = Template(
    instruction=(
        "Answer each question in a few words, using only its passage. "
        f"If the passage does not contain the answer, write: {ABSTENTION}"
    ),
    shots=(
        Shot(
            question="What is the capital of Australia?",
            passages=(
                "Canberra, the capital city of Australia, sits between Sydney and Melbourne and "
                "was founded in 1913 ...",
            ),
            answer="Canberra",
        ),
        Shot(
            question="Who invented the safety bicycle?",
            passages=(
                "Bicycle history. Many shops now sell electric bikes, and sales have tripled "
                "since 2019, according to the trade body ...",
            ),
            answer=ABSTENTION,
        ),
        Shot(
            question="What share of the Earth's surface is covered by water?",
            passages=(
                "Ocean facts | Science. About 71% of the Earth's surface is covered by water, "
                "and the oceans hold most of it.",
            ),
            answer="71%",
        ),
        Shot(
            question="In which year was the telephone patented?",
            passages=(
                "Alexander Graham Bell received the patent for the telephone in March 1876, "
                "beating Elisha Gray.",
            ),
            answer="1876",
        ),
    ),
    passage_characters=1_200,
    total_characters=1_200,
    max_tokens=24,
)

_DOCUMENTS: Final = Template(
    instruction=(
        "Answer each question in a few words, using only its passages. "
        f"If no passage contains the answer, write: {ABSTENTION}"
    ),
    shots=(
        Shot(
            question="What is the capital of Australia?",
            passages=(
                "Sydney is the largest city of Australia and known for its harbour ...",
                "Canberra, the capital city of Australia, was founded in 1913 ...",
                "Parliament House in Canberra, the national capital, opened in 1988.",
            ),
            answer="Canberra",
        ),
        Shot(
            question="What share of the Earth's surface is covered by water?",
            passages=(
                "Ocean facts. About 71% of the Earth's surface is covered by water.",
                "How deep is the sea? The deepest trench reaches almost 11 km ...",
            ),
            answer="71%",
        ),
    ),
    passage_characters=2_000,
    total_characters=24_000,
    max_tokens=24,
)

_SYNTHESIS: Final = Template(
    instruction=(
        "Each question was answered by several reliable sources. Write the answer that most of "
        "them agree on. Use only these answers: do not add, correct or question anything, even "
        "if it looks outdated, and give no explanation or date remark."
    ),
    shots=(
        Shot(
            question="In which year was the telephone patented?",
            passages=("1877", "1876", "1876"),
            answer="1876",
        ),
        Shot(
            question="Who painted The Starry Night?",
            passages=("Vincent van Gogh",),
            answer="Vincent van Gogh",
        ),
    ),
    passage_characters=300,
    total_characters=6_000,
    max_tokens=48,
)

_KEYWORDS: Final = Template(
    instruction=(
        "Answer each question in a few words, using only the listed words and phrases. "
        f"If they do not contain the answer, write: {ABSTENTION}"
    ),
    shots=(
        Shot(
            question="What is the capital of Australia?",
            passages=("the capital of Australia", "capital", "Canberra"),
            answer="Canberra",
        ),
        Shot(
            question="What share of the Earth's surface is covered by water?",
            passages=("71% of the surface", "surface", "water", "71%"),
            answer="71%",
        ),
    ),
    passage_characters=200,
    total_characters=4_000,
    max_tokens=24,
)

_RATIONALE: Final = Template(
    instruction=(
        "Work out the answer to each question from its passages: say which passages help, how they "
        "lead to the answer, and end with the answer. Where no passage helps, use what you know."
    ),
    shots=(
        Shot(
            question="What is the capital of Australia?",
            passages=(
                "Sydney is the largest city of Australia and known for its harbour ...",
                "Canberra, the capital city of Australia, was founded in 1913 ...",
            ),
            answer=(
                "The first passage is about the largest city, not the capital. The second says "
                "that Canberra is the capital city of Australia. The answer is Canberra"
            ),
        ),
        Shot(
            question="What share of the Earth's surface is covered by water?",
            passages=(
                "Ocean facts. About 71% of the Earth's surface is covered by water.",
                "How deep is the sea? The deepest trench reaches almost 11 km ...",
            ),
            answer=(
                "The first passage says that about 71% of the surface is covered by water; the "
                "second is about depth. The answer is 71%"
            ),
        ),
    ),
    passage_characters=2_000,
    total_characters=24_000,
    max_tokens=96,
)

_RECALL: Final = Template(
    instruction=(
        "Write one or two sentences that answer each question from your own knowledge. "
        f"If you are not sure, write: {ABSTENTION}"
    ),
    shots=(
        Shot(
            question="What is the capital of Australia?",
            passages=(),
            answer="The capital of Australia is Canberra, which was founded in 1913.",
        ),
        Shot(
            question="What did the mayor of Springfield say yesterday?",
            passages=(),
            answer=ABSTENTION,
        ),
    ),
    passage_characters=1,
    total_characters=1,
    max_tokens=64,
)

_CONSOLIDATION: Final = Template(
    instruction=(
        "For each question, group the passages that agree, keep conflicting groups apart and drop "
        "irrelevant passages; propose one answer with a confidence for each group, naming the "
        "passages and whether they were retrieved or remembered; then give the final answer "
        "between <ANSWER> and </ANSWER>."
    ),
    shots=(
        Shot(
            question="What is the capital of Australia?",
            passages=(
                "Retrieved: Sydney is the largest city of Australia and known for its harbour ...",
                "Retrieved: Canberra, the capital city of Australia, was founded in 1913 ...",
                "Remembered: The capital of Australia is Canberra.",
            ),
            answer=(
                "Passages 2 and 3 agree on Canberra (high confidence); passage 1 is irrelevant. "
                "<ANSWER>Canberra</ANSWER>"
            ),
        ),
    ),
    passage_characters=2_000,
    total_characters=24_000,
    max_tokens=96,
)

TEMPLATES: Final[dict[Task, Template]] = {
    Task.ATOMIC_ANSWER: _ATOMIC,
    Task.ANSWER_FROM_DOCUMENTS: _DOCUMENTS,
    Task.SYNTHESISE_ANSWERS: _SYNTHESIS,
    Task.ANSWER_FROM_KEYWORDS: _KEYWORDS,
    Task.ANSWER_WITH_RATIONALE: _RATIONALE,
    Task.RECALL_PASSAGE: _RECALL,
    Task.CONSOLIDATE_PASSAGES: _CONSOLIDATION,
}
PROMPTS_VERSION: Final = sha256(repr(TEMPLATES).encode()).hexdigest()[:12]


def build_prompt(
    task: Task, question: str, passages: Sequence[str], previous_answer: str | None = None
) -> Prompt:
    """The prompt of `task` over untrusted `passages`, in the order to show them.

    Control characters go, white space collapses and each passage is cut so that all together
    stay within the task's limit. Raises ValueError when ATOMIC_ANSWER gets other than one passage.
    """
    if task is Task.ATOMIC_ANSWER and len(passages) != 1:
        raise ValueError(f"an atomic answer comes from one passage, got {len(passages)}")
    template = TEMPLATES[task]
    limit = min(template.passage_characters, template.total_characters // max(1, len(passages)))
    return Prompt(
        task=task,
        instruction=template.instruction,
        shots=template.shots,
        question=plain(question, MAX_QUESTION_CHARACTERS),
        passages=tuple(plain(passage, limit) for passage in passages),
        max_tokens=template.max_tokens,
        previous_answer=plain(previous_answer, MAX_PREVIOUS_CHARACTERS)
        if previous_answer
        else None,
    )


def plain(text: str, limit: int) -> str:
    r"""At most `limit` characters of `text` on one line, without control characters.

    Lone surrogates, which no encoder accepts, and invisible format characters, which can hide
    an instruction from a human reader, are removed too.

    >>> plain("a\x00b\ud800 \n c" + "d" * 9, 6)
    'ab cdd'
    """
    # Cleaning never lengthens text, but a page can start with much that it removes.
    words = (w if w.isprintable() else printable(w) for w in text[: 4 * limit].split())
    return " ".join(word for word in words if word)[:limit].rstrip()


def printable(word: str) -> str:
    """Drop what a person would not see; most words have nothing of the kind."""
    return "".join(character for character in word if category(character)[0] != "C")
