"""`millrace run` on a pseudo-terminal, for the tests that hold a conversation with it (fixture `start` of conftest.py)."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import termios
import time

STATS = r"\[(?:[^\]\r]*; )?prompt (\d+) cached \+ (\d+) new tokens, answer (\d+) tokens[^\r]*\r\n"
CTRL_C, CTRL_D, UP, ENTER = "\x03", "\x04", "\x1b[A", "\r"
PASTE, PASTED = "\x1b[200~", "\x1b[201~"
STYLE = re.compile(r"\x1b\[[0-9;]*m")


def environment(cache, **more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("MILLRACE_") and k not in ("NO_COLOR", "LC_ALL", "LC_CTYPE")}
    # A server elsewhere must not answer.
    return kept | {"TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1", "XDG_CACHE_HOME": str(cache), "XDG_RUNTIME_DIR": str(cache)} | more


class Chat:
    """The program on a terminal of its own."""

    def __init__(self, program, cache, arguments, columns=500, **more):
        command = [str(word) for word in (program, "run", *arguments)]
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
                os.execve(command[0], command, environment(cache, **more))
            finally:
                os._exit(127)  # a child that cannot become millrace must not go on with the tests
        self.shown, self.code = "", None

    def send(self, text):
        data = text if isinstance(text, bytes) else text.encode()
        while data:
            if select.select([], [self.terminal], [], 0)[1]:
                data = data[os.write(self.terminal, data[:1024]) :]
            elif select.select([self.terminal], [], [], 0.01)[0]:
                self.shown += os.read(self.terminal, 1 << 16).decode(errors="replace")

    def expect(self, pattern, seconds=60):
        """Waits for `pattern` on the screen and takes all up to its end off it."""
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.shown, re.DOTALL)):
            ready = select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0]
            assert ready, f"no {pattern!r} within {seconds} s in {self.shown!r}"
            self.shown += os.read(self.terminal, 1 << 16).decode(errors="replace")  # OSError: the program has ended
        self.shown = self.shown[found.end() :]
        return found

    def ask(self, line):
        """Sends a line; counts of cached, new and answered tokens."""
        self.send(line + ENTER)
        counts = tuple(map(int, self.expect(STATS).groups()))
        self.expect("> $")
        return counts

    def command(self, line):
        """Sends a line that is not a question; what it prints."""
        self.send(line + ENTER)
        return self.expect(re.escape(line) + r"\s*\r\n(.*?)> $")[1]

    def wait(self, seconds=10):
        """The exit code."""
        end = time.monotonic() + seconds
        while self.code is None:
            assert time.monotonic() < end, "the program goes on"
            if select.select([self.terminal], [], [], 0.05)[0]:
                try:
                    os.read(self.terminal, 1 << 16)
                except OSError:  # EIO: its side of the terminal is closed
                    pass
            ended, status = os.waitpid(self.process, os.WNOHANG)
            if ended:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code

    def close(self):
        if self.code is None:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
        os.close(self.terminal)


def messages(chat, tmp_path):
    chat.command(f"/save {tmp_path}/chat.json")
    return json.loads((tmp_path / "chat.json").read_text())


def user_messages(chat, tmp_path):
    return [m["content"] for m in messages(chat, tmp_path) if m["role"] == "user"]
