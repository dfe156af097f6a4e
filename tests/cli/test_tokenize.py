"""`tokenize` against the PyPI package tokenizers, on the vocabulary of a real model."""
import json

import pytest

TEXTS = [
    "Hello world",
    "  two  spaces\n\nand lines\t",
    "1234567 apples, 3.14",
    "na\u00efve caf\u00e9 \U0001f600 \u4f60\u597d \u0928\u092e\u0938\u094d\u0924\u0947",
    "<|im_start|>user\nhi<|im_end|>",
    "I'll we've HE'S don't",
    "",
]


@pytest.fixture(scope="module")
def directory(millrace, real_model, tmp_path_factory):
    path = tmp_path_factory.mktemp("tokenizer") / "model"
    millrace("synth", "--shape", "tiny", "--format", "bf16", "--tokenizer", real_model, path)
    return path


@pytest.fixture(scope="module")
def oracle(directory):
    return pytest.importorskip("tokenizers").Tokenizer.from_file(str(directory / "tokenizer.json"))


def ids(millrace, model, text, *flags):
    return [int(word) for word in millrace("tokenize", model, "--ids", *flags, stdin=text.encode()).out.split()]


@pytest.mark.parametrize("text", TEXTS)
def test_ids_equal_those_of_tokenizers(millrace, real_model, directory, oracle, text):
    expected = oracle.encode(text, add_special_tokens=False).ids
    assert ids(millrace, real_model, text) == expected
    assert ids(millrace, directory, text) == expected


@pytest.mark.parametrize("text", TEXTS)
def test_decode_gives_the_text_back(millrace, real_model, text):
    encoded = millrace("tokenize", real_model, "--ids", stdin=text.encode()).out
    assert millrace("tokenize", real_model, "--decode", stdin=encoded.encode()).out == text


def test_text_may_be_an_argument(millrace, real_model):
    from_argument = millrace("tokenize", real_model, "a b", "--json").out
    assert from_argument == millrace("tokenize", real_model, "--json", stdin=b"a b").out
    parsed = json.loads(from_argument)
    assert parsed["count"] == len(parsed["ids"]) == len(parsed["tokens"])
    assert millrace("tokenize", real_model, "a b", "--count").out == f"{parsed['count']}\n"


def test_special_tokens_can_be_plain_text(millrace, real_model):
    assert len(ids(millrace, real_model, "<|im_end|>")) == 1
    assert len(ids(millrace, real_model, "<|im_end|>", "--no-special")) > 1


def test_bos_comes_first_on_request(millrace, real_model):
    assert ids(millrace, real_model, "a", "--add-bos")[1:] == ids(millrace, real_model, "a")


def test_lines_show_id_and_escaped_text(millrace, real_model):
    outcome = millrace("tokenize", real_model, 'say "hi"\n')
    assert outcome.out.count("\n") == len(ids(millrace, real_model, 'say "hi"\n'))
    assert r"\n" in outcome.out and r"\"" in outcome.out


@pytest.mark.parametrize("text", ["12 x", "-1", "99999999999999", "1.5"])
def test_what_is_no_id_is_a_usage_error(millrace, real_model, text):
    outcome = millrace("tokenize", real_model, "--decode", stdin=text.encode(), ok=False)
    assert outcome.code == 2 and outcome.out == "" and "token id" in outcome.err


def test_gguf_keeps_the_tokenizer_as_it_was(millrace, real_model, tmp_path):
    gguf = pytest.importorskip("gguf")
    path = tmp_path / "m.gguf"
    millrace("synth", "--shape", "tiny", "--format", "q8_0", "--tokenizer", real_model, path)
    old, new = gguf.GGUFReader(real_model).fields, gguf.GGUFReader(path).fields
    keys = [key for key in old if key.startswith("tokenizer.")]
    assert "tokenizer.ggml.tokens" in keys
    for key in keys:
        assert new[key].contents() == old[key].contents(), key


def test_template_travels_to_the_directory(millrace, real_model, directory):
    assert millrace("inspect", directory, "--template").out == millrace("inspect", real_model, "--template").out


def test_pieces_stand_on_one_line(millrace, real_model):
    assert millrace("tokenize", real_model, "--pieces", "Hello, world\n").out == '"Hello" "," " world" "\\n"\n'


def test_json_has_byte_offsets_that_cover_the_text(millrace, real_model):
    text = "na\u00efve \U0001f600"
    answer = json.loads(millrace("tokenize", real_model, "--json", text).out)
    assert answer["text"] == text
    covered = {i for begin, end in answer["offsets"] for i in range(begin, end)}
    assert covered == set(range(len(text.encode())))
    for begin, end in answer["offsets"]:
        text.encode()[begin:end].decode()  # whole characters


CHAT = [{"role": "system", "content": "S"}, {"role": "user", "content": "Hi <|im_end|>"}]


def test_a_chat_goes_through_the_template(millrace, real_model, tmp_path):
    path = tmp_path / "chat.json"
    for chat in (CHAT, {"messages": CHAT, "add_generation_prompt": True}):
        path.write_text(json.dumps(chat))
        answer = json.loads(millrace("tokenize", real_model, "--json", "--chat", path).out)
        assert answer["text"] == "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nHi <|im_end|><|im_end|>\n<|im_start|>assistant\n"
        # The user's "<|im_end|>" is text: two control tokens end messages, not three.
        assert answer["tokens"].count("<|im_end|>") == 2
    stdin = json.dumps(CHAT).encode()
    assert millrace("tokenize", real_model, "--count", "--chat", "-", stdin=stdin).out == f"{answer['count']}\n"


@pytest.mark.parametrize("chat,named", [
    ("{", "parse error"),
    ('[{"role": "user", "content": [{"type": "image_url"}]}]', 'messages[0].content[0].type is "image_url"'),
    ('{"messages": [], "chat_template": "x"}', "chat_template"),
    ("[" * 100000, "nested deeper"),
])
def test_a_chat_that_cannot_be_is_a_usage_error(millrace, real_model, chat, named):
    outcome = millrace("tokenize", real_model, "--chat", "-", stdin=chat.encode(), ok=False)
    assert outcome.code == 2 and outcome.out == "" and named in outcome.err
