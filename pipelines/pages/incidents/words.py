"""What the words on the pages of incidents, sources and attributors mean."""

SCORES = {
    "Similarity": "of the text to the question: the retriever's, or the cosine of their "
    "embeddings.",
    "Question": "semantic correlation: mean log-probability of the question's words after the "
    "text.",
    "Influence": "on the answer: mean log-probability of the wrong answer's words after text and "
    "question.",
    "Combined": "mean of the three, each as standard deviations from the mean of the event. The "
    "texts are split into two groups where that leaves least spread within them; the higher one "
    "is flagged. Other attributors score by other means.",
}
DECIDED = {
    "Quarantine": "the text is left out of snapshots from now on. It can be released.",
    "Without flagged": "the answer to the same question once the flagged texts are gone. Where it "
    "is still the wrong answer, those texts are not to blame and stay.",
}
LEDGER = {
    "Reliability": "the probability that a source is right: the mean of a Beta distribution over "
    "the evidence for and against it. It starts at four for and one against; evidence fades.",
    "Blamed": "for so many wrong answers, each taught by a text of the source. One event counts "
    "at most once, however many texts took part, and no day counts without limit.",
    "Agreement": "the source supported an answer that the next snapshot confirmed. Its single "
    "days are kept for some weeks; older agreement is in the sum, and the curve draws it from "
    "the first day that is kept.",
    "Blocked": "a person said so: its texts are left out.",
    "Pardoned": "a person said so: it is judged as if nothing were known.",
}
