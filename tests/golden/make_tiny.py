#!/usr/bin/env python3
"""Makes the tiny random checkpoints of tests/golden/tiny with Hugging Face Transformers, and their float32 logits.

Run by hand when a family is added, with the names of the new ones (needs torch, transformers, gguf, safetensors); the results are
committed, so that the tests need none of these. Each folder holds config.json and model.safetensors as save_pretrained writes them, model.gguf where GGUF has
the architecture, expected.json {"tokens": [...]} and expected.safetensors with "logits" [T, V].
"""

import json
import pathlib
import sys

import gguf
import numpy as np
import torch
import transformers as hf
from safetensors.torch import load_file, save_file

OUT = pathlib.Path(__file__).parent / "tiny"
TOKENS = 48

COMMON = dict(vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
              num_key_value_heads=2, head_dim=16, max_position_embeddings=64, tie_word_embeddings=False,
              attn_implementation="eager", bos_token_id=1, eos_token_id=2, pad_token_id=0)


def rope(kind, **kwargs):
    return dict(rope_parameters={"rope_type": kind, "rope_theta": 10000.0, **kwargs})


VARIANTS = {
    "llama": (hf.LlamaConfig, {}),
    "llama_tied_biased": (hf.LlamaConfig, dict(tie_word_embeddings=True, attention_bias=True, mlp_bias=True)),
    "llama_linear": (hf.LlamaConfig, rope("linear", factor=4.0)),
    "llama_dynamic": (hf.LlamaConfig, dict(max_position_embeddings=32, **rope("dynamic", factor=2.0))),
    "llama_yarn": (hf.LlamaConfig, rope("yarn", factor=4.0, original_max_position_embeddings=16)),
    "llama3": (hf.LlamaConfig, rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                    original_max_position_embeddings=32)),
    "mistral_window": (hf.MistralConfig, dict(sliding_window=8)),
    "mistral": (hf.MistralConfig, dict(sliding_window=None)),
    "qwen2": (hf.Qwen2Config, dict(rope_theta=1000000.0)),
    "qwen2_window": (hf.Qwen2Config, dict(use_sliding_window=True, sliding_window=8, max_window_layers=1)),
    "mimo": (hf.Qwen2Config, dict(rope_theta=640000.0)),
    "qwen3": (hf.Qwen3Config, dict(tie_word_embeddings=True)),
    "gpt2": (hf.GPT2Config, dict(vocab_size=64, n_embd=32, n_layer=2, n_head=2, n_positions=64, n_inner=64,
                                 attn_implementation="eager", bos_token_id=1, eos_token_id=2)),
    # Head sizes that are no multiple of 16: OpenLLaMA-3B's, several heads, tiny-random-Llama's (head_dim left to Transformers), with
    # norms of heads, an odd one.
    "llama_head100": (hf.LlamaConfig, dict(num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, head_dim=100)),
    "llama_head20": (hf.LlamaConfig, dict(hidden_size=40, intermediate_size=32, num_attention_heads=4, head_dim=20)),
    "llama_head2": (hf.LlamaConfig, dict(hidden_size=16, intermediate_size=32, num_attention_heads=8, head_dim=None)),
    "qwen3_head24": (hf.Qwen3Config, dict(head_dim=24, intermediate_size=32, tie_word_embeddings=True)),
    "gpt2_head5": (hf.GPT2Config, dict(vocab_size=64, n_embd=20, n_layer=2, n_head=4, n_positions=64, n_inner=32,
                                       attn_implementation="eager", bos_token_id=1, eos_token_id=2)),
}
GGUF_ARCHITECTURES = {"llama": "llama", "llama3": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "gpt2": "gpt2",
                      "llama_head100": "llama", "llama_head20": "llama", "llama_head2": "llama", "qwen3_head24": "qwen3",
                      "gpt2_head5": "gpt2"}


def make_model(name, config_class, changes):
    base = {} if config_class is hf.GPT2Config else dict(COMMON)
    if config_class is hf.Qwen2Config:
        base.pop("head_dim")
        base["num_attention_heads"], base["num_key_value_heads"] = 2, 1
    config = config_class(**{**base, **changes})
    torch.manual_seed(sum(map(ord, name)))
    model = hf.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():
        for parameter_name, p in model.named_parameters():
            if p.ndim == 1:  # norms around 1, biases around 0
                centre = 1.0 if "norm" in parameter_name or ".ln_" in parameter_name and "bias" not in parameter_name else 0.0
                p.copy_(centre + 0.2 * torch.randn_like(p))
            else:
                p.copy_(torch.randn_like(p) * 1.5 / p.shape[-1] ** 0.5)
    return model


