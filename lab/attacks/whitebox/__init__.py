"""White-box attacks: texts written with the weights of the retriever at hand.

They measure defences on one's own corpus. They run where the evaluator runs, read local weights
and local corpora, and ask no service. `crafting.craft` writes the texts, which takes minutes and
goes on where a run was killed; the attack that it returns looks them up by question and target.
`flipping` is the kernel that all of them share. `docs/lab.md` says what each leaves out of the
published one.
"""
