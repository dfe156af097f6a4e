"""Writes the seed files of corpus/http_request."""
import pathlib

FUZZ = pathlib.Path(__file__).parent
HOST = b"host: a\r\n"
HTTP = {
    "get": b"GET /v1/models?x=1 HTTP/1.1\r\n" + HOST + b"\r\n",
    "post": b"POST /v1/x HTTP/1.1\r\n" + HOST + b"content-type: application/json\r\ncontent-length: 5\r\n\r\nhello",
    "chunked": b"POST /x HTTP/1.1\r\n" + HOST + b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n3;e=1\r\nabc\r\n0\r\n\r\n",
    "trailers": b"POST /x HTTP/1.1\r\n" + HOST + b"transfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\nx: y\r\n\r\n",
    "two": (b"POST /x HTTP/1.1\r\n" + HOST + b"content-length: 2\r\n\r\nok") * 2 + b"GET / HTTP/1.1\r\n" + HOST + b"\r\n",
    "continue": b"POST /x HTTP/1.1\r\n" + HOST + b"expect: 100-continue\r\ncontent-length: 3\r\n\r\nabc",
    "refused": b"POST /refused HTTP/1.1\r\n" + HOST + b"content-length: 3\r\n\r\nabcGET / HTTP/1.1\r\n" + HOST + b"\r\n",
    "old": b"GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n",
    "head": b"HEAD /x HTTP/1.1\r\n" + HOST + b"\r\nGET /y HTTP/1.1\r\n" + HOST + b"connection: close\r\n\r\n",
    "smuggled": b"POST /x HTTP/1.1\r\n" + HOST + b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /y HTTP/1.1\r\n\r\n",
    "too_long": b"GET / HTTP/1.1\r\n" + HOST + b"x: " + b"a" * 1100 + b"\r\n\r\n",
    "too_much": b"POST / HTTP/1.1\r\n" + HOST + b"content-length: 600\r\n\r\n" + b"a" * 600,
}


def main():
    for name, text in HTTP.items():
        path = FUZZ / "corpus/http_request" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes([7]) + text)


if __name__ == "__main__":
    main()
