"""Every line of help can be understood alone: what mechanics can check of that, for all commands there are."""
import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import termios

import pytest
from plain_texts import flaws

HEADING = re.compile(r" *[A-Z][A-Za-z, ]*:|(positional arguments|options):")


def entries(text):
    """(name, description) of each option, positional and subcommand. A description stands in a column of its own, beside the name or,
    where that is long, below it. Ours have the column 28 behind the names, argparse 22."""
    lines, found, indent = text.splitlines(), [], None
    width = 22 if "\noptions:\n" in text else 28
    for line, below in zip(lines, [*lines[1:], ""]):
        depth = len(line) - len(line.lstrip())
        if line == "Example:":
            indent = None
        elif HEADING.fullmatch(line):
            indent = depth + 2
        elif line.strip() and indent is not None and depth < indent:
            indent = None
        elif line.strip() and depth == indent:
            column = indent + width
            name, description = line[indent:column], line[column:]
            if len(below) - len(below.lstrip()) == column:
                name, description = line[indent:], below[column:]
            names = re.findall(r"--?[a-zA-Z0-9][a-z0-9-]*", name) or [name.split()[0]]
            found.append((",".join(names) if name.lstrip().startswith("-") else name.split()[0], description))
    return found


def report(command, text):
    return [
        f"{command} {name}: {flaw}: {description!r}"
        for name, description in entries(text)
        if name != "-h,--help"  # argparse's own line is not a sentence
        for flaw in flaws(re.sub(r" \[[^\]]*\]$", "", description))  # the notes behind it are no sentence
    ]


