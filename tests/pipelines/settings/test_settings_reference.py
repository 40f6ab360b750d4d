"""docs/settings.md tells every setting."""

import re

from radarstream.pipelines.settings import Settings, reference


def test_the_file_is_as_generated() -> None:
    assert reference.FILE.read_text("utf-8") == reference.rendered()


def test_every_key_of_every_section_and_kind_is_listed_once_with_its_meaning() -> None:
    text = reference.rendered()
    for words in ("| `kafka.group` |", "| `alerts.webhook.url` |", "| `watch.pages.redirects` |",
                  "| `job.partitions` |", "| **`[generator]`** kind `openai` | | | *",
                  '| `job.membership` | `assign`, `group` | `"assign"` |',
                  "Its keys are those of `generator`."):  # fmt: skip
        assert words in text
    assert "| `tokens.base_url` |" not in text
    rows = re.findall(r"^\| `([^`]+)` \|(.*)$", text, re.MULTILINE)
    assert len(set(rows)) == len(rows) > 150
    assert [name for name, row in rows if row.endswith("|  |")] == []
    groups = [name for names in reference.GROUPS.values() for name in names]
    assert set(Settings.model_fields) == set(groups)
