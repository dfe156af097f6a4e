"""A small hub: one server for the API and the redirects, another (the content network) for large files.

What goes wrong is told to it as faults, what it was asked is in `requests`.
"""
import dataclasses
import hashlib
import http.server
import json
import re
import socket
import threading
import time
import urllib.parse

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def git_sha1(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@dataclasses.dataclass
class File:
    content: bytes
    large: bool  # stored as a large file: redirected to the content network, tagged by SHA-256

    @property
    def etag(self):
        return hashlib.sha256(self.content).hexdigest() if self.large else git_sha1(self.content)


@dataclasses.dataclass
class Repository:
    files: dict
    revisions: dict = dataclasses.field(default_factory=lambda: {"main": COMMIT})
    token: str = None  # needed to read it
    gated: bool = False
    extra: dict = dataclasses.field(default_factory=dict)  # further fields of the listing

    def listing(self, name, revision, blobs):
        siblings = []
        for path, file in sorted(self.files.items()):
            entry = {"rfilename": path}
            if blobs:
                entry |= {"size": len(file.content), "blobId": git_sha1(file.content)}
                if file.large:
                    entry["lfs"] = {"sha256": file.etag, "size": len(file.content), "pointerSize": 134}
            siblings.append(entry)
        return {"id": name, "modelId": name, "sha": self.revisions.get(revision, revision), "private": False,
                "siblings": siblings} | self.extra


@dataclasses.dataclass
class Fault:
    """Answers requests whose address holds `where`, `times` times."""

    where: str
    times: int = 1
    status: int = 0  # instead of an answer
    headers: dict = dataclasses.field(default_factory=dict)
    cut_at: int = -1  # bytes of the body, then the connection ends
    stall_at: int = -1  # bytes of the body, then silence
    change: object = None  # content -> content
    redirect: str = ""
    method: str = "GET"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        hub, path = self.server.hub, urllib.parse.unquote(self.path)
        hub.requests.append({"server": self.server.role, "method": self.command, "path": path, "headers": dict(self.headers)})
        fault = hub.take_fault(self.server.role + path, self.command)
        if fault and fault.status:
            return self.answer(fault.status, b"{}", fault.headers)
        if fault and fault.redirect:
            return self.answer(302, b"", {"Location": fault.redirect})
        if self.server.role == "cdn":
            content = hub.cdn_content[path.split("?")[0].removeprefix("/")]
            return self.send_content(content, {"ETag": '"of-the-content-network"'}, fault)
        if path.startswith("/api/models/"):
            return self.do_listing(path)
        match = re.fullmatch(r"/(.+)/resolve/([^/]+)/(.+)", path)
        return self.do_resolve(*match.groups(), fault) if match else self.answer(404, b"")

    def refuse(self, repository):
        token = self.headers.get("Authorization")
        if repository is None:
            self.answer(404 if token else 401, b"{}", {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"})
        elif repository.token and token != f"Bearer {repository.token}":
            if repository.gated:
                self.answer(403 if token else 401, b"{}", {"X-Error-Code": "GatedRepo"})
            else:
                self.answer(401, b"{}", {"X-Error-Code": "RepoNotFound"})
        else:
            return False
        return True

    def do_listing(self, path):
        path, _, query = path.partition("?")
        match = re.fullmatch(r"/api/models/(.+?)(?:/revision/(.+))?", path)
        name, revision = match[1], match[2] or "main"
        repository = self.server.hub.repositories.get(name)
        if self.refuse(repository):
            return
        if revision not in repository.revisions and revision not in repository.revisions.values():
            return self.answer(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        blobs = "blobs" in query and not self.server.hub.short_listing
        self.answer(200, json.dumps(repository.listing(name, revision, blobs)).encode(), {"Content-Type": "application/json"})

    def do_resolve(self, name, revision, path, fault):
        hub, repository = self.server.hub, self.server.hub.repositories.get(name)
        if self.refuse(repository):
            return
        commit = {"X-Repo-Commit": repository.revisions.get(revision, revision)}
        file = repository.files.get(path)
        if file is None:
            return self.answer(404, b"", commit | {"X-Error-Code": "EntryNotFound"})
        if not file.large:
            return self.send_content(file.content, commit | {"ETag": f'"{file.etag}"'}, fault)
        hub.cdn_content[file.etag] = file.content
        headers = {"X-Linked-Etag": f'"{file.etag}"', "X-Linked-Size": str(len(file.content)), "ETag": f'"{file.etag}"'}
        self.answer(302, b"Found. Redirecting", commit | headers | {"Location": f"{hub.cdn_url}/{file.etag}?signature=secret"})

    def send_content(self, content, headers, fault):
        if fault and fault.change:
            content = fault.change(content)
        whole, status = content, 200
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        current = self.headers.get("If-Range") in (None, headers.get("ETag"))
        if match and current and not self.server.hub.ignore_ranges:
            first = int(match[1])
            if first >= len(whole):
                return self.answer(416, b"", {"Content-Range": f"bytes */{len(whole)}"})
            last = int(match[2]) if match[2] else len(whole) - 1
            content, status = whole[first : last + 1], 206
            headers = headers | {"Content-Range": f"bytes {first}-{last}/{len(whole)}"}
        if fault and fault.cut_at >= 0:
            self.answer(status, content, headers, stop_at=fault.cut_at)
            return self.cut()
        if fault and fault.stall_at >= 0:
            self.answer(status, content, headers, stop_at=fault.stall_at)
            self.server.hub.stopping.wait(30)
            return self.cut()
        slow = self.server.hub.bytes_per_second
        self.answer(status, content, headers, per_second=slow)

    def cut(self):
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def answer(self, status, body, headers=None, stop_at=None, per_second=0):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        body = body[:stop_at] if stop_at is not None else body
        try:
            if not per_second:
                self.wfile.write(body)
            for at in range(0, len(body) if per_second else 0, 16384):
                self.wfile.write(body[at : at + 16384])
                self.wfile.flush()
                time.sleep(16384 / per_second)
            self.wfile.flush()
        except OSError:
            self.close_connection = True


class Hub:
    def __init__(self):
        self.repositories, self.cdn_content, self.requests, self.faults = {}, {}, [], []
        self.ignore_ranges = self.short_listing = False
        self.bytes_per_second = 0
        self.stopping, self.lock = threading.Event(), threading.Lock()
        self.servers = []
        self.url, self.cdn_url = self.serve("hub"), self.serve("cdn")

    def serve(self, role, context=None):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        server.hub, server.role = self, role
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        self.servers.append(server)
        return f"{'https' if context else 'http'}://127.0.0.1:{server.server_port}"

    def close(self):
        self.stopping.set()
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def add(self, name, files, **more):
        """files: name -> bytes; large ones are those that hubs keep apart."""
        large = (".gguf", ".safetensors", ".bin")
        self.repositories[name] = Repository({path: File(content, path.endswith(large)) for path, content in files.items()}, **more)
        return self.repositories[name]

    def take_fault(self, where, method):
        with self.lock:
            for fault in self.faults:
                if fault.times > 0 and fault.where in where and fault.method == method:
                    fault.times -= 1
                    return fault
        return None

    def downloads(self, part=""):
        """GETs of content, in order."""
        return [r for r in self.requests if r["method"] == "GET" and "/api/" not in r["path"] and part in r["path"]]
