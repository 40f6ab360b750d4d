#!/usr/bin/env bash
# Pages are tested in a real browser, with narrow and with wide fonts. Install Chromium and the fonts
# where the system's package manager can; elsewhere the tests say that they were skipped.
set -u
browser() { command -v chromium >/dev/null && command -v chromedriver >/dev/null; }
fonts() { [ -d /usr/share/fonts/truetype/liberation ] && [ -d /usr/share/fonts/truetype/dejavu ]; }
if browser && fonts; then exit 0; fi
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends \
    chromium chromium-driver fonts-liberation fonts-dejavu-core; } >/dev/null 2>&1 && exit 0
fi
browser || echo "note: no chromium and chromedriver here and no way to install them; browser tests will be skipped" >&2
exit 0
