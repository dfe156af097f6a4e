"""Streams that run beside every break attempt: whatever one client does, the others' answers stay the same to the byte."""
import contextlib
import http.client
import json
import threading

PROMPTS = ("The capital of France is", "Water boils at", "Once upon a time there was", "1, 2, 3, 4, 5,")
TOKENS = 20


class Canaries:
    def __init__(self, server):
        self.server = server
        self.alone = [self._text(prompt) for prompt in PROMPTS]
        self.wrong, self.finished = [], [0] * len(PROMPTS)
        self._stop = threading.Event()
        self._singing = [threading.Lock() for _ in PROMPTS]
        self._threads = [threading.Thread(target=self._sing, args=(i,), daemon=True) for i in range(len(PROMPTS))]
        for thread in self._threads:
            thread.start()

    def running(self):
        return all(thread.is_alive() for thread in self._threads)

    @contextlib.contextmanager
    def resting(self):
        """Nobody sings meanwhile: those who do end first."""
        with contextlib.ExitStack() as all_of_them:
            for lock in self._singing:
                all_of_them.enter_context(lock)
            yield

    def stop(self):
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive(), "a canary's stream does not end"

    def _sing(self, which):
        while not self._stop.is_set():
            with self._singing[which]:
                try:
                    text = self._text(PROMPTS[which])
                except Exception as failure:  # whatever it was, a canary has suffered
                    text = repr(failure)
            if text != self.alone[which]:
                self.wrong.append((PROMPTS[which], text, self.alone[which]))
            self.finished[which] += 1
            self._stop.wait(0.02)

    def _text(self, prompt):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            body = {"prompt": prompt, "max_tokens": TOKENS, "temperature": 0, "stream": True}
            connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            assert response.status == 200, response.read()
            blocks = response.read().decode().split("\n\n")
        finally:
            connection.close()
        assert blocks[-2:] == ["data: [DONE]", ""], blocks[-3:]
        pieces = [json.loads(block.removeprefix("data: ")) for block in blocks[:-2] if not block.startswith(":")]
        assert pieces[-1]["choices"][0]["finish_reason"] is not None
        return "".join(piece["choices"][0]["text"] for piece in pieces)
