"""A hub on the loopback address that serves folders as repositories, for the real download code."""

import hashlib
import json
import threading
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Hub:
    """Repositories by id: folder and commit of the main branch."""

    def __init__(self) -> None:
        self.repositories: dict[str, tuple[Path, str]] = {}
        self.gated: set[str] = set()
        self.downloads: Counter[str] = Counter()  # by file name
        self.url = ""

    def add(self, source: str, folder: Path, commit: str) -> None:
        """Serve ``folder`` as ``source``, at ``commit``."""
        self.repositories[source] = (folder, commit)

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of a GET."""
        api = path.startswith("/api/models/")
        parts = path.removeprefix("/api/models/").strip("/").split("/")
        source, rest = "/".join(parts[:2]), parts[2:]
        if source not in self.repositories:
            return 404, {"X-Error-Code": "RepoNotFound", "X-Error-Message": "no such repository"}, b""
        if source in self.gated:
            return 403, {"X-Error-Code": "GatedRepo", "X-Error-Message": "access is restricted"}, b""
        folder, commit = self.repositories[source]
        files = sorted(f.relative_to(folder).as_posix() for f in folder.rglob("*") if f.is_file())
        revision = rest[1] if len(rest) > 1 else "main"
        if revision not in ("main", commit):
            return 404, {"X-Error-Code": "RevisionNotFound", "X-Error-Message": "no such revision"}, b""
        if api and (not rest or rest[0] == "revision"):
            return (
                200,
                {},
                json.dumps({"id": source, "sha": commit, "siblings": [{"rfilename": f} for f in files]}).encode(),
            )
        if api and rest[0] == "tree":
            entries = [
                {"type": "file", "path": f, "size": (folder / f).stat().st_size, "oid": self._etag(folder / f)}
                for f in files
            ]
            return 200, {}, json.dumps(entries).encode()
        name = "/".join(rest[2:])
        if name not in files:
            return 404, {"X-Error-Code": "EntryNotFound", "X-Error-Message": "no such file"}, b""
        return 200, {"ETag": f'"{self._etag(folder / name)}"', "X-Repo-Commit": commit}, (folder / name).read_bytes()

    @staticmethod
    def _etag(path: Path) -> str:
        return hashlib.sha1(path.read_bytes()).hexdigest()


@contextmanager
def serving():
    """A hub that answers until the block ends."""
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self, body=True):
            status, headers, content = hub.answer(unquote(urlsplit(self.path).path))
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            if body:
                self.wfile.write(content)
                hub.downloads[self.path.partition("/resolve/")[2].partition("/")[2]] += "/resolve/" in self.path

        def do_HEAD(self):
            self.do_GET(body=False)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
