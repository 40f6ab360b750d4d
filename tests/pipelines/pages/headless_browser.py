"""A real headless Chromium for pages, its log of messages and of requests."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.common.exceptions import NoAlertPresentException

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
CHROMEDRIVER = shutil.which("chromedriver")
WIDE, NARROW = 1280, 420
FONTS = [Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), Path.home() / ".fonts"]
FAMILIES = ("DejaVu", "Liberation")  # wide; narrow, like Arial
# For tests of sizes: what fits in the letters of one family may not fit in those of another.
ONLY = """<fontconfig><dir>{directory}/fonts</dir><cachedir>{directory}</cachedir>
<alias><family>sans-serif</family><prefer><family>{family} Sans</family></prefer></alias>
<alias><family>monospace</family><prefer><family>{family} Sans Mono</family>
<family>{family} Mono</family></prefer></alias></fontconfig>"""
with_each_font = pytest.mark.parametrize(
    "browser", [FAMILIES[0], pytest.param(FAMILIES[1], marks=pytest.mark.long)], indirect=True
)

# Every visible text's contrast with what is painted behind it, worst first (WCAG 2, 1.4.3).
CONTRAST = """
const parse = (c) => { const m = c.match(/[\\d.]+/g).map(Number);
  if (c.startsWith("color(srgb")) for (let i = 0; i < 3; i++) m[i] *= 255;
  return m.length < 4 ? [...m, 1] : m; };
const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => { v /= 255;
  return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
  return .2126 * r + .7152 * g + .0722 * b; };
const behind = (e) => { const layers = [];
  for (let n = e; n; n = n.parentElement) layers.push(parse(getComputedStyle(n).backgroundColor));
  return layers.reverse().reduce((under, layer) => over(layer, under), [255, 255, 255, 1]); };
const found = [];
for (const e of document.querySelectorAll("body *:not(svg):not(svg *):not(script)")) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  if (!own || !e.checkVisibility() || e.closest(".visually-hidden, .skip")) continue;
  const back = behind(e), ink = over(parse(getComputedStyle(e).color), back);
  const [a, b] = [light(ink), light(back)].sort((x, y) => y - x);
  found.push([(a + .05) / (b + .05), e.className, e.textContent.slice(0, 40)]);
}
return found.sort((x, y) => x[0] - y[0]).slice(0, 3);
"""

# Labels whose boxes meet, and texts that leave their drawing.
UNTIDY = """
const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
  && a.top < b.bottom - 2.5 && b.top < a.bottom - 2.5;
const found = [];
for (const plot of document.querySelectorAll("svg.plot")) {
  const frame = plot.getBoundingClientRect();
  const texts = [...plot.querySelectorAll("text")].filter((t) => t.textContent);
  const boxes = texts.map((t) => t.getBoundingClientRect());
  texts.forEach((text, i) => {
    if (boxes[i].right > frame.right + 2 || boxes[i].left < frame.left - 2)
      found.push(["outside", text.textContent]);
    for (let j = 0; j < i; j++) if (meet(boxes[i], boxes[j]))
      found.push(["overlap", text.textContent, texts[j].textContent]);
  });
}
return found;
"""


@pytest.fixture(scope="module")
def browsers(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str], webdriver.Chrome]]:
    """A browser for each family of fonts, opened when a test of the module first asks for it."""
    if CHROMIUM is None or CHROMEDRIVER is None:
        message = "no chromium and chromedriver on PATH: the report was not rendered"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    with ExitStack() as closing:
        yield cache(lambda family: opened(family, tmp_path_factory.mktemp("browser"), closing))


@pytest.fixture
def browser(
    request: pytest.FixtureRequest, browsers: Callable[[str], webdriver.Chrome]
) -> webdriver.Chrome:
    """A browser with common fonts, or those of the machine without them; see `with_each_font`."""
    asked = getattr(request, "param", None)
    if asked and not files_of(asked):
        pytest.skip(f"no fonts of the family {asked} on this machine")
    return browsers(asked or FAMILIES[0])


def files_of(family: str) -> list[Path]:
    """The machine's font files of a family."""
    return [file for root in FONTS for file in root.rglob(f"{family}*.ttf")]


