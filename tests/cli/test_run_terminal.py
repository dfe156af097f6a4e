"""`millrace run` on a terminal: a conversation, held through a pseudo-terminal."""
import base64
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

STATS = r"\[(?:[^\]\r]*; )?prompt (\d+) cached \+ (\d+) new tokens, answer (\d+) tokens[^\r]*\r\n"
CTRL_C, CTRL_D, UP, ENTER = "\x03", "\x04", "\x1b[A", "\r"


PASTE, PASTED = "\x1b[200~", "\x1b[201~"
STYLE = re.compile(r"\x1b\[[0-9;]*m")


def environment(cache, **more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("MILLRACE_") and k not in ("NO_COLOR", "LC_ALL", "LC_CTYPE")}
    return kept | {"TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1", "XDG_CACHE_HOME": str(cache)} | more


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


@pytest.fixture
def start(program, real_model, tmp_path):
    chats = []

    def run(*arguments, stats=True, **more):
        """`columns` wide, so wide that no line wraps unless told otherwise; further names are the environment's."""
        chat = Chat(program, tmp_path, [real_model, "--temperature", 0, *(["--stats"] if stats else []), *arguments], **more)
        chats.append(chat)
        chat.expect("/help lists the commands\r\n.*> $")
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


COMMANDS = "help set show load save undo retry edit system model context copy exit reset stats".split()


def test_help_names_every_command_and_an_unknown_one_is_explained(start):
    chat = start()
    shown = chat.command("/help")
    assert all(f"/{name}" in shown for name in COMMANDS), shown
    assert chat.command("/?") == shown
    assert "unknown command /nonsense; /help lists them" in chat.command("/nonsense ")
    assert "did you mean '/context'?" in chat.command("/contxt")
    assert "did you mean '/save'?" in chat.command("/sa")


def test_stats_tell_model_sampling_and_last_answer(start):
    chat = start("-n", 4, "--seed", 7)
    assert "no answer yet" in chat.command("/stats")
    chat.ask("Name a colour.")
    shown = chat.command("/stats")
    assert re.search(r"temperature +0\r", shown) and re.search(r"seed +7\r", shown) and "messages 2" in shown and "answer 4 tokens" in shown


def test_regenerate_answers_the_last_question_again(start, tmp_path):
    chat = start("-n", 6)
    assert "no answer" in chat.command("/retry")
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
    chat.expect(STATS + r"\[\d+%\] > $")
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
        process = subprocess.Popen([program, "run", real_model, "--temperature", "0", "-n", "4", "--stats"], stdin=slave, stdout=out, stderr=slave,
                                   env=environment(tmp_path), start_new_session=True)
    os.close(slave)
    shown = b""
    for expected, line in ((b"> ", b"Name a colour.\r"), (b"%] > ", b"/quit\r")):
        while expected not in shown:
            assert select.select([master], [], [], 60)[0], shown
            shown += os.read(master, 1 << 16)
        os.write(master, line)
    assert process.wait(timeout=30) == 0
    os.close(master)
    text = (tmp_path / "out").read_text()
    assert text.strip() and "> " not in text and "Name a colour." not in text


def messages(chat, tmp_path):
    chat.command(f"/save {tmp_path}/chat.json")
    return json.loads((tmp_path / "chat.json").read_text())


def user_messages(chat, tmp_path):
    return [m["content"] for m in messages(chat, tmp_path) if m["role"] == "user"]


def test_a_paste_of_many_lines_is_one_message(start, tmp_path):
    chat = start("-n", 2)
    chat.send(PASTE + "Line one\rLine two\rLine three\r" + PASTED)
    chat.expect(r"\[paste 1: 3 lines\]")
    chat.send(" Count them." + ENTER)
    chat.expect(STATS + r"\[\d+%\] > $")
    chat.send(PASTE + "one\tline" + PASTED)
    chat.expect("one line$")
    chat.send(ENTER)
    chat.expect(STATS + r"\[\d+%\] > $")
    assert user_messages(chat, tmp_path) == ["Line one\nLine two\nLine three Count them.", "one line"]


def test_a_paste_of_a_megabyte_is_one_message_that_is_too_long(start, tmp_path):
    chat = start("-n", 2)
    chat.send(PASTE + "0123456789abcdef\r" * (1 << 16) + PASTED)
    chat.expect(r"\[paste 1: 65536 lines\]")
    chat.send(ENTER)
    chat.expect(r"this message alone is too long: \d+ bytes for a context of \d+ tokens\r\n> $")
    chat.ask("Hello.")
    assert user_messages(chat, tmp_path) == ["Hello."]


