"""What every page must be: well formed, inert whatever is in it, and allowed its script alone."""

from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

from radarstream.pipelines.pages.safe_text import HIDDEN

VOID = {"meta", "link", "input", "br", "img", "hr", "wbr"}


class ParsedPage(HTMLParser):
    """What a parser finds in a page: tags with attributes, texts, scripts; checks nesting."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self.stack: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"{tag} repeats an attribute"
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack and self.stack.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        inside = self.stack[-1] if self.stack else ""
        if inside != "script":
            self.texts.append(data)
        elif self.tags[-1][1].get("type") != "application/json":
            self.scripts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def values(self, attribute: str) -> list[str]:
        return [attrs[attribute] or "" for _, attrs in self.tags if attribute in attrs]


def check_inert(text: str) -> ParsedPage:
    """Nothing runs but our script, nothing is loaded, hidden characters show, links within the page
    lead somewhere; the parsed page.
    """
    page = ParsedPage(text)
    assert page.stack == []
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert {href[1:] for href in page.values("href") if href.startswith("#")} <= set(ids)
    forbidden = {"img", "iframe", "object", "embed", "base", "foreignobject", "use", "b-x"}
    assert {tag for tag, _ in page.tags} & forbidden == set()
    loading = {"src", "srcset", "action", "formaction", "ping", "background"}
    for tag, attrs in page.tags:
        assert not [name for name in attrs if name.startswith("on")], (tag, attrs)
        assert not loading & set(attrs)
        for name in ("href", "xlink:href"):
            link = attrs.get(name) or "#"
            local = link.startswith("data:,") if tag == "link" else link.endswith(".html")
            assert local or link.startswith(("#", "https://", "http://")), link
    (script,) = page.scripts
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = next(a["content"] or "" for _, a in page.tags if a.get("http-equiv"))
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert (rules["default-src"], rules["script-src"]) == ("'none'", f"'sha256-{digest}'")
    assert "window.pwned" not in script
    assert "49 $" not in page.text  # no template ran inside a text
    assert not HIDDEN.search(text)
    return page
