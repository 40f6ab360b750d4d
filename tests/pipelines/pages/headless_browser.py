"""A real headless Chromium for pages, its log of messages and of requests."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
CHROMEDRIVER = shutil.which("chromedriver")
WIDE, NARROW = 1280, 420

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
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    if CHROMIUM is None or CHROMEDRIVER is None:
        message = "no chromium and chromedriver on PATH: the report was not rendered"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    profile = tmp_path_factory.mktemp("profile")
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                 "--disable-background-networking", "--no-first-run",
                 f"--user-data-dir={profile}"):  # fmt: skip
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.set_capability("unhandledPromptBehavior", "ignore")
    # Both paths are given, so Selenium Manager has nothing to look for and downloads nothing.
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(CHROMEDRIVER))
    driver.set_page_load_timeout(60)
    yield driver
    driver.quit()


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
