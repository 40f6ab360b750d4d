"""The harness of studies: request, plan, progress, rows on disk, provenance, resuming.

`harness` runs any `plugin`; `record` says what a directory holds and what may be added to it.
"""