def make_mimo(folder):
    """Turns a folder of Qwen2 into one as XiaomiMiMo/MiMo-7B is published: Qwen2's layers under another name, whose code comes with the
    model, and a layer for multi-token prediction that the forward pass does not use. Transformers has no MiMo of its own."""
    config = json.loads((folder / "config.json").read_text())
    config.update(architectures=["MiMoForCausalLM"], model_type="mimo", attention_bias=True, num_nextn_predict_layers=1,
                  head_dim=config["hidden_size"] // config["num_attention_heads"],
                  auto_map={"AutoConfig": "configuration_mimo.MiMoConfig", "AutoModel": "modeling_mimo.MiMoModel",
                            "AutoModelForCausalLM": "modeling_mimo.MiMoForCausalLM"})
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    tensors = load_file(folder / "model.safetensors")
    hidden, own = config["hidden_size"], "model.mtp_layers.0."
    tensors |= {name.replace("model.layers.0.", own): tensor.clone() for name, tensor in tensors.items() if "layers.0." in name}
    tensors |= {own + name + ".weight": torch.ones(hidden) for name in ("token_layernorm", "hidden_layernorm", "final_layernorm")}
    tensors[own + "input_proj.weight"] = torch.randn(hidden, 2 * hidden)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def permute_to_pairs(weight, heads):
    """GGUF keeps Q and K of llama in rotary pairs."""
    shape = weight.shape
    return weight.reshape(heads, 2, shape[0] // heads // 2, *shape[1:]).swapaxes(1, 2).reshape(shape)


def write_gguf(path, model, architecture):
    c = model.config
    writer = gguf.GGUFWriter(str(path), architecture)
    writer.add_name(path.parent.name)
    writer.add_context_length(getattr(c, "max_position_embeddings", 64))
    writer.add_embedding_length(c.hidden_size)
    writer.add_block_count(c.num_hidden_layers)
    writer.add_feed_forward_length(getattr(c, "intermediate_size", None) or c.n_inner)
    writer.add_head_count(c.num_attention_heads)
    writer.add_vocab_size(c.vocab_size)
    if architecture == "gpt2":
        writer.add_layer_norm_eps(c.layer_norm_epsilon)
    else:
        head_dim = getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads
        writer.add_head_count_kv(c.num_key_value_heads)
        writer.add_key_length(head_dim)
        writer.add_value_length(head_dim)
        writer.add_rope_dimension_count(head_dim)
        writer.add_layer_norm_rms_eps(c.rms_norm_eps)
        writer.add_rope_freq_base(c.rope_parameters["rope_theta"])
    arch = {v: k for k, v in gguf.MODEL_ARCH_NAMES.items()}[architecture]
    names = gguf.get_tensor_name_map(arch, c.num_hidden_layers)
    tied = c.tie_word_embeddings
    for name, tensor in model.state_dict().items():
        if name.endswith((".attn.bias", ".attn.masked_bias")) or (tied and name == "lm_head.weight"):
            continue
        value = tensor.numpy()
        if architecture == "llama" and ".q_proj." in name:
            value = permute_to_pairs(value, c.num_attention_heads)
        if architecture == "llama" and ".k_proj." in name:
            value = permute_to_pairs(value, c.num_key_value_heads)
        if architecture == "gpt2" and name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):
            value = value.T
        target = names.get_name(name, try_suffixes=(".weight", ".bias"))
        assert target, name
        writer.add_tensor(target, np.ascontiguousarray(value, dtype=np.float32))
    parameters = getattr(c, "rope_parameters", None) or {}
    if parameters.get("rope_type") == "llama3":  # GGUF stores the divisors of the frequencies
        half = c.head_dim // 2
        plain = 1.0 / (parameters["rope_theta"] ** (np.arange(half) * 2 / c.head_dim))
        scaled = model.model.rotary_emb.inv_freq.numpy()
        writer.add_tensor("rope_freqs.weight", (plain / scaled).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    for name in sys.argv[1:] or VARIANTS:
        config_class, changes = VARIANTS[name]
        model = make_model(name, config_class, changes)
        folder = OUT / name
        model.save_pretrained(folder)
        (folder / "generation_config.json").unlink(missing_ok=True)
        generator = torch.Generator().manual_seed(1)
        tokens = torch.randint(3, 64, (1, TOKENS), generator=generator)
        with torch.no_grad():
            logits = model(tokens).logits[0].float().contiguous()
        save_file({"logits": logits}, folder / "expected.safetensors")
        (folder / "expected.json").write_text(json.dumps({"tokens": tokens[0].tolist()}) + "\n")
        if name == "mimo":
            make_mimo(folder)
        if name in GGUF_ARCHITECTURES:
            write_gguf(folder / "model.gguf", model, GGUF_ARCHITECTURES[name])
        print(name, "logits std", float(logits.std()))


if __name__ == "__main__":
    main()
