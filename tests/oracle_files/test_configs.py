"""config.json as Transformers itself saves it, read by us."""
import json

import pytest

transformers = pytest.importorskip("transformers")

SIZES = dict(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=4, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64)
LLAMA3 = dict(rope_type="llama3", rope_theta=5e5, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=32)
YARN = dict(rope_type="yarn", rope_theta=1e6, factor=4.0, original_max_position_embeddings=16)
WINDOW = dict(use_sliding_window=True, sliding_window=16, max_window_layers=3)
CASES = {
    "llama": ("Llama", SIZES | dict(rope_parameters=LLAMA3)),
    "llama_tied": ("Llama", SIZES | dict(tie_word_embeddings=True, head_dim=16)),
    "mistral": ("Mistral", SIZES | dict(sliding_window=16)),
    "mistral_full": ("Mistral", SIZES | dict(sliding_window=None)),
    "qwen2": ("Qwen2", SIZES | WINDOW),
    "qwen2_full": ("Qwen2", SIZES | dict(rope_parameters=YARN)),
    "qwen3": ("Qwen3", SIZES | dict(head_dim=16, tie_word_embeddings=True)),
    "gpt2": ("GPT2", dict(vocab_size=64, n_embd=32, n_layer=2, n_head=4, n_positions=64)),
}


@pytest.mark.parametrize("name", CASES)
def test_we_understand_what_transformers_saves(oracle, tmp_path, name):
    family, fields = CASES[name]
    config = getattr(transformers, family + "Config")(**fields)
    gpt2 = family == "GPT2"
    config.architectures = [family + ("LMHeadModel" if gpt2 else "ForCausalLM")]
    config.save_pretrained(tmp_path)
    ours = json.loads(oracle("config", tmp_path / "config.json"))
    assert ours["architecture"] == config.architectures[0]
    for field in ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings",
                  "tie_word_embeddings"):
        assert ours[field] == getattr(config, field), field
    if gpt2:
        assert (ours["intermediate_size"], ours["activation"], ours["eps"]) == (128, "gelu_new", 1e-5)
        return
    assert ours["intermediate_size"] == config.intermediate_size
    assert ours["num_key_value_heads"] == config.num_key_value_heads
    assert ours["head_dim"] == (getattr(config, "head_dim", None) or 8)
    assert ours["eps"] == config.rms_norm_eps
    assert ours["activation"] == config.hidden_act
    rope = config.rope_parameters
    assert (ours["rope_type"], ours["rope_theta"]) == (rope["rope_type"], rope["rope_theta"])
    assert ours["rope_factor"] == rope.get("factor", 1.0)
    sliding = [t == "sliding_attention" for t in getattr(config, "layer_types", None) or []]
    if family == "Mistral":
        sliding = [config.sliding_window is not None] * config.num_hidden_layers
    uses = ours["layer_uses_window"] or [ours["sliding_window"] > 0] * config.num_hidden_layers
    assert uses == (sliding or [False] * config.num_hidden_layers)
