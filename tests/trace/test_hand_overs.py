"""docs/architecture.md names the functions that hand a chat request on, from the socket to its token: a server that records its own
calls (traced_server) answers one, and the stacks at the ends of the page's stretches are what the page says.

    cmake --build build/release --target traced_server && pytest tests/trace"""
import functools
import http.client
import itertools
import json
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / os.environ.get("MILLRACE_BUILD_DIR", "build/release") / "bin" / "traced_server"
PAGE = ROOT / "docs" / "architecture.md"
MOST = 12


def documented():
    """The page's table: [(number, thread, unit, [function])], a unit being a header and its source."""
    section = PAGE.read_text().split("## One request, socket to token\n")[1].split("\n## ")[0]
    rows = []
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and cells[0].isdigit():
            link = re.search(r"\]\(\.\./src/([^)]+)\)", cells[2])[1]
            rows.append((int(cells[0]), cells[1], link.rsplit(".", 1)[0], re.findall(r"`([^`]+)`", cells[3])))
    return rows


def short(symbol):
    """'std::x<y> millrace::server::(anonymous namespace)::A<b>::f(int)::{lambda()#1}::operator()() const' -> 'A::f'."""
    symbol = symbol.replace("(anonymous namespace)::", "")
    while (plain := re.sub(r"<[^<>]*>", "", symbol)) != symbol:
        symbol = plain
    name = symbol.split("(")[0].split()[-1]
    *scopes, last = name.split("::")
    return "::".join([*(scope for scope in scopes if scope[:1].isupper()), last])


class Trace:
    def __init__(self, path):
        self.threads = []
        for line in path.read_text().splitlines():
            if line.startswith("thread"):
                self.threads.append([])
            else:
                self.threads[-1].append(None if line == "-" else int(line[1:], 16))
        addresses = sorted({event for events in self.threads for event in events if event is not None})
        out = subprocess.run(["nm", "-C", "--defined-only", PROGRAM], capture_output=True, text=True, check=True).stdout
        named = {int(line[:16], 16): line[19:] for line in out.splitlines() if line[:1] != " "}
        out = subprocess.run(["addr2line", "-e", PROGRAM], input="\n".join(map(hex, addresses)), capture_output=True, text=True, check=True).stdout
        files = [line.split(":")[0] for line in out.splitlines()]
        self.frames = {address: (self.unit(file), short(named[address])) for address, file in zip(addresses, files, strict=True)}

    @staticmethod
    def unit(file):
        """'' for what is not millrace's. A compiler cache may give the object of another checkout, with that one's path in it."""
        below = os.path.normpath(file).rpartition("/src/")[2]
        return below.rsplit(".", 1)[0] if (ROOT / "src" / below).is_file() else ""

    def stack_at(self, unit, function):
        """Where it is first entered: its thread's frames of millrace, outermost first, each function once."""
        for events in self.threads:
            stack = []
            for event in events:
                if event is None:
                    if stack:  # a thread may have begun before its first event
                        stack.pop()
                    continue
                stack.append(event)
                if self.frames[event] == (unit, function):
                    frames = [self.frames[address] for address in stack if self.frames[address][0]]
                    return [frame for frame, _ in itertools.groupby(frames)]
        raise AssertionError(f"{function} of {unit} was never entered")


@functools.cache
def trace_of_a_chat_request(path):
    with subprocess.Popen([PROGRAM, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        port = int(re.fullmatch(r"listening on (\d+)\n", server.stdout.readline())[1])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        body = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 3, "ignore_eos": True}
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"content-type": "application/json"})
        reply = connection.getresponse()
        answer = json.loads(reply.read())
        connection.close()
        server.stdin.close()
        assert server.wait(60) == 0
    assert reply.status == 200 and answer["usage"]["completion_tokens"] == 3
    return Trace(path)


def hand_overs(stretches):
    """The stacks one after the other, as runs of frames of one unit."""
    frames = [(thread, *frame) for thread, stack in stretches for frame in stack]
    runs = [(thread, unit, [function for *_, function in run]) for (thread, unit), run in itertools.groupby(frames, lambda f: f[:2])]
    return [(thread, unit, list(dict.fromkeys(functions))) for thread, unit, functions in runs]


def test_the_page_says_how_a_chat_request_gets_to_its_token(tmp_path):
    assert PROGRAM.exists(), f"{PROGRAM.name} is not built: cmake --build build/release --target traced_server"
    rows = [row[1:] for row in documented()]
    assert rows
    trace = trace_of_a_chat_request(tmp_path / "trace")
    stretches = []
    for thread, stretch in itertools.groupby(rows, lambda row: row[0]):
        *_, (_, unit, functions) = stretch
        stretches.append((thread, trace.stack_at(unit, functions[-1])))
    entered = hand_overs(stretches)
    lines = "\n".join(f"| {thread} | {unit} | {', '.join(functions)} |" for thread, unit, functions in entered)
    assert entered == rows, f"the page differs from what was entered:\n{lines}"


def test_a_chat_request_gets_to_its_token_in_few_hand_overs():
    """A hand-over is a frame in another unit than the one before it, also where the thread changes."""
    units = [(number, unit) for number, _, unit, _ in documented()]
    assert [number for number, _ in units] == [n for n, (_, run) in enumerate(itertools.groupby(unit for _, unit in units), 1) for _ in run]
    assert units[-1][0] <= MOST
