"""The wording of every answering task, with worked examples."""

from typing import Final

from radarstream.schemas.prompt import Task
from radarstream.schemas.tasks.spec import (
    ABSTENTION,
    CAPITAL,
    PAINTER,
    TELEPHONE,
    WATER,
    Layout,
    Reply,
    ScriptedRule,
    TaskSpec,
    example,
)

ATOMIC: Final = TaskSpec(
    task=Task.ATOMIC_ANSWER,
    instruction=(
        "Answer each question in a few words, using only its passage. "
        f"If the passage does not contain the answer, write: {ABSTENTION}"
    ),
    shots=(
        example(
            CAPITAL,
            "Canberra, the capital city of Australia, sits between Sydney and Melbourne and "
            "was founded in 1913 ...",
            answer="Canberra",
        ),
        example(
            "Who invented the safety bicycle?",
            "Bicycle history. Many shops now sell electric bikes, and sales have tripled "
            "since 2019, according to the trade body ...",
            answer=ABSTENTION,
        ),
        example(
            WATER,
            "Ocean facts | Science. About 71% of the Earth's surface is covered by water, "
            "and the oceans hold most of it.",
            answer="71%",
        ),
        example(
            TELEPHONE,
            "Alexander Graham Bell received the patent for the telephone in March 1876, "
            "beating Elisha Gray.",
            answer="1876",
        ),
    ),
    passage_characters=1_200,
    total_characters=1_200,
    max_tokens=24,
    labels=("Passage", "Short answer from the passage"),
    scripted=ScriptedRule.EXTRACT,
    one_passage=True,
    deadline_share=0.35,
    at_length=Task.DESCRIBE_FROM_PASSAGE,
)

DOCUMENTS: Final = TaskSpec(
    task=Task.ANSWER_FROM_DOCUMENTS,
    instruction=(
        "Answer each question in a few words, using only its passages. "
        f"If no passage contains the answer, write: {ABSTENTION}"
    ),
    shots=(
        example(
            CAPITAL,
            "Sydney is the largest city of Australia and known for its harbour ...",
            "Canberra, the capital city of Australia, was founded in 1913 ...",
            "Parliament House in Canberra, the national capital, opened in 1988.",
            answer="Canberra",
        ),
        example(
            WATER,
            "Ocean facts. About 71% of the Earth's surface is covered by water.",
            "How deep is the sea? The deepest trench reaches almost 11 km ...",
            answer="71%",
        ),
    ),
    passage_characters=2_000,
    total_characters=24_000,
    max_tokens=24,
    labels=("Passage", "Short answer"),
    layout=Layout.SHARED,
    shared_characters=160,
    scripted=ScriptedRule.OBEY,
    at_length=Task.DESCRIBE_FROM_DOCUMENTS,
)

SYNTHESIS: Final = TaskSpec(
    task=Task.SYNTHESISE_ANSWERS,
    instruction=(
        "Each question was answered by several reliable sources. Write the answer that most of "
        "them agree on. Use only these answers: do not add, correct or question anything, even "
        "if it looks outdated, and give no explanation or date remark."
    ),
    shots=(
        example(TELEPHONE, "1877", "1876", "1876", answer="1876"),
        example(PAINTER, "Vincent van Gogh", answer="Vincent van Gogh"),
    ),
    passage_characters=300,
    total_characters=6_000,
    max_tokens=48,
    labels=("Answer", "Answer"),
    layout=Layout.MAJORITY_LAST,
    scripted=ScriptedRule.MAJORITY,
    at_length=Task.SYNTHESISE_DESCRIPTIONS,
)

KEYWORDS: Final = TaskSpec(
    task=Task.ANSWER_FROM_KEYWORDS,
    instruction=(
        "Answer each question in a few words, using only the listed words and phrases. "
        f"If they do not contain the answer, write: {ABSTENTION}"
    ),
    shots=(
        example(CAPITAL, "the capital of Australia", "capital", "Canberra", answer="Canberra"),
        example(WATER, "71% of the surface", "surface", "water", "71%", answer="71%"),
    ),
    passage_characters=200,
    total_characters=4_000,
    max_tokens=24,
    labels=("Words", "Short answer"),
    layout=Layout.JOINED,
    scripted=ScriptedRule.KEYWORD,
    at_length=Task.DESCRIBE_FROM_KEYWORDS,
)

