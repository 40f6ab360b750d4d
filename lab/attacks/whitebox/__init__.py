"""White-box attacks: texts written with the weights of the retriever at hand.

`crafting.craft` writes the texts, which takes minutes and goes on where a run was killed; the
attack that it returns looks them up by question and target. `flipping` is their kernel.
"""
