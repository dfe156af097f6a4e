"""The server on real sockets.

    ninja -C build/release millrace
    MILLRACE_TEST_MODEL=SmolLM2-135M-Instruct.Q4_1.gguf pytest tests/http

MILLRACE_BUILD_DIR names another build folder; without MILLRACE_TEST_MODEL all is skipped.
"""
import itertools
import os
import time

import pytest
from canaries import Canaries
from running_server import PROGRAM, RunningServer


def pytest_addoption(parser):
    parser.addoption("--write-transcripts", action="store_true", help="tests/http: take what is sent for right")


@pytest.fixture(scope="session")
def model():
    path = os.environ.get("MILLRACE_TEST_MODEL", "")
    if not path:
        pytest.skip("MILLRACE_TEST_MODEL is not set")
    assert PROGRAM.exists(), f"{PROGRAM} is not built: ./dev build"
    return path


@pytest.fixture(scope="session")
def logs(tmp_path_factory):
    folder, numbers = tmp_path_factory.mktemp("logs"), itertools.count()
    return lambda: folder / f"{next(numbers)}.log"


@pytest.fixture(scope="session")
def start(model, logs):
    """start("--flag", ...) -> RunningServer, to be used as a context."""
    return lambda *flags, **more: RunningServer(model, logs(), *flags, **more)


@pytest.fixture(scope="session")
def server(start):
    """The one that most tests break things on. It must end with 0, however it was treated."""
    with start() as running:
        yield running


@pytest.fixture(scope="session")
def impatient(start):
    """Does not wait long for anybody."""
    with start("--header-timeout", "1", "--body-timeout", "1", "--write-timeout", "1", "--keep-alive-timeout", "1") as running:
        yield running


@pytest.fixture(scope="module")
def choir(server):
    singing = Canaries(server)
    yield singing
    singing.stop()
    assert min(singing.finished) > 0
    assert not singing.wrong


@pytest.fixture
def canaries(choir):
    """Four streams run beside the test; none may have come to harm when it ends."""
    yield choir
    assert not choir.wrong
    assert choir.running()


@pytest.fixture
def at_rest(server, choir):
    """Wait until the server holds no more than it did: at_rest() before, and what it returns after. The canaries rest
    while it looks: else what it held before would depend on how many of them sang just then."""

    def held():
        with choir.resting():
            time.sleep(0.2)  # what a connection held is given back a moment after its end
            return server.descriptors(), server.threads()

    def measure():
        server.call("GET", "/health")
        before = held()

        def check(seconds=10.0):
            end = time.monotonic() + seconds
            while (now := held()) > before:
                assert time.monotonic() < end, f"descriptors and threads were {before}, are {now}"
                time.sleep(0.05)

        return check

    return measure