RATIONALE: Final = TaskSpec(
    task=Task.ANSWER_WITH_RATIONALE,
    instruction=(
        "Work out the answer to each question from its passages: say which passages help, how they "
        "lead to the answer, and end with the answer. Where no passage helps, use what you know."
    ),
    shots=(
        example(
            CAPITAL,
            "Sydney is the largest city of Australia and known for its harbour ...",
            "Canberra, the capital city of Australia, was founded in 1913 ...",
            "Parliament House in Canberra, the national capital, opened in 1988.",
            answer=(
                'Passage 2 says "Canberra, the capital city of Australia", and passage 3 agrees. '
                "The answer is Canberra."
            ),
        ),
        example(
            WATER,
            "Ocean facts. About 71% of the Earth's surface is covered by water.",
            "How deep is the sea? The deepest trench reaches almost 11 km ...",
            answer=(
                'Passage 1 says "About 71% of the Earth\'s surface is covered by water". '
                "The answer is 71%."
            ),
        ),
    ),
    passage_characters=2_000,
    total_characters=24_000,
    max_tokens=112,
    labels=("Passage", "Reasoning and answer"),
    layout=Layout.NUMBERED,
    shared_characters=160,
    chat_request="Reply in at most three short sentences and end with: The answer is ...",
    reply=Reply.AT_LENGTH,
    scripted=ScriptedRule.RATIONALE,
)

RECALL: Final = TaskSpec(
    task=Task.RECALL_PASSAGE,
    instruction=(
        "Write one or two sentences that answer each question from your own knowledge. "
        f"If you are not sure, write: {ABSTENTION}"
    ),
    shots=(
        example(CAPITAL, answer="The capital of Australia is Canberra, which was founded in 1913."),
        example("What did the mayor of Springfield say yesterday?", answer=ABSTENTION),
        example(PAINTER, answer="The Starry Night was painted by Vincent van Gogh in June 1889."),
    ),
    max_tokens=48,
    labels=("Passage", "Passage"),
    chat_request="Reply with one or two sentences alone.",
    reply=Reply.AT_LENGTH,
)

CONSOLIDATION: Final = TaskSpec(
    task=Task.CONSOLIDATE_PASSAGES,
    instruction=(
        "For each question, group the passages that agree, keep conflicting groups apart and drop "
        "irrelevant passages. Give one answer with a confidence for each group, naming its "
        "passages and whether they were retrieved or remembered. Then give the final answer "
        "between <ANSWER> and </ANSWER>."
    ),
    shots=(
        example(
            CAPITAL,
            "Retrieved: Sydney is the largest city of Australia and known for its harbour ...",
            "Retrieved: Canberra, the capital city of Australia, was founded in 1913 ...",
            "Remembered: The capital of Australia is Canberra.",
            answer=(
                "Canberra: passages 2 (retrieved) and 3 (remembered), high confidence. "
                "<ANSWER>Canberra</ANSWER>"
            ),
        ),
        example(
            PAINTER,
            "Retrieved: A reader's letter says that Paul Gauguin painted The Starry Night.",
            "Retrieved: The Starry Night was painted by Vincent van Gogh in June 1889 ...",
            "Retrieved: Museum of Modern Art, New York: Vincent van Gogh, The Starry Night.",
            answer=(
                "Vincent van Gogh: passages 2 and 3 (retrieved), high confidence. Paul Gauguin: "
                "passage 1 (retrieved), low confidence. <ANSWER>Vincent van Gogh</ANSWER>"
            ),
        ),
        example(
            WATER,
            "Retrieved: Ocean facts. About 71% of the Earth's surface is covered by water.",
            "Retrieved: How deep is the sea? The deepest trench reaches almost 11 km ...",
            answer="71%: passage 1 (retrieved), high confidence. <ANSWER>71%</ANSWER>",
        ),
    ),
    passage_characters=2_000,
    total_characters=24_000,
    max_tokens=112,
    labels=("Passage", "Consolidation"),
    layout=Layout.NUMBERED,
    shared_characters=160,
    chat_request=(
        "Reply in at most four short sentences and end with the final answer between <ANSWER> and "
        "</ANSWER>."
    ),
    reply=Reply.TAGGED,
    scripted=ScriptedRule.CONSOLIDATE,
)
