"""`suffix` of /v1/completions: prompt and suffix between the tokens that a vocabulary has for it. The model is made here, with random weights."""
import subprocess

import gguf
import numpy
import pytest
from running_server import PROGRAM, RunningServer, environment, events

NAMES = {"star": ["<fim_prefix>", "<fim_suffix>", "<fim_middle>"], "mask": ["<mask_1>", "<sep>"]}


def rewritten(source, target, tokens=(), ids=None):
    """A copy of a GGUF file whose last tokens are these control tokens, and whose keys name these ids. Ids by text."""
    reader = gguf.GGUFReader(source)
    fields = {name: field for name, field in reader.fields.items() if not name.startswith("GGUF.")}
    writer = gguf.GGUFWriter(str(target), fields["general.architecture"].contents())
    texts, types = fields["tokenizer.ggml.tokens"].contents(), fields["tokenizer.ggml.token_type"].contents()
    at = len(texts) - len(tokens)
    gone = set(texts[at:])
    merges = [m for m in fields["tokenizer.ggml.merges"].contents() if not gone & {*m.split(" "), m.replace(" ", "")}]
    texts[at:], types[at:] = list(tokens), [3] * len(tokens)
    changed = {"tokenizer.ggml.tokens": texts, "tokenizer.ggml.token_type": types, "tokenizer.ggml.merges": merges}
    for name, field in fields.items():
        if name == "general.architecture":
            continue
        if field.types[0] == gguf.GGUFValueType.ARRAY:
            writer.add_array(name, changed.get(name, field.contents()))
        else:
            writer.add_key_value(name, field.contents(), field.types[0])
    for key, token in (ids or {}).items():
        writer.add_uint32(f"tokenizer.ggml.{key}_token_id", token)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, numpy.array(tensor.data), raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return {name: i for i, name in enumerate(texts)}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "tiny.gguf"
    subprocess.run([PROGRAM, "synth", "--shape", "tiny", "--format", "q4_0", "--no-progress", path], check=True, env=environment(), timeout=60)
    return path


def ask(server, body):
    return server.call("POST", "/v1/completions", {"model": "m", "max_tokens": 4, "temperature": 0, "return_token_ids": True} | body)


def tokens_of(server, text):
    return server.call("POST", "/tokenize", {"model": "m", "prompt": text, "add_special_tokens": False}).json()["tokens"]


@pytest.fixture(scope="module")
def star(tiny):
    ids = rewritten(tiny, tiny.parent / "star.gguf", NAMES["star"])
    with RunningServer(tiny.parent / "star.gguf", tiny.parent / "star.log") as server:
        server.fim = [ids[name] for name in NAMES["star"]]
        yield server


def test_a_prompt_and_its_suffix_stand_between_their_tokens(star):
    before, middle, after = star.fim[0], star.fim[2], star.fim[1]
    reply = ask(star, {"prompt": "def f(", "suffix": "return x"})
    assert reply.status == 200, reply
    (choice,) = reply.json()["choices"]
    bos = choice["prompt_token_ids"][: choice["prompt_token_ids"].index(before)]
    assert len(bos) <= 1
    assert choice["prompt_token_ids"] == [*bos, before, *tokens_of(star, "def f("), after, *tokens_of(star, "return x"), middle]
    by_ids = ask(star, {"prompt": [*bos, *tokens_of(star, "def f(")], "suffix": "return x"}).json()["choices"][0]
    assert by_ids["prompt_token_ids"] == choice["prompt_token_ids"]
    assert by_ids["text"] == choice["text"]
    nothing_before = ask(star, {"prompt": "", "suffix": "x"}).json()["choices"][0]
    assert nothing_before["prompt_token_ids"] == [*bos, before, after, *tokens_of(star, "x"), middle]


def test_marks_in_the_texts_are_text(star):
    choice = ask(star, {"prompt": "a<fim_suffix>b", "suffix": "<fim_middle>"}).json()["choices"][0]
    assert [choice["prompt_token_ids"].count(token) for token in star.fim] == [1, 1, 1]


def test_a_stream_says_the_same(star):
    body = {"prompt": ["def f(", "x ="], "suffix": "return x"}
    whole = ask(star, body).json()["choices"]
    streamed = ["", ""]
    for _, event in events(ask(star, body | {"stream": True}).body)[:-1]:
        for choice in event["choices"]:
            streamed[choice["index"]] += choice["text"]
    assert streamed == [choice["text"] for choice in whole]
    assert whole[0]["text"] and whole[1]["text"]


def test_echo_gives_the_prompt_in_front_and_no_marks(star):
    body = {"prompt": "def f(", "suffix": "return x"}
    middle = ask(star, body).json()["choices"][0]["text"]
    assert ask(star, body | {"echo": True}).json()["choices"][0]["text"] == "def f(" + middle
    assert ask(star, body | {"echo": True, "prompt": tokens_of(star, "def f(")}).json()["choices"][0]["text"] == "def f(" + middle
    refused = ask(star, body | {"echo": True, "logprobs": 1})
    assert (refused.status, refused.error["param"]) == (400, "echo")


def test_the_keys_of_a_file_name_the_tokens(tiny):
    path = tiny.parent / "keys.gguf"
    rewritten(tiny, path, ids={"fim_pre": 40, "fim_suf": 41, "fim_mid": 42, "fim_pad": 43})
    with RunningServer(path, tiny.parent / "keys.log") as server:
        choice = ask(server, {"prompt": "a", "suffix": "b"}).json()["choices"][0]
        assert [t for t in choice["prompt_token_ids"] if 40 <= t <= 42] == [40, 41, 42]
        forced = ask(server, {"prompt": "a", "suffix": "b", "logit_bias": {"43": 100}}).json()["choices"][0]
        assert (forced["finish_reason"], forced["stop_reason"], forced["text"]) == ("stop", 43, "")
        assert ask(server, {"prompt": "a", "logit_bias": {"43": 100}}).json()["choices"][0]["finish_reason"] == "length"


def test_codegen_has_masks(tiny):
    path = tiny.parent / "mask.gguf"
    ids = rewritten(tiny, path, NAMES["mask"])
    mask, separator, end = (ids[name] for name in [*NAMES["mask"], "<|endoftext|>"])
    with RunningServer(path, tiny.parent / "mask.log") as server:
        prompt = ask(server, {"prompt": "def f(", "suffix": "return x"}).json()["choices"][0]["prompt_token_ids"]
        expected = [*tokens_of(server, "def f("), mask, *tokens_of(server, "return x"), end, separator, mask]
        assert prompt[-len(expected):] == expected


def test_a_vocabulary_without_such_tokens_refuses(tiny):
    with RunningServer(tiny, tiny.parent / "none.log") as server:
        reply = ask(server, {"prompt": "a", "suffix": "b"})
        assert (reply.status, reply.error["param"], reply.error["code"]) == (400, "suffix", "unsupported")
        assert ask(server, {"prompt": "a", "suffix": ""}).status == 200
