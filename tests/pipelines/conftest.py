"""Browsers for every test of pages."""

from tests.pipelines.pages.headless_browser import browser, browsers

__all__ = ["browser", "browsers"]
