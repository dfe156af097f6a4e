"""`millrace run` without a terminal: one prompt, one answer. test_run_terminal.py holds a conversation."""
import json
import re
import subprocess

import pytest

STATS = re.compile(r"prompt (\d+) cached \+ (\d+) new tokens, answer (\d+) tokens")


@pytest.fixture(scope="module")
def ask(millrace, real_model):
    """Few tokens, so that a slow machine is quick enough; greedy unless told otherwise."""

    def run(prompt, *flags, length=12, **more):
        words = [] if prompt is None else [prompt]
        if "--temperature" not in flags:
            flags = ("--temperature", 0, *flags)
        return millrace("run", real_model, *words, "-n", length, *flags, **more)

    return run


def prompt_tokens(outcome):
    cached, new, _ = map(int, STATS.search(outcome.err).groups())
    return cached + new


def refused(outcome, code=2):
    assert (outcome.code, outcome.out) == (code, ""), outcome.err
    assert outcome.err.startswith("millrace: ") and outcome.err.count("\n") == 1, outcome.err
    return outcome.err


def test_the_answer_is_all_there_is_on_stdout(ask):
    answer = ask("Name a colour.")
    assert answer.out.strip() and answer.out.endswith("\n") and answer.err == ""


def test_a_prompt_may_come_as_argument_option_or_stdin(ask, millrace, real_model):
    argument = ask("Name a colour.").out
    assert ask(None, stdin=b"Name a colour.\n").out == argument
    assert ask(None, "-p", "Name a colour.").out == argument


def test_text_on_stdin_follows_on_the_prompt(ask):
    both = ask("What is the secret word?", stdin=b"The secret word is BANANA.\n\n").out
    assert both == ask("What is the secret word?\n\nThe secret word is BANANA.").out
    alone = ask("Name a colour.").out
    assert both != alone
    for stdin in (b"", b"\n"):
        assert ask("Name a colour.", stdin=stdin).out == alone


def test_a_closed_stdin_changes_nothing(ask, program, real_model):
    command = f"'{program}' run '{real_model}' 'Name a colour.' -n 12 --temperature 0 <&-"
    assert subprocess.run(["sh", "-c", command], capture_output=True, check=True).stdout.decode() == ask("Name a colour.").out


