"""docs/settings.md tells every setting."""

import re

from radarstream.pipelines.settings import Settings, reference


def test_the_file_is_as_generated() -> None:
    assert reference.FILE.read_text("utf-8") == reference.rendered()


def test_every_setting_says_what_it_means() -> None:
    bare = re.findall(r"^\| `([^`]+)` \|.*\|  \|$", reference.rendered(), re.MULTILINE)
    assert bare == []


def test_every_key_of_every_kind_is_listed_once_or_referred_to() -> None:
    text = reference.rendered()
    assert "Its keys are those of `generator`." in text
    assert "| `tokens.base_url` |" not in text
    rows = re.findall(r"^\| `([^`]+)` \|(.*)$", text, re.MULTILINE)
    assert len(set(rows)) == len(rows) > 150


def test_sections_inside_sections_and_alternatives_are_listed() -> None:
    text = reference.rendered()
    for key in ("kafka.group", "alerts.webhook.url", "watch.pages.redirects", "job.partitions"):
        assert f"| `{key}` |" in text
    assert "| **`[generator]`** kind `openai` | | | *" in text
    assert set(Settings.model_fields) == {
        name for names in reference.GROUPS.values() for name in names
    }
    assert '| `job.membership` | `assign`, `group` | `"assign"` |' in text
