"""A real headless Chromium for pages, its log of messages and of requests."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
from selenium import webdriver

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
CHROMEDRIVER = shutil.which("chromedriver")
WIDE, NARROW = 1280, 420
FONTS = [Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), Path.home() / ".fonts"]
FAMILIES = ("Liberation", "DejaVu")  # narrow, like Arial; wide
# For tests of sizes: what fits in the letters of one family may not fit in those of another.
ONLY = """<fontconfig><dir>{directory}/fonts</dir><cachedir>{directory}</cachedir>
<alias><family>sans-serif</family><prefer><family>{family} Sans</family></prefer></alias>
<alias><family>monospace</family><prefer><family>{family} Sans Mono</family>
<family>{family} Mono</family></prefer></alias></fontconfig>"""
with_each_font = pytest.mark.parametrize("browser", FAMILIES, indirect=True)

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
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get(file.as_uri())


def requested(browser: webdriver.Chrome) -> list[str]:
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [params["request"]["url"] for params in sent]
