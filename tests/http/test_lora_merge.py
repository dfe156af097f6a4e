"""An adapter that is merged into the weights as they are loaded."""
from adapter_files import write_adapter


def test_the_model_answers_as_itself(start, tmp_path):
    ask = {"prompt": "The capital of France is", "max_tokens": 8, "temperature": 0}
    with start("--lora", f"a={write_adapter(tmp_path / 'a', 1)}", "--lora-merge") as server:
        assert [card["id"] for card in server.call("GET", "/v1/models").json()["data"]] == ["m"]
        assert server.post("/v1/completions", ask).status == 200
        assert server.post("/v1/completions", ask | {"model": "a"}).status == 404
        refused = server.post("/v1/load_lora_adapter", {"lora_name": "b", "lora_path": "b"})
        assert refused.status == 400, refused
