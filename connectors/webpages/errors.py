"""Why a page was not read."""


class PageError(Exception):
    """A page was not read; the text is a fixed word that labels metrics."""
