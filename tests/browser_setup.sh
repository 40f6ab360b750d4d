#!/usr/bin/env bash
# The report is tested in a real browser. Install Chromium where the system's package manager can;
# elsewhere the browser tests say that they were skipped.
set -u
if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then exit 0; fi
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium chromium-driver; } >/dev/null 2>&1 && exit 0
fi
echo "note: no chromium and chromedriver here and no way to install them; browser tests will be skipped" >&2
exit 0