def opened(family: str, directory: Path, closing: ExitStack) -> webdriver.Chrome:
    """Open a browser that has the fonts of a family only, if the machine has them."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                 "--disable-background-networking", "--no-first-run",
                 f"--user-data-dir={directory}/profile"):  # fmt: skip
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.set_capability("unhandledPromptBehavior", "ignore")
    environment = dict(os.environ)
    if files := files_of(family):
        (directory / "fonts").mkdir()
        for file in files:
            (directory / "fonts" / file.name).symlink_to(file)
        (directory / "fonts.conf").write_text(ONLY.format(family=family, directory=directory))
        environment["FONTCONFIG_FILE"] = str(directory / "fonts.conf")
    # Both paths are given, so Selenium Manager has nothing to look for and downloads nothing.
    service = webdriver.ChromeService(CHROMEDRIVER, env=environment)
    driver = webdriver.Chrome(options=options, service=service)
    closing.callback(driver.quit)
    driver.set_page_load_timeout(60)
    return driver


def show(browser: webdriver.Chrome, file: Path, width: int = WIDE, scheme: str = "light") -> None:
    """Open a page afresh at a width, with empty logs before and animations off."""
    browser.get("about:blank")
    for log in ("browser", "performance"):
        browser.get_log(log)
    look(browser, width, scheme)
    browser.get(file.as_uri())


def look(browser: webdriver.Chrome, width: int = WIDE, scheme: str = "light") -> None:
    """Set the width and the colours, without animations."""
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


@contextmanager
def without_scripts(browser: webdriver.Chrome) -> Iterator[None]:
    """A reader who runs no scripts."""
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def requested(browser: webdriver.Chrome) -> list[str]:
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [params["request"]["url"] for params in sent]


def unfold(browser: webdriver.Chrome) -> None:
    """Open every fold, so that everything is laid out."""
    browser.execute_script(
        "for (const d of document.querySelectorAll('details')) d.open = true;"
        "for (const q of document.querySelectorAll('.query')) q.style.contentVisibility='visible';"
    )


def check_quiet(browser: webdriver.Chrome, file: Path) -> None:
    """The open page logged nothing and asked for nothing but itself."""
    assert [entry for entry in browser.get_log("browser") if entry["level"] != "DEBUG"] == []
    urls = requested(browser)
    assert file.as_uri() in urls  # the log is being read
    assert [url for url in urls if url not in (file.as_uri(), "about:blank", "data:,")] == []


def check_harmless(browser: webdriver.Chrome) -> None:
    """Whatever a reader points at or clicks on the open page, nothing of others runs."""
    browser.execute_script(
        "for (const a of document.querySelectorAll('a:not([href])')) a.click();"
        "for (const e of document.querySelectorAll('bdi, circle')) "
        "e.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));"
    )
    assert browser.execute_script("return window.pwned") is None
    for link in browser.execute_script("return [...document.links].map((a) => a.protocol)"):
        assert link in ("file:", "http:", "https:")
    foreign = "img, iframe, object, embed, base, form[action], foreignObject, body script ~ main"
    assert browser.execute_script(f"return document.querySelectorAll('{foreign}').length") == 0
    running = "return [...document.scripts].filter((s) => s.type !== 'application/json').length"
    assert browser.execute_script(running) == 1
    with pytest.raises(NoAlertPresentException):
        _ = browser.switch_to.alert.text


def check_page(
    browser: webdriver.Chrome,
    file: Path,
    widths: Sequence[int] = (WIDE, NARROW),
    unfolding: Callable[[webdriver.Chrome], None] = unfold,
    *,
    labels: bool = True,
) -> None:
    """The page is quiet and harmless, legible in both schemes, and fits every width; with `labels`,
    those of its plots do not overlap.
    """
    show(browser, file)
    unfolding(browser)
    check_quiet(browser, file)
    check_harmless(browser)
    for scheme in ("light", "dark"):
        show(browser, file, scheme=scheme)
        unfolding(browser)
        worst = browser.execute_script(CONTRAST)
        assert worst[0][0] >= 4.5, (scheme, worst)
    for width in widths:
        show(browser, file, width)
        if labels and width == WIDE:
            untidy = browser.execute_script(UNTIDY)
            assert untidy == [], untidy
        unfolding(browser)
        extent = "return [document.documentElement.scrollWidth, window.innerWidth]"
        scrolled, seen = browser.execute_script(extent)
        assert scrolled <= seen == width