def test_a_paste_that_is_not_utf8_is_said_and_the_chat_goes_on(start, tmp_path):
    chat = start("-n", 2)
    chat.send(PASTE.encode() + b"a\xff\xfeb\rc" + PASTED.encode() + ENTER.encode())
    chat.expect("2 bytes that are not UTF-8: replaced")
    chat.expect(STATS + r"\[\d+%\] > $")
    assert user_messages(chat, tmp_path) == ["a\ufffd\ufffdb\nc"]


def test_three_quotes_hold_a_message_of_many_lines(start, tmp_path):
    chat = start("-n", 2)
    for line in ('"""one', "", "two"):
        chat.send(line + ENTER)
        chat.expect(r"\.\.\. $")
    chat.send('three"""' + ENTER)
    chat.expect(STATS + r"\[\d+%\] > $")
    chat.ask('"""alone"""')
    assert user_messages(chat, tmp_path) == ["one\n\ntwo\nthree", "alone"]


ROUNDS = ("Tell me about the sea and the ships.", "Tell me about the mountains.", "Tell me about the desert.", "Tell me about rivers.")


def test_a_full_context_forgets_the_oldest_rounds(start, tmp_path):
    chat = start("-c", 200, "-n", 60, "--ignore-eos", "--on-context-full", "shift", "--system", "Be brief.")
    for line in ROUNDS:
        chat.ask(line)
    kept = messages(chat, tmp_path)
    assert kept[0]["role"] == "system" and kept[1]["role"] == "user" and kept[1]["content"] != ROUNDS[0]
    assert kept[-2]["content"] == ROUNDS[-1] and kept[-1]["role"] == "assistant"


def test_a_full_context_is_said_and_asked_about(start, tmp_path):
    chat = start("-c", 200, "-n", 60, "--ignore-eos", "--system", "Be brief.")
    question = r"the context is full: the conversation has \d+ of 200 tokens\. Forget the oldest 1 of (\d) rounds\? \[Y\]es, \[n\]o, \[a\]lways: $"
    for line in ROUNDS[:2]:
        chat.ask(line)
    chat.send(ROUNDS[2] + ENTER)
    chat.expect(question)
    chat.send("n" + ENTER)
    chat.expect(r"not sent.*> $")
    assert user_messages(chat, tmp_path) == [*ROUNDS[:2]]
    chat.send(ROUNDS[2] + ENTER)
    chat.expect(question)
    chat.send(ENTER)
    chat.expect("the oldest round is forgotten")
    chat.expect(STATS + r"\[\d+%\] > $")
    assert user_messages(chat, tmp_path) == [*ROUNDS[1:3]]


def test_a_full_context_may_stop(start, tmp_path):
    chat = start("-c", 200, "-n", 60, "--ignore-eos", "--on-context-full", "stop", "--system", "Be brief.")
    for line in ROUNDS[:2]:
        chat.ask(line)
    assert "/set on_context_full shift make room" in chat.command(ROUNDS[2])
    assert user_messages(chat, tmp_path) == [*ROUNDS[:2]]
    assert "taken back: " + ROUNDS[1] in chat.command("/undo")
    assert chat.ask(ROUNDS[2])


def test_an_answer_cut_by_a_limit_is_marked_and_the_prompt_says_how_full_the_context_is(start):
    chat = start("-c", 100, "-n", 4, "--ignore-eos", stats=False)
    chat.send("Tell me." + ENTER)
    chat.expect(r"\r\n\[cut by max_tokens; /set max_tokens raises it\]\r\n\[\d+%\] > $")
    chat.command("/set max_tokens 500")
    chat.send("Go on." + ENTER)
    chat.expect(r"\r\n\[cut: the context of 100 tokens is full\]\r\n\[100%\] > $")


def test_words_are_not_broken_on_a_narrow_terminal(start):
    chat = start("-n", 60, "--ignore-eos", columns=20, stats=False)
    chat.send("Tell me of the sea." + ENTER)
    shown = chat.expect(r"\.\s*\r\n(.*)\r\n\[cut")[1]
    chat.send(CTRL_D)
    lines = [line for line in shown.split("\r\n") if line.strip()]
    assert len(lines) > 5 and all(len(line) < 20 for line in lines), lines
    wide = start("-n", 60, "--ignore-eos", stats=False)
    wide.send("Tell me of the sea." + ENTER)
    assert wide.expect(r"\.\s*\r\n(.*)\r\n\[cut")[1].split() == shown.split()


@pytest.mark.parametrize("variables, styled", [({"NO_COLOR": ""}, True), ({}, False), ({"NO_COLOR": "", "TERM": "dumb"}, False)])
def test_styles_are_only_where_they_are_wanted(start, variables, styled):
    chat = start("-n", 4, "--ignore-eos", stats=False, **variables)
    chat.send("Hello." + ENTER)
    assert bool(STYLE.search(chat.expect("cut.*> $")[0])) == styled


