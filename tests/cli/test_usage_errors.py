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
        (["bench", "serve", "--temp", "0"], "--temperature"),
        (["serve", "--allowed-o", "x"], "--allowed-origins"),
        (["run", "--gramar", "x"], "--grammar"),
        (["--verison"], "--version"),
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


def test_help_is_no_guess(millrace):
    assert "did you mean" not in refused(millrace, "run", "--hepl")


def test_what_begins_several_names_gets_them_all(millrace):
    assert "did you mean '--api-key' or '--api-key-file'?" in refused(millrace, "serve", "--api")


@pytest.mark.parametrize(
    "arguments, instead",
    [
        (["run", "-hf", "org/name"], "'millrace run org/name:quantization'"),
        (["serve", "-hf", "org/name:Q4_0"], "'millrace serve org/name:quantization'"),
        (["serve", "-m", "x.gguf"], "'millrace serve MODEL'"),
        (["run", "--model", "x.gguf"], "'millrace run MODEL'"),
        (["-m", "x.gguf"], "'millrace run MODEL'"),
        (["serve", "-ngl", "99"], "--device"),
        (["run", "x", "-ngl", "99"], "--device"),
        (["serve", "-np", "4"], "--max-num-seqs"),
        (["serve", "--parallel=4"], "--max-num-seqs"),
        (["serve", "-b", "512"], "--max-num-batched-tokens"),
        (["run", "-ub", "512"], "--max-num-batched-tokens"),
        (["serve", "--gpu-memory-utilization", "0.9"], "--kv-cache-memory-bytes"),
        (["serve", "--enable-prefix-caching"], "by default"),
        (["serve", "--revision", "v1"], "org/name@revision"),
        (["serve", "--enable-lora"], "--lora"),
        (["run", "--lora", "="], "NAME=DIR"),
        (["serve", "--lora", "a=/nowhere", "--lora", "a=/there", "default"], "'a' twice"),  # a value is not the next word
        (["serve", "--lora-scaled", "x", "1"], "'lora'"),
        (["serve", "--temp", "1"], "each request"),
        (["serve", "--metrics"], "always served"),
        (["run", "--n-predict", "5"], "--max-tokens"),
        (["chat"], "millrace run"),
        (["download", "org/name"], "millrace pull"),
        (["-v"], "millrace --version"),
    ],
)
def test_options_and_commands_of_other_programs_are_answered(millrace, arguments, instead):
    error = refused(millrace, *arguments)
    assert instead in error and "did you mean" not in error


def test_a_temperature_has_a_limit(millrace):
    assert "temperature is 9: must be between 0 and 2" in refused(millrace, "run", "default", "Hi", "--temperature", "9")


def test_a_command_without_a_model_is_not_told_to_name_one(millrace):
    assert "MODEL" not in refused(millrace, "doctor", "-m", "x.gguf")


def test_an_option_of_the_program_after_the_command_is_told_its_place(millrace):
    assert "before the command" in refused(millrace, "run", "--log-level", "debug")


def test_other_mistakes_are_one_line_that_names_the_help(millrace):
    assert "millrace --help" in refused(millrace, "--log-level", "debug")
    assert "at most one of these can be given: -j" in refused(millrace, "run", "x", "y", "--regex", "a", "--grammar", "b")
    assert "--temperature: its value is missing" in refused(millrace, "run", "--temperature")
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


@pytest.mark.parametrize("command", [["serve"], ["run-batch", "-i", "a", "-o", "b"]])
@pytest.mark.parametrize("flag", ["--swap-space", "--kv-cache-memory-bytes", "--kv-disk-tier-limit", "--packed-cache-limit"])
def test_a_size_needs_a_unit(millrace, command, flag):
    for text in ("4", "4096", "1.5"):
        error = refused(millrace, *command, flag, text)
        assert f"{flag}: '{text}' has no unit: write {text}GiB" in error
    for text in ("4 parsecs", "GB", "-1GB", "1e400GB", "nan", "99999999TB", ""):
        assert flag in refused(millrace, *command, flag, text)
    for text in ("0", "4GiB", "4gb", "4G", "512 MiB", "1.5GB", "4096B"):
        millrace(*command, flag, text, "--print-config")


def test_a_size_of_a_variable_needs_a_unit_too(millrace):
    outcome = millrace("serve", "--print-config", env={"MILLRACE_SWAP_SPACE": "4"}, ok=False)
    assert outcome.code == 2 and "--swap-space: '4' has no unit: write 4GiB" in outcome.err
    for flag in ("--model-memory", "--max-body-bytes"):
        assert f"{flag}: '8' has no unit" in refused(millrace, "serve", flag, "8")
