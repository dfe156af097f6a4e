"""`millrace run` on a terminal: a conversation, held through a pseudo-terminal: its commands, its history, what it does when the context is full."""
import base64
import json
import os
import re
import signal

import pytest

from chat_terminal import CTRL_C, CTRL_D, ENTER, PASTE, PASTED, STATS, UP, messages, user_messages


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


def test_another_model_keeps_the_conversation(start, tmp_path, real_model, tiny):
    chat = start("-n", 2)
    chat.ask("Name a colour.")
    assert "the model stays" in chat.command(f"/model {tmp_path}/missing.gguf")
    assert "has no tokenizer; the model stays" in chat.command(f"/model {tiny}")  # found when the one before is gone
    assert chat.ask("Another?")[2] == 2
    chat.command("/undo")
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
