"""Every line of help can be understood alone: what mechanics can check of that, for all commands there are."""
import os
import re
import subprocess

import pytest
from plain_texts import flaws

HEADING = re.compile(r" *[A-Z][A-Za-z ]*:|(positional arguments|options):")


def entries(text):
    """(name, description) of each option, positional and subcommand. A description stands in a column of its own, beside the name or,
    where that is long, below it. CLI11 has the column 28 behind the names, argparse 22."""
    lines, found, indent = text.splitlines(), [], None
    width = 22 if "\noptions:\n" in text else 28
    for line, below in zip(lines, [*lines[1:], ""]):
        depth = len(line) - len(line.lstrip())
        if HEADING.fullmatch(line):
            indent = depth + 2
        elif line.strip() and indent is not None and depth < indent:
            indent = None
        elif line.strip() and depth == indent:
            column = indent + width
            name, description = line[indent:column], line[column:]
            if len(below) - len(below.lstrip()) == column:
                name, description = line[indent:], below[column:]
            found.append((re.split(r"[ :=\[{]", name.strip(), maxsplit=1)[0], description))
    return found


def report(command, text):
    return [
        f"{command} {name}: {flaw}: {description!r}"
        for name, description in entries(text)
        if name != "-h,"  # argparse's own line
        for flaw in flaws(description)
    ]


@pytest.fixture(scope="module")
def help_of(program):
    """The text of `millrace WORDS...`, in lines that nothing wraps."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MILLRACE_")} | {"COLUMNS": "1000"}

    def run(*words):
        done = subprocess.run([program, *words], capture_output=True, env=environment, timeout=60)
        assert done.returncode == 0 and done.stderr == b"", done.stderr.decode()
        return done.stdout.decode()

    return run


@pytest.fixture(scope="module")
def helps(help_of):
    """{("bench", "serve"): the text of its --help}, for the program and all its commands."""
    texts = {(): help_of("--help")}
    for prefix in ((), ("bench",)):
        subcommands = help_of(*prefix, "--help").split("\nSubcommands:\n")[1]
        for name, _ in entries("Subcommands:\n" + subcommands):
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
        read = {flag for name, _ in entries(helps[command]) for flag in re.sub(r"\{.*?\}", "", name).split(",")}
        missed = {word for word in words.split() if word.startswith("--")} - read
        assert not missed, f"{path}: {missed}"


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
