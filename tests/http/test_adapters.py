"""Adapters over HTTP: named as models, blended, mixed in a batch, loaded and forgotten while others are answered."""
import concurrent.futures
import json
import re

import numpy
import pytest
from running_server import RunningServer
from safetensors.numpy import save_file

TEXT, LOAD, UNLOAD = "/v1/completions", "/v1/load_lora_adapter", "/v1/unload_lora_adapter"
ASK = {"prompt": "The capital of France is", "max_tokens": 12, "temperature": 0, "ignore_eos": True, "cache_salt": "adapters"}
HIDDEN, KEYS, LAYERS, RANK = 576, 192, 30, 4


def write_adapter(folder, seed, size=0.5, **config):
    """A random adapter of SmolLM2-135M's queries and values, as PEFT saves it."""
    folder.mkdir()
    random, tensors = numpy.random.default_rng(seed), {}
    for layer in range(LAYERS):
        for name, rows in (("q_proj", HIDDEN), ("v_proj", KEYS)):
            module = f"base_model.model.model.layers.{layer}.self_attn.{name}"
            tensors[f"{module}.lora_A.weight"] = (random.standard_normal((RANK, HIDDEN)) * size / HIDDEN**0.5).astype(numpy.float32)
            tensors[f"{module}.lora_B.weight"] = (random.standard_normal((rows, RANK)) * size).astype(numpy.float32)
    save_file(tensors, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    settings = {"peft_type": "LORA", "r": RANK, "lora_alpha": 2 * RANK, "target_modules": ["q_proj", "v_proj"], "use_dora": False, **config}
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("adapters")
    for seed, name in enumerate("abcd"):
        write_adapter(folder / name, seed)
    write_adapter(folder / "dora", 9, use_dora=True)
    (folder / "escape").symlink_to(write_adapter(tmp_path_factory.mktemp("outside") / "e", 8))
    return folder


@pytest.fixture(scope="module")
def adapted(start, folder):
    with start("--lora", f"a={folder / 'a'}", "--lora", f"b={folder / 'b'}", "--lora-dir", folder) as server:
        yield server


def text_of(server, **fields):
    reply = server.post(TEXT, ASK | fields)
    assert reply.status == 200, reply
    return reply.json()["choices"][0]["text"]


def names(server):
    return {card["id"]: card for card in server.call("GET", "/v1/models").json()["data"]}


def test_adapters_are_listed_behind_their_model(adapted, folder):
    cards = names(adapted)
    assert [(name, card["parent"]) for name, card in cards.items()][:3] == [("m", None), ("a", "m"), ("b", "m")]
    assert cards["a"]["root"] == str(folder / "a") and cards["a"]["meta"]["rank"] == RANK and cards["a"]["meta"]["modules"] == 2 * LAYERS
    assert adapted.call("GET", "/v1/models/a").json()["id"] == "a"


def test_an_adapter_is_named_like_a_model(adapted):
    base, a, b = (text_of(adapted, model=name) for name in ("m", "a", "b"))
    assert len({base, a, b}) == 3
    assert text_of(adapted, model="m:a") == a and text_of(adapted) == base
    assert adapted.post(TEXT, ASK | {"model": "a"}).json()["model"] == "a"
    chat = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4, "model": "b"}
    assert adapted.post("/v1/chat/completions", chat).json()["model"] == "b"


def test_answers_do_not_depend_on_what_others_ask_for(adapted):
    asked = [{"model": name, "seed": i, "temperature": i % 3 / 2} for i, name in enumerate(["m", "a", "b", "m:a"] * 4)]
    asked += [{"lora": [{"name": "a", "scale": 0.5}, {"name": "b", "scale": -1}], "seed": i} for i in range(4)]
    alone = [text_of(adapted, cache_salt=f"alone {i}", **fields) for i, fields in enumerate(asked)]
    with concurrent.futures.ThreadPoolExecutor(len(asked)) as pool:
        together = list(pool.map(lambda one: text_of(adapted, cache_salt=f"together {one[0]}", **one[1]), enumerate(asked)))
    assert together == alone


def test_blends(adapted):
    a = text_of(adapted, model="a")
    assert text_of(adapted, lora=[{"name": "a"}]) == a == text_of(adapted, lora=[{"name": "a", "scale": 1}, {"name": "b", "scale": 0}])
    assert text_of(adapted, lora=[{"name": "a", "scale": 0}]) == text_of(adapted, lora=[]) == text_of(adapted, lora=None)


