"""Writes the seed files of corpus/{http_request,chat_request} and chat.dict. Needs nothing but a built millrace, whose document names
the fields: make_server_corpus.py build/release/bin/millrace"""
import json
import pathlib
import re
import subprocess
import sys
import urllib.request

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
BODIES = {
    "chat": {"messages": [{"role": "system", "content": "be short"}, {"role": "user", "content": "hello"}], "max_tokens": 5,
             "temperature": 0.5, "stream": True, "stream_options": {"include_usage": True}},
    "parts": {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}], "stop": ["x", "y"], "seed": 7},
    "sampling": {"prompt": [1, 2, 3], "top_p": 0.9, "top_k": 5, "min_p": 0.1, "repetition_penalty": 1.1, "logit_bias": {"5": -100},
                 "presence_penalty": 1, "frequency_penalty": -1, "n": 2, "best_of": 3, "logprobs": 5, "echo": True},
    "text": {"prompt": "once upon", "suffix": "the end", "max_tokens": 9, "ignore_eos": True, "min_tokens": 2},
    "anthropic": {"system": "s", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5, "stop_sequences": ["z"]},
    "response": {"input": "hi", "instructions": "do", "max_output_tokens": 16},
    "embedding": {"input": ["a", "b"], "encoding_format": "base64", "dimensions": 8},
    "tools": {"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]},
}


def fields_of(millrace):
    server = subprocess.Popen([millrace, "serve", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        port = re.search(r":(\d+)\s*$", server.stdout.readline()).group(1)
        document = urllib.request.urlopen(f"http://127.0.0.1:{port}/openapi.json").read()
    finally:
        server.terminate()
        server.wait()
    names = set()

    def collect(node):
        if isinstance(node, dict):
            names.update(node.get("properties", {}))
            for value in node.values():
                collect(value)
        elif isinstance(node, list):
            for value in node:
                collect(value)

    collect(json.loads(document))
    return sorted(name for name in names if re.fullmatch(r"[a-zA-Z_]+", name))


def main():
    for name, text in HTTP.items():
        path = FUZZ / "corpus/http_request" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes([7]) + text)
    for i, (name, body) in enumerate(BODIES.items()):
        path = FUZZ / "corpus/chat_request" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes([0 if "messages" in body else i]) + json.dumps(body).encode())
    words = [f'"\\"{name}\\":"' for name in fields_of(sys.argv[1])]
    words += ['"null"', '"true"', '"false"', '"[]"', '"{}"', '"-1"', '"1e309"', '"18446744073709551616"', '"\\\\ud800"', '"\\\\u0000"']
    (FUZZ / "chat.dict").write_text("\n".join(words) + "\n")


if __name__ == "__main__":
    main()