def test_a_locale_without_utf8_takes_and_shows_utf8(start, tmp_path):
    chat = start("-n", 2, LANG="C")
    chat.send("Größe" + ENTER)
    chat.expect(STATS + r"\[\d+%\] > $")
    assert user_messages(chat, tmp_path) == ["Größe"]


def test_ctrl_c_twice_ends_the_chat_and_once_says_so(start):
    chat = start()
    chat.send("some text")
    chat.expect("some text$")
    chat.send(CTRL_C)
    chat.expect("> $")
    chat.send(CTRL_C)
    chat.expect("Ctrl-C again, or Ctrl-D, ends the chat\r\n> $")
    chat.send(CTRL_C)
    assert chat.wait() == 0


@pytest.mark.parametrize("word", ["exit", "quit", "bye", "/exit", "/bye"])
def test_words_that_leave(start, word):
    chat = start()
    chat.send(word + ENTER)
    assert chat.wait() == 0


def test_history_is_kept_by_a_kill(start, tmp_path):
    chat = start("-n", 2)
    chat.ask("Remember \\me.")
    os.kill(chat.process, signal.SIGKILL)
    assert chat.wait() == -signal.SIGKILL
    history = tmp_path / "millrace" / "history"
    assert history.stat().st_mode & 0o777 == 0o600
    again = start("-n", 2)
    again.send(UP)
    again.expect(r"Remember \\me\.$")


@pytest.mark.parametrize("obstacle", ["directory", "/dev/full"])
def test_a_history_that_cannot_be_written_is_said_once(start, tmp_path, obstacle):
    (tmp_path / "millrace").mkdir()
    history = tmp_path / "millrace" / "history"
    history.mkdir() if obstacle == "directory" else history.symlink_to(obstacle)
    chat = start("-n", 2)
    chat.send("Hello." + ENTER)
    chat.expect(r"the history is not kept: cannot write [^\r]*history: [^\r]*\r\n")
    chat.expect(STATS + r"\[\d+%\] > $")
    assert "history" not in chat.command("/set seed 4")


def test_settings_are_checked_by_the_tables_of_the_flags(start):
    chat = start("-n", 4)
    assert "temperature is 0.5" in chat.command("/set temperature 0.5")
    assert "temperature is 0.25" in chat.command("/set parameter temperature 0.25")
    assert "top_p is 7" in (shown := chat.command("/set top_p 7")) and "must be" in shown
    assert "seed is 'x'" in chat.command("/set seed x")
    assert "did you mean 'temperature'?" in chat.command("/set temprature 1")
    shown = chat.command("/set")
    assert re.search(r"temperature +0.25\r", shown) and re.search(r"top_p +(?!7)", shown) and "max_tokens" in shown
    chat.command("/set temperature 0")
    chat.command("/set max_tokens 3")
    chat.command("/set stats off")
    chat.send("Tell me a story." + ENTER)
    chat.expect(r"\[cut by max_tokens[^;]*; /set max_tokens raises it\]\r\n\[\d+%\] > $")
    assert "q4_1" in chat.command("/show") and "im_start" in chat.command("/show template")
    assert "no system message" in chat.command("/show system")


def test_load_takes_what_save_wrote_and_nothing_else(start, tmp_path):
    chat = start("-n", 4)
    chat.ask("Name a colour.")
    before = messages(chat, tmp_path)
    chat.command("/reset")
    assert "loaded 2 messages" in chat.command(f"/load {tmp_path}/chat.json")
    assert messages(chat, tmp_path) == before
    (tmp_path / "bad.json").write_text('[{"role": "user", "content": 3}]')
    assert "messages[0].content must be a string" in chat.command(f"/load {tmp_path}/bad.json")
    (tmp_path / "bad.json").write_text("{")
    assert "not a JSON list" in chat.command(f"/load {tmp_path}/bad.json")
    assert "missing.json" in chat.command(f"/load {tmp_path}/missing.json")
    assert messages(chat, tmp_path) == before
    shown = chat.command("/context")
    assert re.search(r"\d+  user       Name a colour\.", shown) and re.search(r"\d+ of \d+ tokens used", shown)


