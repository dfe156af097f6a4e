"""What a model is called in requests, in answers and in the list of models."""
import pathlib

import pytest
from running_server import RunningServer

ASK = {"prompt": "Hi", "max_tokens": 1, "temperature": 0}


@pytest.fixture(scope="module")
def unnamed(model, logs, tmp_path_factory):
    """`serve default`, without a name for it."""
    cache = tmp_path_factory.mktemp("cache")
    (cache / "millrace" / "models").mkdir(parents=True)
    (cache / "millrace" / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf").symlink_to(pathlib.Path(model).resolve())
    with RunningServer("default", logs(), env={"XDG_CACHE_HOME": str(cache)}, name=None) as server:
        yield server, cache


def test_the_card_says_how_weights_keys_and_values_are_stored(server):
    meta = server.call("GET", "/v1/models").json()["data"][0]["meta"]
    assert meta["format"] == "Q4_1: q4_1 + q8_0" and 5 < meta["bits_per_weight"] < 6
    assert meta["kv_cache_dtype"] == "bf16" and meta["n_params"] == 134515008
    assert (meta["maker"], meta["calibration"], meta["quantization"]) == (None, None, None)


def test_the_default_model_has_the_name_of_its_file(unnamed):
    server, cache = unnamed
    card = server.call("GET", "/v1/models").json()["data"][0]
    assert card["id"] == "SmolLM2-135M-Instruct.Q4_1"
    assert card["root"] == str(cache / "millrace" / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf")


def test_default_is_a_name_of_it_as_well(unnamed):
    server, _ = unnamed
    for name in ("default", "SmolLM2-135M-Instruct.Q4_1"):
        assert server.post("/v1/completions", ASK | {"model": name}).status == 200
    assert server.call("GET", "/v1/models/default").status == 200
    assert server.post("/v1/completions", ASK | {"model": "other"}).status == 404


def test_a_given_name_is_the_only_one(server, model):
    card = server.call("GET", "/v1/models").json()["data"][0]
    assert (card["id"], card["root"]) == ("m", model)
    assert server.post("/v1/completions", ASK | {"model": "default"}).status == 404


def test_a_temperature_above_2_is_refused(server):
    reply = server.post("/v1/completions", ASK | {"temperature": 2.5})
    assert reply.status == 400 and "temperature" in reply.error["message"] and "from 0 to 2" in reply.error["message"]
    assert server.post("/v1/completions", ASK | {"temperature": 2}).status == 200
