"""Requests about whose borders parsers differ, and heads without measure: one refusal, the connection closed, nobody else harmed."""
import json
import time

import pytest
from running_server import request_bytes, statuses

pytestmark = pytest.mark.usefixtures("canaries")

HIDDEN = b"GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n"  # answered with 200 by who takes it for a second request
BODY = b'{"prompt": "a", "max_tokens": 1}'
POST = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
GET = b"GET /version HTTP/1.1\r\nHost: localhost\r\n"


def chunked(body):
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


REFUSED = {
    "length-and-coding": (400, POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(BODY) + HIDDEN),
    "coding-and-length": (400, POST + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n" + chunked(BODY) + HIDDEN),
    "two-lengths": (400, POST + b"Content-Length: 32\r\nContent-Length: 0\r\n\r\n" + BODY + HIDDEN),
    "two-equal-lengths": (400, POST + b"Content-Length: 32\r\nContent-Length: 32\r\n\r\n" + BODY + HIDDEN),
    "list-of-lengths": (400, POST + b"Content-Length: 32, 32\r\n\r\n" + BODY + HIDDEN),
    "negative-length": (400, POST + b"Content-Length: -1\r\n\r\n" + BODY + HIDDEN),
    "signed-length": (400, POST + b"Content-Length: +32\r\n\r\n" + BODY + HIDDEN),
    "hexadecimal-length": (400, POST + b"Content-Length: 0x20\r\n\r\n" + BODY + HIDDEN),
    "empty-length": (400, POST + b"Content-Length:\r\n\r\n" + BODY + HIDDEN),
    "overflowing-length": (400, POST + b"Content-Length: 18446744073709551648\r\n\r\n" + BODY + HIDDEN),
    "huge-length": (413, POST + b"Content-Length: 999999999999999\r\n\r\n" + BODY),
    "codings-in-a-list": (501, POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + chunked(BODY) + HIDDEN),
    "chunked-twice": (501, POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n" + chunked(BODY) + HIDDEN),
    "two-codings": (400, POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(BODY) + HIDDEN),
    "coding-identity": (501, POST + b"Transfer-Encoding: identity\r\n\r\n" + BODY + HIDDEN),
    "coding-in-quotes": (501, POST + b'Transfer-Encoding: "chunked"\r\n\r\n' + chunked(BODY) + HIDDEN),
    "coding-with-control": (400, POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n" + chunked(BODY) + HIDDEN),
    "coding-after-space": (400, POST + b"Transfer-Encoding : chunked\r\n\r\n" + chunked(BODY) + HIDDEN),
    "coding-folded": (501, POST + b"Transfer-Encoding:\r\n chunked\r\n\r\n" + chunked(BODY) + HIDDEN),
    "chunks-in-http-1.0": (400, POST.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(BODY) + HIDDEN),
    "chunk-size-no-number": (400, POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + BODY + HIDDEN),
    "chunk-size-negative": (400, POST + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n" + BODY + HIDDEN),
    "chunk-size-overflow": (400, POST + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n" + BODY + HIDDEN),
    "chunk-of-ten-terabytes": (413, POST + b"Transfer-Encoding: chunked\r\n\r\n9184e72a000\r\n" + BODY),
    "chunk-without-its-end": (400, POST + b"Transfer-Encoding: chunked\r\n\r\n20\r\n" + BODY + b"xx0\r\n\r\n" + HIDDEN),
    "bare-line-feeds": (400, b"GET /version HTTP/1.1\nHost: localhost\n\n"),
    "one-bare-line-feed": (400, b"GET /version HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n"),
    "bare-carriage-return": (400, b"GET /version HTTP/1.1\r\nHost: localhost\rX: y\r\n\r\n"),
    "folded-header": (400, GET + b"X-A: b\r\n c\r\n\r\n"),
    "space-before-colon": (400, GET + b"X-A : b\r\n\r\n"),
    "header-without-colon": (400, GET + b"nonsense\r\n\r\n"),
    "header-without-name": (400, GET + b": b\r\n\r\n"),
    "nul-in-header": (400, GET + b"X-A: b\0c\r\n\r\n"),
    "nul-in-target": (400, b"GET /version\0 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    "absolute-target": (400, b"GET http://localhost/version HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    "authority-target": (400, b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    "target-asterisk": (400, b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    "target-with-space": (400, b"GET /version /x HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    "target-with-fragment": (400, b"GET /version#x HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    "no-host": (400, b"GET /version HTTP/1.1\r\n\r\n"),
    "two-hosts": (400, GET + b"Host: localhost\r\n\r\n"),
    "version-2": (505, b"GET /version HTTP/2.0\r\nHost: localhost\r\n\r\n"),
    "version-0.9": (400, b"GET /version\r\n\r\n"),
    "version-of-letters": (505, b"GET /version HTTQ/1.1\r\nHost: localhost\r\n\r\n"),
    "http2-preface": (505, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "tls-hello": (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
    "empty-line-first": (400, b"\r\n" + HIDDEN),
    "method-with-space": (400, b"GE T /version HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    "ten-thousand-headers": (431, GET + b"".join(b"X-%d: y\r\n" % i for i in range(10_000)) + b"\r\n"),
    "101-headers": (431, GET + b"".join(b"X-%d: y\r\n" % i for i in range(100)) + b"\r\n"),
    "long-target": (431, b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    "gzip-body": (415, POST + b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"),
    "expects-the-impossible": (417, POST + b"Expect: a-miracle\r\nContent-Length: 32\r\n\r\n" + BODY),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_parsers_read_differently_is_refused_and_the_connection_closed(server, name):
    status, data = REFUSED[name]
    received = server.raw(data)
    assert statuses(received) == [status], received
    head, _, body = received.partition(b"\r\n\r\n")
    assert b"\r\nconnection: close" in head
    error = json.loads(body)["error"]
    assert set(error) == {"message", "type", "param", "code"}


def test_a_head_of_100_MB_is_refused_at_its_limit(server):
    before = server.resident_bytes()
    received = server.raw((b"GET /version HTTP/1.1\r\nX: " if i == 0 else b"a" * (1 << 20)) for i in range(100))
    assert statuses(received) in ([431], [])  # a reset may bypass it: we were still talking
    assert server.resident_bytes() - before < 8 << 20


def test_a_body_beyond_the_limit_is_refused_before_it_came(server):
    before = server.resident_bytes()
    assert statuses(server.raw(POST + b"Content-Length: 100000000\r\n\r\n")) == [413]
    pieces = [POST + b"Transfer-Encoding: chunked\r\n\r\n"] + [b"100000\r\n" + b"a" * (1 << 20) + b"\r\n"] * 20
    assert statuses(server.raw(pieces)) in ([413], [])
    assert server.resident_bytes() - before < 32 << 20


def test_a_million_chunks_of_one_byte_cost_no_memory(server):
    before = server.resident_bytes()
    text = b'{"max_tokens": 1, "prompt": "a"' + b" " * 999_968 + b"}"
    pieces = [POST + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"]
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in text)
    pieces += [chunks[at:at + 65536] for at in range(0, len(chunks), 65536)] + [b"0\r\n\r\n"]
    started = time.monotonic()
    assert statuses(server.raw(pieces, timeout=60)) == [200]
    assert server.resident_bytes() - before < 32 << 20
    assert time.monotonic() - started < 30


def test_chunk_extensions_and_trailers_are_left_out(server):
    data = POST + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n20;a=b\r\n" + BODY + b"\r\n0;c\r\nX-Late: 1\r\n\r\n"
    assert statuses(server.raw(data)) == [200]


def test_pipelined_requests_are_answered_in_their_order(server):
    last = GET + b"Connection: close\r\n\r\n"
    received = server.raw(HIDDEN + request_bytes("/v1/completions", {"prompt": "a", "max_tokens": 1}) +
                          b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n" + last)
    assert statuses(received) == [200, 200, 404, 200]
    assert received.index(b'"version"') < received.index(b'"text_completion"') < received.index(b"not_found")


def test_expect_is_answered_before_the_body_is_there(server):
    with server.connect() as plug:
        plug.sendall(POST + b"Connection: close\r\nExpect: 100-continue\r\nContent-Length: 32\r\n\r\n")
        assert plug.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        plug.sendall(BODY)
        assert plug.recv(15) == b"HTTP/1.1 200 OK"


def test_expect_is_refused_at_once_where_the_body_is_not_wanted(server):
    data = POST.replace(b"application/json", b"text/plain") + b"Expect: 100-continue\r\nContent-Length: 32\r\n\r\n"
    assert statuses(server.raw(data)) == [415]


def test_head_is_get_without_a_body(server):
    received = server.raw(GET.replace(b"GET", b"HEAD") + b"Connection: close\r\n\r\n")
    head, _, body = received.partition(b"\r\n\r\n")
    assert statuses(received) == [200] and body == b""
    whole = server.raw(GET + b"Connection: close\r\n\r\n").partition(b"\r\n\r\n")[2]
    assert b"content-length: %d" % len(whole) in head


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "BREW", "get"])
def test_other_methods_are_405_and_say_which_there_are(server, method):
    reply = server.call(method, "/version")
    assert reply.status == 405 and reply.headers["allow"] == "GET"
    assert server.call(method, "/nowhere").status == 404


def test_http_1_0_gets_its_reply_and_the_end_of_the_connection(server):
    received = server.raw(b"GET /version HTTP/1.0\r\n\r\n")
    assert b"connection: close" in received.lower() and b"transfer-encoding" not in received.lower()
    body = {"prompt": "The capital of France is", "max_tokens": 2, "temperature": 0, "stream": True}
    received = server.raw(request_bytes("/v1/completions", body).replace(b"HTTP/1.1", b"HTTP/1.0"))
    head, _, stream = received.partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head.lower()
    assert stream.startswith(b"data: {") and stream.endswith(b"data: [DONE]\n\n")


def test_a_connection_serves_many_requests_one_after_the_other(server):
    with server.connect() as plug:
        for _ in range(50):
            plug.sendall(HIDDEN)
            received = b""
            while not received.endswith(b"}"):
                received += plug.recv(4096)
            assert received.startswith(b"HTTP/1.1 200 OK\r\n")
