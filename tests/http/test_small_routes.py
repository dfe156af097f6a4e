"""Routes and rules with little to them."""
import re

import pytest

TEXT = "/v1/completions"
HI = {"prompt": "Hi", "max_tokens": 1}


def test_lengths_of_strings_are_characters_as_the_document_has_them(server):
    for field, most in [("user", 256), ("cache_salt", 128), ("stop", 256), ("bad_words", 256)]:
        if field != "bad_words":  # of these the tokens are bounded too
            assert server.post(TEXT, HI | {field: "é" * most}).status == 200, field
        reply = server.post(TEXT, HI | {field: "é" * (most + 1)})
        assert reply.status == 400 and reply.error["param"] == field
        assert f"{most + 1} characters" in reply.error["message"]


@pytest.mark.parametrize("path", ["/v1/load_lora_adapter", "/v1/unload_lora_adapter"])
def test_fields_about_adapters_are_checked(server, path):
    good = {"lora_name": "a", "lora_path": "b", "load_inplace": False}
    reply = server.post(path, good)  # none is there, and there is no directory to load one from
    assert (reply.status, reply.error["code"]) == ((404, "not_found") if "un" in path else (400, "unsupported")) and "adapter" in reply.error["message"]
    for wrong in [{}, {"lora_name": 1, "lora_path": "b"}, good | {"lora_name": "a" * 257}] + ([good | {"load_inplace": "yes"}] if "un" not in path else []):
        assert server.post(path, wrong).error["code"] == "invalid_value"


def test_the_tokenizer_tells_its_template(server):
    info = server.call("GET", "/tokenizer_info").json()
    assert "<|im_start|>" in info["chat_template"] and info["vocab_size"] > 0


def test_metrics_under_vllms_names_are_all_there(server):
    assert server.post(TEXT, HI | {"priority": -3}).status == 200
    text = server.call("GET", "/metrics").body.decode()
    for pattern in [r'vllm:num_requests_waiting_by_reason\{engine="0",model_name="m",reason="capacity"\} 0',
                    r'vllm:num_requests_waiting_by_reason\{.*reason="deferred"\} 0', r'vllm:lora_requests_info\{.*max_lora="0".*\} 0',
                    r'millrace:queue_time_by_priority_seconds_count\{.*priority="-3"\} [1-9]',
                    r'millrace:step_phase_seconds_count\{.*phase="send"\} [1-9]']:
        assert re.search(pattern, text), pattern