@pytest.fixture(scope="module")
def help_of(program):
    """The text of `millrace WORDS...`, in lines that nothing wraps."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MILLRACE_")} | {"COLUMNS": "4000"}

    def run(*words):
        done = subprocess.run([program, *words], capture_output=True, env=environment, timeout=60)
        assert done.returncode == 0 and done.stderr == b"", done.stderr.decode()
        return done.stdout.decode()

    return run


@pytest.fixture(scope="module")
def helps(help_of):
    """{("bench", "serve"): the text of its --help}, for the program and all its commands."""
    texts = {(): help_of("--help")}
    for prefix in ((), ("bench",), ("lora",)):
        commands = help_of(*prefix, "--help").split("\nCommands:\n")[1].split("\nExample:")[0]
        for name, _ in entries("Commands:\n" + commands):
            texts[(*prefix, name)] = help_of(*prefix, name, "--help")
    return texts


def test_each_line_of_help_can_be_understood_alone(helps):
    found = [line for command, text in helps.items() for line in report(" ".join(command) or "millrace", text)]
    first_lines = [(command, text.split("\n", 1)[0]) for command, text in helps.items() if command and command[-1] != "peers"]
    found += [f"{' '.join(command)}: {flaw}: {line!r}" for command, line in first_lines for flaw in flaws(line)]
    assert not found, f"{len(found)} flaws\n" + "\n".join(found)


def test_the_help_of_everything_at_once_is_held_to_the_same(help_of):
    text = help_of("--help-all")
    assert {"-t,--threads", "--host", "--dry-base"} <= {name for name, _ in entries(text)}
    assert report("--help-all", text) == []


def test_no_option_that_completion_knows_is_missed_here(helps, help_of):
    script = help_of("completion", "bash")
    paths = re.findall(r"^    '([a-z -]*)'\) words='([^']*)';;$", script, re.MULTILINE)
    assert {tuple(path.split()) for path, _ in paths} == set(helps)
    for path, words in paths:  # a group of options has a path as well, that of its command
        command = tuple(path.split())
        if command == ("bench", "peers"):
            continue  # a program of its own reads its options
        read = {flag for name, _ in entries(helps[command]) for flag in name.split(",")}
        missed = {word for word in words.split() if word.startswith("--")} - read
        assert not missed, f"{path}: {missed}"


def own(helps):
    """Without `bench peers`: a program of its own writes that."""
    return {command: text for command, text in helps.items() if command != ("bench", "peers")}


def rows(text):
    """(names with the value's name, description) of the options and arguments of a help that nothing wraps."""
    for section in text.split("\n\n"):
        heading, *lines = section.strip("\n").split("\n")
        if heading in ("Commands:", "Example:") or not re.fullmatch(r"[A-Z][A-Za-z, ]*:", heading):
            continue
        at = 0
        while at < len(lines):
            name, description = lines[at][:30].strip(), lines[at][30:]
            if at + 1 < len(lines) and lines[at + 1].startswith(" " * 30):
                at, name, description = at + 1, lines[at].strip(), lines[at + 1].strip()
            yield name, description
            at += 1


def test_every_option_with_a_value_says_what_holds_without_it(helps):
    silent = []
    for command, text in own(helps).items():
        for name, description in rows(text):
            takes_value = re.search(r"(^| )[A-Z]+( \.\.\.)?$", name) is not None
            notes = re.search(r"\[([^\]]*)\]$", description)
            said = re.search(r"[;,:.] [dD]efault|by default", description) or (notes and re.match("default|required", notes[1]))
            if takes_value and not said:
                silent.append(f"{' '.join(command)} {name}: {description}")
    assert not silent, "\n".join(silent)


def test_the_defaults_shown_are_those_that_hold(helps, help_of):
    """--print-config knows them from the variables themselves."""
    for command in ("serve", "run-batch"):
        required = ["-i", "a", "-o", "b"] if command == "run-batch" else []
        printed = dict(re.findall(r"^# ([a-z_-]+) = (.*)$", help_of(command, *required, "--print-config"), re.MULTILINE))
        shown = {}
        for name, description in rows(helps[(command,)]):
            if note := re.search(r"\[default ([^;\]]+)", description):
                shown[re.match(r"(?:-[a-zA-Z], )?-*([A-Za-z_-]+)", name)[1]] = note[1]
        assert shown["max-num-seqs"] == printed["max-num-seqs"] and shown["kv-cache-dtype"] == printed["kv-cache-dtype"].strip('"')
        assert len(shown) > 30
        wrong = {}
        for key, value in shown.items():
            held = printed.get(key, "").strip('"').replace("[]", "").strip("[]")
            plain = {"none": "", "on": "true", "off": "false", "'default'": "default"}.get(value, value)
            if key in printed and held not in (value, plain):
                wrong[key] = (value, held)
        assert not wrong


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_no_line_is_wider_than_the_terminal(program, helps, width):
    environment = os.environ | {"COLUMNS": str(width)}
    for command in own(helps):
        text = subprocess.run([program, *command, "--help"], capture_output=True, env=environment, timeout=30, check=True).stdout.decode()
        assert max(map(len, text.splitlines())) <= width, command


def test_without_a_terminal_lines_have_80_columns(program):
    environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    text = subprocess.run([program, "serve", "--help"], capture_output=True, env=environment, timeout=30, check=True).stdout.decode()
    assert 70 < max(map(len, text.splitlines())) <= 80


def test_on_a_terminal_lines_have_its_width(program):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 57, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    done = subprocess.Popen([program, "list", "--help"], stdout=slave, env=environment)
    assert done.wait(30) == 0
    os.close(slave)
    lines = os.read(master, 65536).decode().splitlines()
    os.close(master)
    assert 40 < max(map(len, lines)) <= 57


def test_options_stand_under_headings_and_nothing_of_the_parsers_language_is_left(helps):
    headings = re.findall(r"^([A-Z][A-Za-z, ]*):$", helps[("serve",)], re.MULTILINE)
    assert {"Server", "Access", "Scheduling", "Speculative decoding", "Settings"} <= set(headings)
    assert max(len(list(rows(section))) for section in helps[("serve",)].split("\n\n")) <= 24
    assert "Structured output" in re.findall(r"^([A-Z][A-Za-z, ]*):$", helps[("run",)], re.MULTILINE)
    for command, text in own(helps).items():
        assert not re.search(r"Option Group|\[Option|options are allowed|TEXT:|INT in|UINT|SUBCOMMAND", text), command


def test_each_command_ends_with_an_example_that_parses(millrace, helps):
    for command, text in own(helps).items():
        example = re.search(r"\nExample:\n  (.*)\n$", text)
        assert example is not None, f"{command}: {text[-200:]}"
        line = example[1]
        if command == ("completion",):
            line = re.fullmatch(r"source <\((.*)\)", line)[1]
        words = shlex.split(line)
        assert words[0] == "millrace" and tuple(words[1:1 + len(command)]) == command
        checked = millrace("--check-usage", *words[1:])
        assert checked.out == "", command
    assert millrace("--check-usage", "run", "--temprature", "1", ok=False).code == 2


def test_help_of_a_command_is_asked_in_both_ways(help_of, helps, millrace):
    assert help_of("help") == helps[()]
    assert help_of("help", "serve") == helps[("serve",)] and help_of("help", "bench", "sweep") == helps[("bench", "sweep")]
    unknown = millrace("help", "srve", ok=False)
    assert unknown.code == 2 and "did you mean 'serve'?" in unknown.err


def test_millrace_alone_shows_where_to_begin(millrace):
    shown = millrace()
    commands = re.findall(r"^  millrace (\w+)", shown.out, re.MULTILINE)
    assert commands == ["run", "pull", "serve"] and "millrace help" in shown.out


def test_the_version_names_what_was_built(millrace):
    version = millrace("version").out
    assert millrace("--version").out == millrace("-V").out == version
    assert re.fullmatch(r"millrace [0-9.]+ \((commit [0-9a-f]{7,}\+?|no commit known), \w+ [0-9.]+ \w+, \w+\)\n", version)


@pytest.mark.parametrize(
    "description, what",
    [
        ("Tokens", "two words"),
        ("text or json", "capital"),
        ("Of all these times", "neighbours"),
        ("Beyond so many tokens", "neighbours"),
        ("Tokens that ngram guesses", "private"),
        ("Unload a model that nobody asked for", "private"),
        ("Max " + "tokens " * 30, "30 words"),
    ],
)
def test_what_must_not_be_is_noticed(description, what):
    assert any(what in flaw for flaw in flaws(description))
    assert flaws("TCP port to listen on; 0 = a free one") == []
