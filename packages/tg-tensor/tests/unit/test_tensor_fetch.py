"""A download is resumed where it stopped, checked, and kept."""

from __future__ import annotations

import gzip
import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tg_tensor.errors import FetchError
from tg_tensor.interop.fetch import fetch
from tg_uop import Context

DATA = bytes(range(256)) * 8192


class Server(BaseHTTPRequestHandler):
    """Serves DATA at /data; /cut sends half of it; counts what it was asked."""

    ranges: list[str | None] = []

    def do_GET(self):
        asked = self.headers.get("Range")
        Server.ranges.append(asked)
        if self.path == "/none":
            self.send_error(404)
            return
        body = gzip.compress(DATA) if self.path == "/data.gz" else DATA
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        end = len(body) // 2 if self.path == "/cut" and not asked else len(body)
        self.wfile.write(body[start:end])

    def log_message(self, *_):
        pass


@pytest.fixture
def url(tmp_path):
    Server.ranges = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    with Context(TG_CACHE_DIR=str(tmp_path)):
        yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_file_is_downloaded_once(url):
    first = fetch(f"{url}/data")
    assert first.read_bytes() == DATA
    assert fetch(f"{url}/data") == first
    assert Server.ranges == [None]


def test_a_download_that_stopped_goes_on(url):
    seen = []
    with pytest.raises(FetchError, match="call again to go on"):
        fetch(f"{url}/cut", progress=lambda have, total: seen.append((have, total)))
    path = fetch(f"{url}/cut", sha256=hashlib.sha256(DATA).hexdigest())
    assert path.read_bytes() == DATA
    assert Server.ranges == [None, f"bytes={len(DATA) // 2}-"]
    assert seen[-1] == (len(DATA) // 2, len(DATA))


def test_a_wrong_file_is_not_kept(url, tmp_path):
    with pytest.raises(FetchError, match="expected 00"):
        fetch(f"{url}/data", md5="00")
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


def test_gzip_is_unpacked(url):
    assert fetch(f"{url}/data.gz", gunzip=True).read_bytes() == DATA
    with pytest.raises(FetchError, match="no gzip file"):
        fetch(f"{url}/data", gunzip=True)


def test_what_cannot_be_had_is_an_error(url):
    with pytest.raises(FetchError, match="404"):
        fetch(f"{url}/none")
    with pytest.raises(FetchError, match="scheme 'ftp'"):
        fetch("ftp://127.0.0.1/x")
    with pytest.raises(FetchError):
        fetch("http://127.0.0.1:1/refused")


def test_a_local_path_is_itself(tmp_path):
    path = tmp_path / "here"
    assert fetch(path) == path
    assert fetch(f"file://{path}") == path
