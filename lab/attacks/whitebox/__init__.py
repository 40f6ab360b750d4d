"""White-box attacks: texts written with the weights of the retriever at hand.

They measure defences on one's own corpus. They run where the evaluator runs, read local weights
and local corpora, and ask no service.

An attack here needs minutes of work before anything is planted. `crafting.craft` does it::

    box = white_box("hotflip", steps=30)
    tools = Tools(TokenGradients())
    crafted = craft(box, aims, tools, count=5, seed=0, progress=Checkpoint(cache, told))
    inject(corpus, crafted.attack, snapshot, count=5, aim=aim)

`crafted.attack` is an ordinary `Attack` on a corpus, whose texts are looked up by question and
target. `cache` is a `ResponseCache`, or nothing: finished questions are stored there one by
one, so that a run that was killed goes on where it stopped. `told(done, all)` shows progress. Some
attacks need more: `Tools.tokens` or `Tools.gradients`. `crafted.skipped` names the questions that
cannot be attacked. `flipping` is the kernel that all of them share. `docs/lab.md` says what
each leaves out of the published one.
"""
