"""The openai package for JavaScript, whole and streamed."""
import json
import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="module")
def told(guarded, key):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    if not (HERE / "node_modules/openai").exists():
        pytest.skip("tests/clients/node_modules is not there: ./dev setup with npm, or npm ci in tests/clients")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version[1:].split(".")[0]) < 20:
        pytest.skip(f"the openai package needs a newer node than {version.strip()}")
    done = subprocess.run([node, HERE / "openai_client.mjs", guarded.url + "/v1", key], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_whole_streamed_and_helped_say_the_same(told):
    assert "Paris" in told["whole"] and told["whole"] == told["streamed"] == told["helper"]
    assert told["streamedUsage"]["total_tokens"] == told["usage"]["total_tokens"]


def test_completions_embeddings_models(told):
    assert "Paris" in told["completion"] and told["models"] == ["m"]
    assert told["embedding"] == pytest.approx(told["floats"], abs=1e-6)


def test_responses(told):
    assert "Paris" in told["response"]
    assert told["responseEvents"][0] == "response.created" and told["responseEvents"][-1] in ("response.completed", "response.incomplete")


def test_errors_have_the_clients_classes(told):
    assert told["badRequest"] == {"kind": "BadRequestError", "status": 400, "param": "temperature", "code": "invalid_value"}
    assert told["notFound"]["kind"] == "NotFoundError" and told["notFound"]["code"] == "model_not_found"
    assert told["unauthorized"]["kind"] == "AuthenticationError"


def test_tools_and_parsed_answers(told):
    assert told["call"]["name"] == "get_weather" and set(json.loads(told["call"]["arguments"])) == {"city"}
    assert set(told["place"]) == {"city"}
