"""Receive alerts of `radarstream alert`: alert_receiver.py [PORT]. WEBHOOK_SECRET is the secret."""

import hmac
import json
import os
import sys
import time
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer

MOST_BYTES, SECONDS = 1_000_000, 300
seen: set[str] = set()  # a real receiver keeps these where they outlive it


def is_authentic(secret: bytes, header: str, body: bytes, now: float | None = None) -> bool:
    """Whether the sender knows the secret and signed this body within the last five minutes."""
    parts = dict(part.partition("=")[::2] for part in header.split(","))
    moment, signed = parts.get("t", ""), parts.get("v1", "")
    expected = hmac.new(secret, moment.encode() + b"." + body, sha256).hexdigest()
    signed_well = hmac.compare_digest(signed.encode(), expected.encode())
    return signed_well and abs((now or time.time()) - int(moment)) <= SECONDS


class Receiver(BaseHTTPRequestHandler):
    """Prints each alert once."""

    def do_POST(self) -> None:
        """Accept an alert (204), or refuse it for good (403, 413)."""
        length = int(self.headers.get("Content-Length", 0))
        if length > MOST_BYTES:
            self.answer(413)
            return
        body = self.rfile.read(length)
        secret = os.environ["WEBHOOK_SECRET"].encode()
        if not is_authentic(secret, self.headers.get("X-Radarstream-Signature", ""), body):
            self.answer(403)
            return
        key = self.headers["Idempotency-Key"]
        if key not in seen:
            seen.add(key)
            alert = json.loads(body)
            print(f"{alert['question']} {alert['old_answer']} -> {alert['new_answer']}", flush=True)
        self.answer(204)

    def answer(self, status: int) -> None:
        """Send a status and no body."""
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Print no line about each request."""


if __name__ == "__main__":
    if "WEBHOOK_SECRET" not in os.environ:
        sys.exit(__doc__)
    server = HTTPServer(("127.0.0.1", int(sys.argv[1]) if sys.argv[1:] else 8900), Receiver)
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
