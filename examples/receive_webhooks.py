"""A receiver of webhooks: verifies each, acts once on what comes twice. `WEBHOOK_SECRET=... receive_webhooks.py PORT`

`manage.py tenants secret show NAME` shows the secret. A plain-http receiver on this machine needs the service to be
started with SCRAPEJOBS_CALLBACK_ALLOW_HTTP=true and SCRAPEJOBS_EGRESS_ALLOW=127.0.0.0/8.
"""

import os
import sqlite3
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

from scrapejobs_client import WebhookError, verify_webhook

MOST_BYTES = 64 * 1024


class Receiver(HTTPServer):
    """Remembers the events that it has seen, across restarts."""

    def __init__(self, port: int, secret: str) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.secret = secret
        self.seen = sqlite3.connect("events.sqlite", isolation_level=None)
        self.seen.execute("CREATE TABLE IF NOT EXISTS event (id TEXT PRIMARY KEY)")

    def is_new(self, event_id: str) -> bool:
        return self.seen.execute("INSERT OR IGNORE INTO event VALUES (?)", [event_id]).rowcount == 1


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(min(int(self.headers.get("Content-Length", 0)), MOST_BYTES))
        try:
            event = verify_webhook(body, dict(self.headers), self.server.secret)
        except WebhookError:
            self.answer(401)
            return
        if self.server.is_new(event.event_id):
            print(f"{event.job_id} {event.status}", flush=True)
        self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()


if __name__ == "__main__":
    Receiver(int(sys.argv[1]), os.environ["WEBHOOK_SECRET"]).serve_forever()