def test_edit_changes_the_last_message(start, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/colour/fruit/ "$2"\n')
    editor.chmod(0o755)
    chat = start("-n", 2, EDITOR=f"{editor} -x", VISUAL="")
    chat.ask("Name a colour.")
    chat.ask("/edit")
    assert user_messages(chat, tmp_path) == ["Name a fruit."]
    editor.write_text("#!/bin/sh\nexit 1\n")
    assert "failed" in chat.command("/edit")
    assert user_messages(chat, tmp_path) == ["Name a fruit."]


def test_copy_asks_the_terminal_or_writes_a_file(start, tmp_path):
    chat = start("-n", 4)
    assert "no answer to copy" in chat.command("/copy")
    chat.ask("Name a colour.")
    answer = messages(chat, tmp_path)[-1]["content"]
    code = re.search(r"\x1b\]52;c;([^\x07]*)\x07", chat.command("/copy"))[1]
    assert base64.b64decode(code).decode() == answer
    dumb = start("-n", 4, TERM="dumb")
    dumb.ask("Name a colour.")
    assert "copied.txt" in dumb.command("/copy")
    assert (tmp_path / "millrace" / "copied.txt").read_text() == answer + "\n"


def test_another_model_keeps_the_conversation(start, tmp_path, real_model):
    chat = start("-n", 2)
    chat.ask("Name a colour.")
    assert "the model stays" in chat.command(f"/model {tmp_path}/missing.gguf")
    (tmp_path / "other.gguf").symlink_to(real_model)
    assert "other.gguf" in chat.command(f"/model {tmp_path}/other.gguf")
    assert sum(chat.ask("Another?")[:2]) > 20
    assert user_messages(chat, tmp_path) == ["Name a colour.", "Another?"]


def test_tab_completes_commands_settings_and_files(start, tmp_path):
    chat = start("-n", 2)
    (tmp_path / "a_file_of_messages.json").write_text("[]")
    for typed, outcome in (("/cont", "tokens used"), ("/set thinking fo", "thinking is fold"), (f"/load {tmp_path}/a_fi", "loaded 0 messages")):
        chat.send(typed)
        chat.expect(re.escape(typed) + "$")
        chat.send("\t" + ENTER)
        chat.expect(outcome + r"[^\r]*\r\n> $")


def test_loading_and_a_long_prompt_show_progress(start, program, real_model, tmp_path):
    chat = Chat(program, tmp_path, [real_model, "-n", 2])
    try:
        chat.expect("loading [^\r]*gguf: 100 %")
        chat.expect("> $")
        chat.send(PASTE + "A line of some words.\r" * 200 + PASTED + ENTER)
        chat.expect(r"reading the prompt: 512 of \d+ tokens")
        chat.expect(r"%\] > $")
    finally:
        chat.close()


@pytest.fixture(scope="module")
def thinking_model(real_model, tmp_path_factory):
    """The real model, whose template names the tag of reasoning: in its default system message, so that no length changes."""
    data = real_model.read_bytes()
    old = b"You are a helpful AI assistant named SmolLM, trained by Hugging Face"
    assert data.count(old) == 1
    path = tmp_path_factory.mktemp("thinking") / "thinking.gguf"
    path.write_bytes(data.replace(old, b"<think>".ljust(len(old), b".")))
    yield path
    path.unlink()


THOUGHT = ("--regex", "<think>one two three</think>\\n\\nfour five", "-n", "40", "--temperature", "0")


@pytest.mark.parametrize("view, shown", [("show", r"\x1b\[0;2mone.*three.*\r\n\r\nfour five"), ("fold", r"\[thought 3 words; /show thinking\].*\r\nfour five"), ("hide", r"\r\nfour five")])
def test_reasoning_is_shown_folded_or_hidden(program, thinking_model, tmp_path, view, shown):
    chat = Chat(program, tmp_path, [thinking_model, *THOUGHT, "--thinking", view], NO_COLOR="")
    try:
        chat.expect("> $")
        chat.send("Hello." + ENTER)
        found = chat.expect(r"Hello\.\s*\r\n(.*)> $")
        text = found[0]
        assert re.search(shown, text, re.DOTALL) and "<think>" not in text, text
        assert view == "show" or "two" not in text, text
        assert chat.command("/show thinking").startswith("one two three\r\n")
        saved = messages(chat, tmp_path)
        assert (saved[-1]["content"], saved[-1]["reasoning_content"]) == ("four five", "one two three")
    finally:
        chat.close()


def test_reasoning_stays_out_of_a_pipe_unless_wanted(millrace, thinking_model):
    assert millrace("run", thinking_model, "Hello.", *THOUGHT).out == "four five\n"
    assert millrace("run", thinking_model, "Hello.", *THOUGHT, "--thinking", "show").out == "one two three\n\nfour five\n"


def test_keys_typed_during_an_answer_appear_once(start, tmp_path):
    chat = start("-n", 60, "--ignore-eos")
    chat.send("Tell me a story." + ENTER)
    chat.expect(r"story\.\s*\r\n.{20}")
    chat.send("typed ahead")
    assert "typed" not in chat.expect(STATS)[0]
    chat.expect("> typed ahead$")
