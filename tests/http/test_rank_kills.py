"""A rank that is killed again and again under 32 streams: no request is lost, every text is right, and nothing is left behind.

Three kills here; with MILLRACE_TEST_ALL (./dev test --all) two hundred. `pytest -s` prints how long the streams paused.
"""
import concurrent.futures
import os
import random
import signal
import statistics
import time

from test_rank_faults import ALL, Streams, leaves_nothing, ranks_of  # noqa: F401: a fixture
from test_tensor_parallel import TEXT, TWO, answers, wait_until

KILLS = 200 if ALL else 3
ASKED = [{"prompt": f"Chapter {i}. On that day", "max_tokens": 40 + i, "temperature": 0.8 * (i % 2), "seed": i, "ignore_eos": True} for i in range(32)]


class Clients(Streams):
    """Each asks the same again as soon as it is answered, until all are told to stop."""

    def __init__(self, server, bodies, right):
        self.pieces = self.answered = 0
        self.stopping = False
        self.pool = concurrent.futures.ThreadPoolExecutor(len(bodies))
        self.texts = [self.pool.submit(self._ask, server, body, texts) for body, texts in zip(bodies, right, strict=True)]

    def _ask(self, server, body, texts):
        while not self.stopping:
            assert self._read(server, body) == texts, body
            self.answered += 1

    def go_on(self, pieces):
        """They have got so many more, or one has failed."""
        goal = self.pieces + pieces
        wait_until(lambda: self.pieces >= goal or any(client.done() for client in self.texts), 60)

    def stop(self):
        self.stopping = True
        self.results()


def test_no_request_is_lost_however_often_a_rank_is_killed(start, server, leaves_nothing):  # noqa: F811
    right = [[choice["text"] for choice in choices] for choices in answers(server, [(TEXT, body) for body in ASKED])]
    chance, pauses = random.Random(7), []
    with start(*TWO) as two:
        seen = {two.process.pid}
        clients = Clients(two, ASKED, right)
        for _ in range(KILLS):
            clients.go_on(chance.randrange(1, 1200))
            ranks = ranks_of(two)
            seen.update(ranks)
            os.kill(ranks[0], signal.SIGKILL)
            begin = time.monotonic()
            wait_until(lambda: ranks_of(two) not in ([], ranks), 30)
            clients.go_on(1)
            pauses.append(time.monotonic() - begin)
        clients.stop()
        seen.update(ranks_of(two))
        assert clients.answered >= len(ASKED)
    leaves_nothing(seen)
    print(f"\n{KILLS} kills, {clients.answered} requests answered; pauses: median {statistics.median(pauses):.2f} s, longest {max(pauses):.2f} s")