@pytest.mark.parametrize(
    "fields, status, param, told",
    [
        ({"model": "m:z"}, 404, "model", "adapter"),
        ({"model": "z"}, 404, "model", "/v1/models"),
        ({"lora": [{"name": "z"}]}, 404, "lora", "adapter"),
        ({"lora": [{"name": "a"}] * 5}, 400, "lora", "limit is 4"),
        ({"lora": [{"name": "a"}, {"name": "a"}]}, 400, "lora", "twice"),
        ({"lora": [{"name": "a", "scale": 101}]}, 400, "lora", "-100 to 100"),
        ({"lora": [{"name": "a", "scale": "1"}]}, 400, "lora", "scale"),
        ({"lora": [{"name": "a", "weight": 1}]}, 400, "lora", "scale"),
        ({"lora": [{"scale": 1}]}, 400, "lora", "name"),
        ({"lora": "a"}, 400, "lora", "list"),
        ({"model": "a", "lora": [{"name": "b"}]}, 400, "lora", "model"),
    ],
)
def test_wrong_adapters_are_refused_by_name(adapted, fields, status, param, told):
    reply = adapted.post(TEXT, ASK | fields)
    assert reply.status == status and reply.error["param"] == param and told in reply.error["message"], reply


def test_adapters_come_and_go_while_the_server_runs(adapted, folder):
    assert adapted.post(TEXT, ASK | {"model": "c"}).status == 404
    said = adapted.post(LOAD, {"lora_name": "c", "lora_path": "c"})
    assert said.status == 200 and "Success: LoRA adapter 'c' added" in said.body.decode()
    c = text_of(adapted, model="c")
    assert adapted.post(LOAD, {"lora_name": "c", "lora_path": "c"}).error["param"] == "lora_name"
    assert adapted.post(LOAD, {"lora_name": "m:c", "lora_path": str(folder / "d"), "load_inplace": True}).status == 200
    d = text_of(adapted, model="c")
    assert d != c, "the prefix of what was replaced must not be used"
    assert adapted.post(UNLOAD, {"lora_name": "c"}).status == 200
    assert adapted.post(TEXT, ASK | {"model": "c"}).status == 404 and adapted.post(UNLOAD, {"lora_name": "c"}).status == 404
    assert adapted.post(LOAD, {"lora_name": "c", "lora_path": "c"}).status == 200 and text_of(adapted, model="c") == c
    assert adapted.post(UNLOAD, {"lora_name": "c"}).status == 200


@pytest.mark.parametrize(
    "fields, status, told",
    [
        ({"lora_name": "x", "lora_path": "../.."}, 400, "--lora-dir"),
        ({"lora_name": "x", "lora_path": "/etc"}, 400, "--lora-dir"),
        ({"lora_name": "x", "lora_path": "escape"}, 400, "--lora-dir"),
        ({"lora_name": "x", "lora_path": "."}, 400, "--lora-dir"),
        ({"lora_name": "x", "lora_path": "nothing"}, 404, "--lora-dir"),
        ({"lora_name": "x", "lora_path": "a\0b"}, 400, "--lora-dir"),
        ({"lora_name": "x", "lora_path": "dora"}, 400, "use_dora"),
        ({"lora_name": "m", "lora_path": "a"}, 400, "name of a model"),
    ],
)
def test_what_cannot_be_loaded_changes_nothing(adapted, fields, status, told):
    before = names(adapted)
    reply = adapted.post(LOAD, fields)
    assert reply.status == status and told in reply.error["message"], reply
    assert names(adapted) == before


def test_nothing_is_loaded_without_a_directory(server, folder):
    reply = server.post(LOAD, {"lora_name": "a", "lora_path": str(folder / "a")})
    assert reply.status == 400 and reply.error["code"] == "unsupported" and "--lora-dir" in reply.error["message"]


def test_streams_go_on_while_their_adapter_is_unloaded(adapted):
    assert adapted.post(LOAD, {"lora_name": "s", "lora_path": "d"}).status == 200
    expected = text_of(adapted, model="s", max_tokens=300, cache_salt="1")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(text_of, adapted, model="s", max_tokens=300, cache_salt="2")
        while not adapted.call("GET", "/v1/requests").json()["data"]:
            assert not running.done()
        assert adapted.post(UNLOAD, {"lora_name": "s"}).status == 200
        assert running.result() == expected


def test_a_server_does_not_start_with_an_adapter_that_does_not_fit(model, logs, folder):
    wrong = write_adapter(folder / "wrong", 3, r=5)
    with RunningServer(model, logs(), "--lora", f"w={wrong}", wait=False) as server:
        assert server.process.wait(60) == 3
        assert re.search(r"q_proj\.lora_A\.weight.*rank 5 expected", server.text())


def test_several_models_have_adapters_of_their_own(start, model, folder):
    with start("--lora", f"a={folder / 'a'}", "--model", f"n={model}") as server:
        base, a = text_of(server, model="m"), text_of(server, model="m:a")
        assert a != base and text_of(server, model="n") == base
