"""Log lines on a terminal: levels are coloured where it shows colours, and nowhere else; a server's too."""
import os
import pty
import re
import select
import signal
import subprocess
import time

import pytest

LOOKS = {"colours": ({}, "\x1b[32minfo\x1b[0m "), "NO_COLOR": ({"NO_COLOR": "1"}, "info "), "dumb": ({"TERM": "dumb"}, "info ")}


def until(terminal, process, pattern):
    """What the terminal got, once it has the pattern."""
    text, end = "", time.monotonic() + 60
    while not re.search(pattern, text):
        assert time.monotonic() < end, text
        if not select.select([terminal], [], [], 0.2)[0]:
            assert process.poll() is None, text
            continue
        try:
            text += os.read(terminal, 1 << 16).decode(errors="replace")
        except OSError:  # everybody has closed it
            assert re.search(pattern, text), text
    return text


def on_a_terminal(program, folder, env, *arguments):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("MILLRACE_") and k != "NO_COLOR"}
    terminal, other = pty.openpty()
    process = subprocess.Popen([program, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=other,
                               env=kept | {"TERM": "xterm", "HF_HUB_OFFLINE": "1", "XDG_RUNTIME_DIR": str(folder)} | env)
    os.close(other)
    return terminal, process


@pytest.mark.parametrize("look", LOOKS)
def test_a_command(program, real_model, tmp_path, look):
    env, level = LOOKS[look]
    terminal, process = on_a_terminal(program, tmp_path, env, "--log-level", "info", "run", real_model, "hello", "--max-tokens", "1")
    text = until(terminal, process, r"opened in [^\n]*\n")
    assert process.wait(60) == 0
    os.close(terminal)
    assert f"{level}{real_model}: opened in" in text and ("\x1b[32m" in text) == (look == "colours"), text
    assert not re.search(r"[^\r\n]" + re.escape(level), text), "a line of the log begins behind what is shown of loading"


@pytest.mark.parametrize("look", LOOKS)
def test_a_server(program, real_model, tmp_path, look):
    env, level = LOOKS[look]
    terminal, process = on_a_terminal(program, tmp_path, env, "serve", real_model, "--port", "0", "--kv-cache-tokens", "2048", "--max-model-len", "2048")
    text = until(terminal, process, r"is ready\r?\n")
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    os.close(terminal)
    line = next(line for line in text.splitlines() if "is ready" in line)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z " + re.escape(level) + r"\S+ is ready", line), repr(line)
