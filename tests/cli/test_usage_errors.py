"""A slip on the command line: one line that says what was meant."""
import subprocess

import pytest


def refused(millrace, *arguments):
    outcome = millrace(*arguments, ok=False)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("millrace: ") and outcome.err.count("\n") == 1, outcome.err
    return outcome.err


@pytest.mark.parametrize(
    "arguments, meant",
    [
        (["rnu"], "run"),
        (["inspct", "model.gguf"], "inspect"),
        (["tokenise", "default"], "tokenize"),
        (["--lgo-level", "debug", "run"], "--log-level"),
        (["run", "default", "x", "--temprature", "0"], "--temperature"),
        (["run", "--temprature=0"], "--temperature"),
        (["run", "-stats"], "--stats"),
        (["inspect", "--tmplate"], "--template"),
        (["synth", "--shpae", "tiny", "--format", "f32", "x.gguf"], "--shape"),
    ],
)
def test_a_slip_is_answered_with_the_name_meant(millrace, arguments, meant):
    assert f"did you mean '{meant}'?" in refused(millrace, *arguments)


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], ["a"], ["x" * 100_000], ["run", "--nonsense"], ["run", "-y"], ["inspect", "--shape", "tiny"], ["inspect", "a", "b"]],
)
def test_what_is_near_no_name_gets_no_guess(millrace, arguments):
    error = refused(millrace, *arguments)
    assert "did you mean" not in error and "--help" in error


def test_an_option_of_the_program_after_the_command_is_told_its_place(millrace):
    assert "before the command" in refused(millrace, "run", "--log-level", "debug")


def test_other_mistakes_are_one_line_that_names_the_help(millrace):
    assert "millrace --help" in refused(millrace)
    assert "millrace run --help" in refused(millrace, "run", "--threads", "many")


def test_what_a_user_or_file_wrote_cannot_steer_the_terminal(millrace, tmp_path):
    hostile = "\x1b[31m\r\n\x9b2J\x7f"
    for arguments, code in (([hostile], 2), (["run", "--" + hostile], 2), (["inspect", tmp_path / hostile], 3)):
        outcome = millrace(*arguments, ok=False)
        assert outcome.code == code and outcome.err.count("\n") == 1
        assert not set(outcome.err) & {"\x1b", "\r", "\x9b", "\x7f"}
        assert "\\x1b[31m\\x0d\\x0a" in outcome.err


def test_a_result_that_cannot_be_written_is_1(program):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([program, "version"], stdout=full, stderr=subprocess.PIPE, timeout=30)
    assert done.returncode == 1 and b"stdout" in done.stderr
