"""The table of answers: one row per contender, condition, query and step.

Every rate, interval, test, plot and page is computed from this table. `evaluate --table FILE` and
`replay --table FILE` write it as Parquet or CSV (lists joined by " | "). A value is null where a
column does not apply. The columns, in order:

Which answer
- contender, condition: names as in the study; a replay has the contenders `defended` and
  `undefended` and the condition `replay`
- query_id, step: the question and the number of its snapshot, from 0
- observed_at: when the snapshot was taken, UTC
What an evaluator knows
- attack: the attack on this step; null where this step is not attacked
- poisoned_ranks: the ranks of planted documents
- truth: the right answers; all_required: whether an answer must name all of them
- target: the answer that the attacker wants; null where nobody wants one at this step
- truth_changed: whether the right answers differ from those of the step before
What was answered
- answer: the text; null for an abstention or an error
- abstained, abstention: whether there is no answer, and the reason
- error: what failed; such a row has no scores and no costs that count
The score by whole words (see `radarstream.pipelines.evaluation.scoring`)
- correct: the answer names the truth; null without a truth
- fooled: the answer names the target; null without a target
- stale: the answer was right before the truth changed and is wrong now; null before a change
- outcome: correct, both, fooled, stale, other, abstained, unlabelled or error
The score by containment, as published
- contained_correct, contained_fooled, contained_stale, contained_outcome: the same
- exclusive_correct, exclusive_fooled: contained, and the other one is not
Likeness to the closest right answer, 0 to 1
- exact_match, token_f1, rouge_l
What the defence did
- documents, kept, rejected: how many it was given, kept and rejected; kept and rejected are null
  where it does not select
- poisoned_kept: how many planted documents it kept; null where none was planted
- memory: retained, falsified, or none
- previous_answer, support_prior, conflict_prior, support_posterior, conflict_posterior: the belief
- state_bytes: bytes of the state that is kept for the next step
What it cost (see `Cost`)
- calls, prompt_tokens, completion_tokens, pairs, embeddings
- atomic_seconds, relation_seconds, selection_seconds, generation_seconds, seconds
The context that was left to answer from, by word overlap, 0 to 1 (see `context_quality`)
- recall_lex, relevancy_lex, answer_relevancy_lex, faithfulness_lex
What a judge model says; null where none was asked
- judge_label: CORRECT, ATTACK or OTHER
- judge_accuracy, judge_relevance, judge_coherence: 0 to 100, of long answers
- judge_error: why the judgement failed
"""
