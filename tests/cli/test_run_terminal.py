"""`millrace run` on a terminal: a conversation, held through a pseudo-terminal."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

STATS = r"\[(?:stopped; )?prompt (\d+) cached \+ (\d+) new tokens, answer (\d+) tokens[^\r]*\r\n"
CTRL_C, CTRL_D, UP, ENTER = "\x03", "\x04", "\x1b[A", "\r"


def environment(cache):
    return {k: v for k, v in os.environ.items() if not k.startswith("MILLRACE_")} | {"TERM": "xterm", "XDG_CACHE_HOME": str(cache)}


class Chat:
    """The program on a terminal of its own."""

    def __init__(self, program, cache, arguments):
        command = [str(word) for word in (program, "run", *arguments)]
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 500, 0, 0))  # so wide that no line wraps
            os.execve(command[0], command, environment(cache))
        self.shown, self.code = "", None

    def send(self, text):
        os.write(self.terminal, text.encode())

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


@pytest.fixture
def start(program, real_model, tmp_path):
    chats = []

    def run(*arguments):
        chat = Chat(program, tmp_path, [real_model, "--temperature", 0, *arguments])
        chats.append(chat)
        chat.expect("/help lists the commands\r\n> $")
        return chat

    yield run
    for chat in chats:
        chat.close()


def test_a_second_round_computes_only_what_is_new(start):
    chat = start("-n", 8)
    cached, first, _ = chat.ask("Name a colour.")
    assert cached == 0
    cached, new, _ = chat.ask("Another one?")
    assert cached >= first and new < first
    assert chat.ask("Thanks.")[0] > cached


def test_reset_and_system_change_what_the_model_sees(start):
    chat = start("-n", 4)
    first = sum(chat.ask("Name a colour.")[:2])
    chat.ask("Another one?")
    assert "forgotten" in chat.command("/reset")
    assert sum(chat.ask("Name a colour.")[:2]) == first
    chat.command("/reset")
    assert "system message set" in chat.command("/system You are a pirate of the southern seas and speak like one, always.")
    assert sum(chat.ask("Name a colour.")[:2]) != first
    chat.command("/reset")
    assert "removed" in chat.command("/system")
    assert sum(chat.ask("Name a colour.")[:2]) == first


def test_help_names_every_command_and_an_unknown_one_prints_it(start):
    chat = start()
    for line in ("/help", "/nonsense"):
        shown = chat.command(line)
        assert all(name in shown for name in ("/help", "/system", "/reset", "/stats", "/regenerate", "/save", "/quit")), shown
    assert "unknown command /nonsense" in chat.command("/nonsense ")


def test_stats_tell_model_sampling_and_last_answer(start):
    chat = start("-n", 4, "--seed", 7)
    assert "no answer yet" in chat.command("/stats")
    chat.ask("Name a colour.")
    shown = chat.command("/stats")
    assert "temperature 0" in shown and "seed 7" in shown and "messages 2" in shown and "answer 4 tokens" in shown


def test_regenerate_answers_the_last_question_again(start, tmp_path):
    chat = start("-n", 6)
    assert "no answer" in chat.command("/regenerate")
    asked = sum(chat.ask("Name a colour.")[:2])
    assert sum(chat.ask("/regenerate")[:2]) == asked
    chat.command(f"/save {tmp_path}/chat.json")
    assert [m["role"] for m in json.loads((tmp_path / "chat.json").read_text()) if m["role"] != "system"] == ["user", "assistant"]


def test_save_writes_the_messages(start, tmp_path):
    chat = start("-n", 4, "--system", "Be brief.")
    chat.ask("Name a colour.")
    assert "usage" in chat.command("/save")
    assert "cannot write" in chat.command(f"/save {tmp_path}/no/chat.json")
    assert "saved" in chat.command(f"/save {tmp_path}/chat.json ")  # a blank at the end, as completion leaves it
    messages = json.loads((tmp_path / "chat.json").read_text())
    assert [m["role"] for m in messages] == ["system", "user", "assistant"]
    assert messages[0]["content"] == "Be brief." and messages[1]["content"] == "Name a colour." and messages[2]["content"]


def test_blanks_and_a_bare_command_with_blanks_do_no_harm(start):
    chat = start("-n", 2)
    for line in ("", "   ", "/ ", "/system   ", "/save  "):
        chat.command(line)
    assert chat.ask("Hello.")[2] > 0


def test_a_backslash_continues_the_line(start, tmp_path):
    chat = start("-n", 2)
    chat.send("Name a\\" + ENTER)
    chat.expect(r"\.\.\. ")
    chat.ask("colour.")
    chat.command(f"/save {tmp_path}/chat.json")
    assert "Name a\ncolour." in [m["content"] for m in json.loads((tmp_path / "chat.json").read_text())]


def test_ctrl_c_stops_an_answer_and_the_next_question_is_answered(start):
    chat = start("-n", 2000, "--ignore-eos")
    for line in ("Tell me a story.", "Tell me another."):
        chat.send(line + ENTER)
        chat.expect(re.escape(line) + r"\s*\r\n.{40}")
        chat.send(CTRL_C)
        counts = chat.expect(r"\[stopped; prompt (\d+) cached \+ (\d+) new tokens, answer (\d+) tokens")
        assert 0 < int(counts[3]) < 2000
        chat.expect("> $")
    assert int(counts[1]) > 0  # the second question found the stopped answer in the cache


def test_ctrl_c_at_the_prompt_forgets_the_line_and_goes_on(start, tmp_path):
    chat = start("-n", 2)
    for typed in ("", "forget me"):
        chat.send(typed)
        chat.expect(typed + "$")
        chat.send(CTRL_C)
        chat.expect(r"\n.*> $")
    chat.ask("Hello.")
    chat.command(f"/save {tmp_path}/chat.json")
    assert "forget me" not in (tmp_path / "chat.json").read_text()


@pytest.mark.parametrize("leave", [CTRL_D, "/quit" + ENTER])
def test_ctrl_d_and_quit_end_well(start, leave):
    chat = start()
    chat.send(leave)
    assert chat.wait() == 0


def test_arrow_up_recalls_the_last_line_also_of_an_earlier_program(start, tmp_path):
    chat = start("-n", 2)
    chat.ask("Name a colour.")
    chat.send(UP)
    chat.expect("Name a colour.$")
    chat.send(ENTER)
    chat.expect(STATS + "> $")
    chat.send(CTRL_D)
    assert chat.wait() == 0
    history = tmp_path / "millrace" / "history"
    assert "Name" in history.read_text()
    assert history.stat().st_mode & 0o077 == 0  # what one asked is nobody else's

    again = start("-n", 2)
    again.send(UP)
    again.expect("Name a colour.$")
    again.send(ENTER)
    again.expect(STATS)


def test_prompt_and_echo_stay_out_of_a_redirected_stdout(program, real_model, tmp_path):
    master, slave = pty.openpty()
    with open(tmp_path / "out", "wb") as out:
        process = subprocess.Popen([program, "run", real_model, "--temperature", "0", "-n", "4"], stdin=slave, stdout=out, stderr=slave,
                                   env=environment(tmp_path), start_new_session=True)
    os.close(slave)
    shown = b""
    for expected, line in ((b"> ", b"Name a colour.\r"), (b"]\r\n> ", b"/quit\r")):
        while expected not in shown:
            assert select.select([master], [], [], 60)[0], shown
            shown += os.read(master, 1 << 16)
        os.write(master, line)
    assert process.wait(timeout=30) == 0
    os.close(master)
    text = (tmp_path / "out").read_text()
    assert text.strip() and "> " not in text and "Name a colour." not in text
