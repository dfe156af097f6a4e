"""`millrace run` on a terminal: what it shows of an answer, of reasoning and of its progress, and what stays out of pipes."""
import os
import pty
import re
import select
import subprocess

import pytest

from chat_terminal import CTRL_D, ENTER, PASTE, PASTED, STATS, STYLE, Chat, environment, messages, user_messages


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
