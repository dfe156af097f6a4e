import json


def families(millrace, *names):
    return json.loads(millrace("families", *names, "--json").out)["families"]


def test_lists_all_with_what_is_checked(millrace):
    rows = {row["name"]: row for row in families(millrace)}
    assert len(rows) >= 70
    gemma = rows["gemma3"]
    assert "Gemma3ForCausalLM" in gemma["safetensors"] and gemma["gguf"] == ["gemma3"] and "windows" in gemma["blocks"]
    assert gemma["checked"] == {"safetensors": True, "gguf": True, "speed": ["gemma3-1b"]}
    assert rows["xglm"]["checked"] == {"safetensors": True, "gguf": False, "speed": []}
    assert all(set(row["checked"]["speed"]) <= set(row["shapes"]) for row in rows.values())


def test_a_row_is_found_by_any_name_that_a_file_has(millrace):
    for name in ("qwen2", "Qwen2ForCausalLM", "qwen2_5_vl_text"):
        assert "qwen2" in [row["name"] for row in families(millrace, name)]
    assert [row["name"] for row in families(millrace, "command-r")] == ["cohere"]
    text = " ".join(millrace("families", "gemma3").out.split())
    assert "Safetensors: Gemma3ForCausalLM" in text and "Text of: gemma3_text." in text and "Speed measured: gemma3-1b." in text


def test_another_name_is_an_error_with_the_nearest(millrace):
    outcome = millrace("families", "gemma33", ok=False)
    error = outcome.err
    assert outcome.code == 2 and "'gemma33' is no family or architecture of a model" in error and "gemma3" in error
