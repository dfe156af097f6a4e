"""The least of OpenAI's API that a load needs, for peers that bring no server: /v1/models, and streamed /v1/completions of token ids.

A server is started as `python SERVER MODEL PORT THREADS` by the peer's own Python.
"""
import http.server
import json
import sys
import threading
import time


def serve(make):
    """make(model, threads) -> (description, stream).

    description: peer, version, weights, vocab_size. stream(ids, max_tokens, emit) answers one request, calls emit(text) once a token and
    returns when it is over; it is called from one thread a request and decides itself how many run at a time.
    """
    description, stream = make(sys.argv[1], int(sys.argv[3]))

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # tokens are small and must not wait for one another

        def reply(self, status, value):
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            if self.path == "/v1/models":
                card = {"id": "peer", "object": "model", "meta": {"n_vocab": description["vocab_size"]}}
                self.reply(200, {"object": "list", "data": [card], "peer": description})
            else:
                self.reply(404, {"error": {"message": f"no {self.path} here"}})

        def chunk(self, text):
            data = text.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()

        def event(self, value):
            self.chunk(f"data: {json.dumps(value)}\n\n")

        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            ids, limit = request.get("prompt"), request.get("max_tokens", 16)
            if self.path != "/v1/completions" or not isinstance(ids, list) or not ids or not all(isinstance(i, int) for i in ids):
                self.reply(400, {"error": {"message": "expected POST /v1/completions with a prompt of token ids"}})
                return
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            base = {"id": f"cmpl-{threading.get_ident()}-{time.monotonic_ns()}", "object": "text_completion"}
            count = 0

            def emit(text):
                nonlocal count
                count += 1
                self.event({**base, "choices": [{"index": 0, "text": text, "finish_reason": None}]})

            try:
                stream(ids, limit, emit)
                self.event({**base, "choices": [{"index": 0, "text": "", "finish_reason": "length"}]})
                usage = {"prompt_tokens": len(ids), "completion_tokens": count, "total_tokens": len(ids) + count}
                self.event({**base, "choices": [], "usage": usage})
            except ConnectionError:
                raise
            except Exception as error:
                self.event({"error": {"message": f"{type(error).__name__}: {error}"}})
            self.chunk("data: [DONE]\n\n")
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 1024
        daemon_threads = True

    Server(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
