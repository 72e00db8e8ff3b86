"""A local OpenAI-compatible chat server that misbehaves on request."""

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def completion(text: object) -> dict:
    """A well-formed reply that says ``text`` and cost 100 + 10 tokens."""
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "stub",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


class Stub:
    """Serves ``behave(number, request) -> (status, body, headers)``; ``number`` counts requests from 0.

    A body that is a string is sent as it is, a dict as JSON; status 0 drops the connection without a reply, and a
    negative one first waits that many seconds.
    """

    def __init__(self, behave: Callable[[int, dict], tuple]) -> None:
        self.requests: list[dict] = []
        self.keys: list[str | None] = []
        self.dead = False
        lock = threading.Lock()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                if stub.dead:  # a connection that was kept open
                    self.close_connection = True
                    return
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    number = len(stub.requests)
                    stub.requests.append(request)
                    stub.keys.append(self.headers.get("Authorization"))
                status, body, *headers = behave(number, request)
                if status < 0:
                    time.sleep(-status)
                if status <= 0:
                    self.close_connection = True
                    return
                data = (body if isinstance(body, str) else json.dumps(body)).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **(headers[0] if headers else {})}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def __enter__(self) -> "Stub":
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if not self.dead:
            self.die()

    def die(self) -> None:
        """Drop open connections, and refuse new ones."""
        self.dead = True
        self.server.shutdown()
        self.server.server_close()
