"""Runs the blocks of one page one after another: a folder, a home, ports and a server of its own."""
import itertools
import json
import os
import pathlib
import re
import select
import shlex
import signal
import socket
import ssl
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request

from guide_page import ROOT, Block, mismatch, same_text

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))

from chat_terminal import Chat  # noqa: E402

PORT = re.compile(r"(?<=[:=\s])(8000|8001|8080|8443|4000)\b")
# None of the user's own settings reaches a page.
OWN = ("MILLRACE_", "HF_", "HUGGING", "TRANSFORMERS_", "XDG_", "OPENAI_", "ANTHROPIC_", "LITELLM_", "LANGCHAIN_", "LANGSMITH_")
# What is not in the tests' own environment, which has newer versions of openai and anthropic.
HEAVY = re.compile(r"^(?:import|from) (?:langchain|llama_index|litellm)", re.MULTILINE)
PROMPT = re.compile(r"^(?:(?:\[\d+%\] )?> |\.\.\. )(.*)$", re.MULTILINE)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class PageSession:
    def __init__(self, folder, program, model, python, environment=()):
        self.folder, self.program, self.python = folder, program, python
        self.ports, self.server, self.log = {}, None, folder / ".server.log"
        home = folder / ".home"
        models = home / ".cache" / "millrace" / "models"
        models.mkdir(parents=True)
        (models / "SmolLM2-135M-Instruct.Q4_1.gguf").symlink_to(model)
        (folder / ".bin").mkdir()
        (folder / ".bin" / "millrace").symlink_to(program)
        runtime = folder / ".run"  # else `run` would find servers of the user's own
        runtime.mkdir(mode=0o700)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(OWN) and not k.lower().endswith("_proxy")}
        self.environment = kept | {
            "HOME": str(home), "XDG_RUNTIME_DIR": str(runtime), "PATH": f"{folder / '.bin'}:{os.environ['PATH']}", "LANG": "C.UTF-8",
            "TERM": "dumb", "COLUMNS": "80", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "MILLRACE_PORT": str(self.port("8000")), "PYTHONWARNINGS": "ignore"} | dict(environment)

    # The ports that pages name are mapped to free ones, and back in what is printed.
    def port(self, name):
        return self.ports.setdefault(name, free_port())

    def with_own_ports(self, text):
        return PORT.sub(lambda found: str(self.port(found[1])), text)

    def as_in_page(self, text):
        for name, number in self.ports.items():
            text = re.sub(rf"\b{number}\b", name, text)
        return text.replace("\r\n", "\n").replace(str(self.folder / ".home"), "/home/you").replace(str(self.folder), "/home/you/work")

    def run(self, block: Block, limit=120):
        """What a block prints, on stdout and stderr, as it comes. Its exit code is checked."""
        want = int(block.argument) if block.is_marked("exit") else 0
        text = self.with_own_ports(block.text)
        python = self.python if HEAVY.search(text) else sys.executable
        command = [python, "-c", text] if block.language == "python" else ["bash", "-euo", "pipefail", "-c", text]
        environment = {k: v for k, v in self.environment.items() if k != "MILLRACE_PORT" or "--config" not in text}  # it beats a file
        done = subprocess.run(command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=limit)
        printed = self.as_in_page(done.stdout.decode(errors="replace"))
        assert done.returncode == want, f"{block.place}: exit code {done.returncode}\n{block.text}\n{printed}\n{self.server_log()}"
        return printed

    def check_usage(self, block: Block):
        """Of a block that cannot be run: bash's grammar, and that millrace has its commands and options."""
        done = subprocess.run(["bash", "-n", "-c", block.text], capture_output=True)
        assert done.returncode == 0, f"{block.place}: {done.stderr.decode()}"
        for line in re.sub(r"\\\n", " ", block.text).splitlines():
            if (first := line.split(" ")[0]).startswith(("./dev", "bench/")):
                assert (ROOT / first).exists(), f"{block.place}: {first}"
            words = [*itertools.dropwhile(lambda word: re.match(r"\w+=", word), shlex.split(line, comments=True))]
            if words[:1] == ["millrace"]:
                words = [*itertools.takewhile(lambda word: word not in ("|", ">", "&", "&&", ";", "<"), words[1:])]
                done = subprocess.run([self.program, "--check-usage", *words], capture_output=True, env=self.environment, cwd=self.folder)
                assert done.returncode == 0, f"{block.place}: {done.stderr.decode()}"

    def start_server(self, block: Block):
        self.stop_server()
        with open(self.log, "wb") as out:
            self.server = subprocess.Popen(["bash", "-euo", "pipefail", "-c", self.with_own_ports(block.text)], cwd=self.folder, env=self.environment,
                                           stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        end = time.monotonic() + 120
        while not self.is_ready():
            assert time.monotonic() < end and self.server.poll() is None, f"{block.place}: no server\n{self.server_log()}"
            time.sleep(0.05)

    def is_ready(self):
        if not (found := re.search(r"^listening on (https?://.*:\d+|unix:.*)$", self.server_log(raw=True), re.MULTILINE)):
            return False
        if found[1].startswith("unix:"):
            return " is ready\n" in self.server_log()
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        try:
            address = re.sub(r"//.*:", "//127.0.0.1:", found[1]) + "/ready"
            return urllib.request.urlopen(address, timeout=10, context=trusting if address.startswith("https") else None).status == 200
        except urllib.error.HTTPError as error:
            return error.code in (401, 421, 403)
        except OSError:
            return False

    def stop_server(self):
        if not self.server:
            return
        if self.server.poll() is None:
            os.killpg(self.server.pid, signal.SIGTERM)
        self.server.wait(60)
        self.server = None

    def server_log(self, raw=False):
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return text if raw else self.as_in_page(text)

    def chat(self, block: Block):
        """Holds the conversation of the block on a terminal, and compares the screen with it."""
        first, _, rest = block.text.partition("\n")
        words = shlex.split(first.removeprefix("$ millrace run"))
        assert first.startswith("$ millrace run"), f"{block.place}: a chat begins with its command"
        one = Chat(self.program, self.environment["HOME"] + "/.cache", words, columns=100, HOME=self.environment["HOME"],
                   XDG_RUNTIME_DIR=self.environment["XDG_RUNTIME_DIR"])
        screen = ""
        try:
            for typed in PROMPT.findall(rest):
                found = one.expect(r"^(.*?(?:^|\n)(?:(?:\[\d+%\] )?> |\.\.\. ))$")
                screen += found[1]
                one.send(typed + "\r")
            while select.select([one.terminal], [], [], 60)[0]:
                one.shown += os.read(one.terminal, 1 << 16).decode(errors="replace")
        except OSError:  # the chat has ended, and closed its terminal
            screen += one.shown
        finally:
            one.close()
        screen = re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", screen)
        lines = [line.rstrip("\r").rpartition("\r")[2] for line in screen.replace("\r\n", "\n").split("\n")]
        shown = self.as_in_page("\n".join(lines).rstrip("\n"))
        assert same_text(rest, shown), f"{block.place}: the page says\n{rest}\nand the terminal showed\n{shown}"

    def write(self, block: Block):
        path = self.folder / block.argument
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.with_own_ports(block.text))
        if block.language in PARSERS:
            PARSERS[block.language](block.text)

    def printed_by_server(self, block: Block):
        """Its log, once it says what the block says; else as it is after a while: lines are written by a thread of their own."""
        end = time.monotonic() + 20
        while mismatch(block, self.server_log()) and time.monotonic() < end:
            time.sleep(0.05)
        return self.server_log()

    def play(self, all_blocks):
        """Runs all blocks; what is printed otherwise than the page says, all together."""
        printed, wrong = "", []
        for block in all_blocks:
            if block.is_marked("file"):
                self.write(block)
            elif block.is_marked("parse"):
                PARSERS.get(block.language, str)(block.text)
            elif block.is_marked("syntax"):
                continue  # check_usage(), in a test of its own
            elif block.is_marked("chat"):
                self.chat(block)
            elif block.is_marked("server"):
                self.start_server(block)
                printed = None
            elif block.language in ("sh", "python"):
                printed = self.run(block)
            elif why := mismatch(block, self.printed_by_server(block) if printed is None else printed):
                wrong.append(f"{block.place}: {why}")
        assert not wrong, "\n\n".join(wrong)


def parse_json_lines(text):
    for line in text.splitlines():
        json.loads(line)


PARSERS = {"json": json.loads, "jsonl": parse_json_lines, "toml": tomllib.loads}
