"""One round: snapshots and memories in, events and memories out.

    withhold > rerank > read > answer > relate > decide > event

`pipeline.DefensePipeline` is the only place that knows this order; the modules beside it hold the
steps, as functions over lists.
"""