@pytest.fixture(scope="module")
def default_model(real_model, tmp_path_factory):
    """The environment in which the real model is the default one, and the hub is not there."""
    cache = tmp_path_factory.mktemp("cache")
    (cache / "millrace" / "models").mkdir(parents=True)
    (cache / "millrace" / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf").symlink_to(real_model)
    return {"XDG_CACHE_HOME": str(cache), "HF_HOME": str(cache / "hf"), "HF_HUB_OFFLINE": "0", "HF_ENDPOINT": "http://127.0.0.1:9"}


@pytest.mark.parametrize("prompt", ["Name a colour.", "Name\na\tcolour.", " Colour", "Why? " + "word " * 100])
def test_several_words_alone_are_a_prompt_for_the_default_model(millrace, default_model, prompt):
    greedy = ("-n", 8, "--temperature", 0)
    expected = millrace("run", "default", prompt, *greedy, env=default_model)
    alone = millrace("run", prompt, *greedy, env=default_model)
    assert alone.out == expected.out and alone.out.strip()
    assert alone.err == ""  # the hub was not asked


def test_several_words_that_are_a_file_are_a_model(millrace, real_model, tmp_path):
    path = tmp_path / "my model.gguf"
    path.symlink_to(real_model)
    assert millrace("run", path, "-n", 2, stdin=b"Name a colour.").out


@pytest.mark.parametrize("word", ["Hello", "Hello?", "it's", "yes/no"])
@pytest.mark.parametrize("offline", [True, False])
def test_a_word_that_is_no_model_is_explained_both_ways(millrace, default_model, word, offline):
    flags = ["--offline"] if offline else ["--no-progress"]
    failed = millrace("run", word, *flags, stdin=b"a question", env=default_model | {"MILLRACE_RETRY_DELAY": "0.01"}, ok=False)
    assert failed.code in (1, 2, 3) and failed.out == ""
    error = failed.err.rstrip("\n").split("\n")[-1]
    quoted = "'" + word.replace("'", "'\\''") + "'"
    assert f"millrace pull {quoted}" in error and f"millrace run default {quoted}" in error


def test_a_word_without_a_prompt_is_explained_both_ways(millrace, default_model):
    error = refused(millrace("run", "Hello", env=default_model, ok=False))
    assert "nothing to answer" in error and "millrace run default 'Hello'" in error


def test_a_path_or_a_model_with_a_prompt_has_one_reading(millrace, default_model, tmp_path):
    for words in ([tmp_path / "missing.gguf"], ["Hello", "What is that?"], ["default"]):
        environment = default_model if words != ["default"] else default_model | {"XDG_CACHE_HOME": str(tmp_path)}
        failed = millrace("run", *words, "--offline", stdin=b"a question", env=environment, ok=False)
        assert failed.code == 3 and "millrace run default" not in failed.err, failed.err


def test_a_word_that_names_a_command_is_a_prompt_all_the_same(ask):
    assert ask("version", length=2).out


def test_stats_follow_on_stderr(ask):
    plain, told = ask("Name a colour."), ask("Name a colour.", "--stats")
    assert told.out == plain.out
    assert STATS.search(told.err) and "TTFT" in told.err and "tok/s" in told.err and told.err.count("\n") == 1


def test_greedy_answers_are_the_same_bytes_with_any_number_of_threads(ask):
    one = ask("Tell me about the sea.", "--threads", 1, length=32).out
    assert ask("Tell me about the sea.", "--threads", 1, length=32).out == one
    assert ask("Tell me about the sea.", "--threads", 2, length=32).out == one


def test_greedy_answers_are_the_same_bytes_in_any_kv_layout_and_page_size(ask):
    expected = ask("Tell me about the sea.", length=32).out
    for flags in (("--block-size", 64), ("--kv-layout", "token"), ("--kv-layout", "vector16"), ("--kv-layout", "vector16", "--block-size", 8)):
        assert ask("Tell me about the sea.", *flags, length=32).out == expected, flags


def test_a_seed_fixes_a_sampled_answer(ask):
    sampled = lambda *flags: ask("Tell me about the sea.", "--temperature", 1.5, *flags, length=24).out
    assert sampled("--seed", 1) == sampled("--seed", 1)
    assert sampled("--seed", 1) != sampled("--seed", 2)
    assert sampled() != sampled()


def test_an_answer_ends_before_the_stop_text(ask):
    whole = ask("Tell me about the sea.", length=24).out
    stop = whole.split()[4] + " "
    assert whole.index(stop) > 0
    assert ask("Tell me about the sea.", "--stop", stop, length=24).out == whole[: whole.index(stop)] + "\n"
    either = ask("Tell me about the sea.", "--stop", "no such text", "--stop", stop, length=24).out
    assert either == whole[: whole.index(stop)] + "\n"


def test_length_is_limited(ask):
    for length in (1, 5):
        answer = ask("Tell me a long story.", "--stats", "--ignore-eos", length=length)
        assert int(STATS.search(answer.err)[3]) == length


def test_a_system_message_counts(ask):
    plain, told = (ask("Who are you?", "--stats", *flags, length=24) for flags in ((), ("--system", "You are a pirate. Say arr.")))
    assert plain.out != told.out and prompt_tokens(plain) != prompt_tokens(told)


def test_control_tokens_written_as_text_stay_text(ask):
    # A control token is one token, as a plain letter is; its spelling as text is several.
    letter, spelled = (prompt_tokens(ask(prompt, "--stats", length=1)) for prompt in ("x", "<|im_start|>"))
    assert spelled > letter + 1


def test_bytes_that_are_not_text_are_answered_or_refused(ask):
    outcome = ask(None, stdin=b"\xff\xfe\x00 what is this?", length=2, ok=False)
    assert outcome.code in (0, 2), outcome.err


def test_nothing_to_answer_is_2(ask):
    for stdin in (b"", b"\n\n"):
        assert "prompt" in refused(ask(None, stdin=stdin, ok=False)).lower()


@pytest.mark.parametrize(
    "flag, value, field",
    [
        ("--temperature", "-1", "temperature"),
        ("--temperature", "nan", "temperature"),
        ("--temperature", "warm", "temperature"),
        ("--top-p", "0", "top_p"),
        ("--top-k", "-2", "top_k"),
        ("--min-p", "1.5", "min_p"),
        ("--repetition-penalty", "0", "repetition_penalty"),
        ("--mirostat", "3000000000", "mirostat_mode"),
        ("-n", "0", "max_tokens"),
        ("--stop", "", "stop"),
        ("--seed", "-1", "seed"),
    ],
)
def test_a_value_out_of_range_is_2_and_named_before_any_model_is_looked_for(millrace, tmp_path, flag, value, field):
    error = refused(millrace("run", tmp_path / "missing.gguf", "x", flag, value, ok=False))
    assert field in error


def test_an_option_of_a_drafter_or_policy_that_is_not_chosen_is_checked_too(ask, millrace, real_model):
    error = refused(ask("Hello", "--spec-ngram-min", "65", ok=False))
    assert "spec-ngram-min is 65: must be" in error
    error = refused(millrace("bench", "throughput", real_model, "--mlfq-first-quantum-ms", "-1", ok=False))
    assert "mlfq-first-quantum-ms is -1: must be" in error


def test_help_names_the_neutral_value_of_each_sampler(millrace):
    text = " ".join(millrace("run", "--help").out.split())
    for flag, neutral in (("--typical-p, --typical", "1"), ("--dry-base", "1.75"), ("--top-n-sigma", "-1")):
        assert re.search(rf"{flag} NUMBER [^\[]*\[default {neutral}\]", text), flag
    assert "temperature, at most 2; 0 = greedy; default the model's, else 0.7" in text


def test_an_absent_model_is_3(millrace, tmp_path):
    missing = tmp_path / "missing.gguf"
    assert str(missing) in refused(millrace("run", missing, "x", ok=False), 3)


def test_an_absent_default_model_says_how_to_place_it(millrace, tmp_path):
    error = refused(millrace("run", "default", "x", env={"XDG_CACHE_HOME": str(tmp_path)}, ok=False), 3)
    assert str(tmp_path) in error and "./dev setup" in error and "by hand" in error


def test_a_model_without_tokenizer_is_3(millrace, tiny):
    assert "no tokenizer" in refused(millrace("run", tiny, "x", ok=False), 3)


def test_a_prompt_beyond_the_length_of_a_sequence_is_2(ask):
    refused(ask("word " * 200, "--max-model-len", 64, ok=False))


SCHEMA = '{"type": "object", "properties": {"colour": {"enum": ["red", "green"]}, "n": {"type": "integer", "minimum": 1, "maximum": 9}}, "required": ["colour", "n"], "additionalProperties": false}'


def test_an_answer_fits_its_schema(ask):
    answer = json.loads(ask("Name a colour.", "--json-schema", SCHEMA, length=60).out)
    assert answer["colour"] in ("red", "green") and 1 <= answer["n"] <= 9


def test_an_answer_fits_its_regex_and_its_grammar(ask, tmp_path):
    assert re.fullmatch(r"[A-C]{3}-\d\d\n", ask("Name a colour.", "--regex", r"[A-C]{3}-\d\d", length=60).out)
    grammar = tmp_path / "yes.gbnf"
    grammar.write_text('root ::= ("yes" | "no") "!"\n')
    assert ask("Is it?", "--grammar-file", grammar, length=60).out in ("yes!\n", "no!\n")


def test_what_is_forced_is_not_drawn_otherwise(ask):
    flags = ("--json-schema", SCHEMA, "--temperature", 1, "--seed", 3)
    assert ask("Name a colour.", *flags, length=60).out == ask("Name a colour.", *flags, "--no-jump-forward", length=60).out


def test_a_grammar_that_is_none_is_refused_by_its_flag(ask):
    assert "json-schema" in refused(ask("Hi", "--json-schema", '{"type": "strin"}', ok=False))
    assert "regex" in refused(ask("Hi", "--regex", "(a", ok=False))
    refused(ask("Hi", "--regex", "a", "--json-object", ok=False))


def test_more_context_than_a_model_was_trained_for_is_warned_of(millrace, real_model):
    ask = [real_model, "Hi", "-n", 1, "--temperature", 0]
    beyond = millrace("run", *ask, "--max-model-len", 8193)
    assert "--max-model-len 8193: the model was trained for 8192 tokens" in beyond.err
    assert "trained" not in millrace("run", *ask, "--max-model-len", 8192).err
