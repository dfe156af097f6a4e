#!/usr/bin/env python3
"""Makes adapters of the tiny checkpoints in tests/golden with PEFT, and the float32 logits of the models with them.

Run by hand with the names of the adapters to make (none: all); the results are committed, so that the tests need none of this:
    make_adapters.py [NAME ...]
Needs torch, transformers >= 5.23, peft >= 0.21, safetensors.

Each folder of tests/golden/adapters holds
    adapter_config.json, adapter_model.safetensors   as PEFT writes them; or adapter_model.bin
    base                                             the base's folder within tests/golden
    expected.json, .safetensors                      {"tokens": [...]}, "logits" [T, V] float32
All matrices are random, so that none is without effect: the script fails if the logits are those of the base.
"""

import argparse
import json
import pathlib
import shutil
import sys

sys.path.pop(0)  # this folder has one named gptqmodel, which PEFT takes for the package

import peft
import torch
import transformers as hf
from safetensors.torch import save_file

GOLDEN = pathlib.Path(__file__).parent
OUT = GOLDEN / "adapters"
TOKENS = 21
LLAMA = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]

# name: (base, configuration)
ADAPTERS = {
    "llama_all": ("tiny/llama", {"r": 6, "lora_alpha": 9, "target_modules": LLAMA}),
    "llama_q_v": ("tiny/llama", {"r": 4, "target_modules": ["q_proj", "v_proj"]}),
    "llama_odd_rank": ("tiny/llama", {"r": 3, "lora_alpha": 4, "target_modules": LLAMA}),
    "llama_rslora": ("tiny/llama", {"r": 5, "lora_alpha": 4, "use_rslora": True, "target_modules": ["o_proj", "down_proj"]}),
    "llama_patterns": (
        "tiny/llama",
        {
            "r": 4,
            "lora_alpha": 8,
            "target_modules": LLAMA,
            "rank_pattern": {"layers.0.self_attn.q_proj": 2, "down_proj": 7},
            "alpha_pattern": {"model.layers.1.mlp.*": 3.5, "self_attn.(k|v)_proj": 1},
        },
    ),
    "llama_one_layer": ("tiny/llama", {"r": 4, "target_modules": LLAMA, "layers_to_transform": [1]}),
    "llama_head": ("tiny/llama", {"r": 4, "target_modules": ["lm_head", "q_proj"]}),
    "llama_wide": ("tiny/llama", {"r": 70, "lora_alpha": 20, "target_modules": ["v_proj", "down_proj"]}),
    "llama_torch": ("tiny/llama", {"r": 4, "target_modules": ["q_proj", "gate_proj"]}),  # as adapter_model.bin
    "llama_head20": ("tiny/llama_head20", {"r": 4, "target_modules": LLAMA}),
    "llama_tied": ("tiny/llama_tied_biased", {"r": 4, "target_modules": LLAMA}),
    "gpt2": ("tiny/gpt2", {"r": 4, "fan_in_fan_out": True, "target_modules": ["c_attn", "c_proj", "c_fc"]}),
    "gpt_neox": ("families/gpt_neox", {"r": 4, "target_modules": ["query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"]}),
    "phi3": ("families/phi3", {"r": 4, "target_modules": ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]}),
    "gemma2": ("families/gemma2", {"r": 4, "target_modules": LLAMA}),
    "qwen3": ("tiny/qwen3_head24", {"r": 4, "target_modules": "all-linear"}),
    "falcon": ("families/falcon", {"r": 4, "target_modules": ["query_key_value", "dense"]}),
    "gptj": ("families/gptj", {"r": 2, "target_modules": "all-linear"}),
    "opt": ("families/opt", {"r": 2, "target_modules": "all-linear"}),
    "mpt": ("families/mpt", {"r": 2, "target_modules": ["Wqkv", "out_proj", "up_proj", "down_proj"]}),
    "glm4": ("families/glm4", {"r": 2, "target_modules": "all-linear"}),
    "codegen": ("families/codegen", {"r": 2, "target_modules": ["qkv_proj", "out_proj", "fc_in", "fc_out"]}),
    "gpt_bigcode": ("families/gpt_bigcode", {"r": 2, "target_modules": ["c_attn", "c_proj", "c_fc"]}),
    "cohere": ("families/cohere", {"r": 2, "target_modules": "all-linear"}),
    "gemma3_text": ("families/gemma3_text", {"r": 2, "target_modules": "all-linear"}),
    "mixtral_attention": ("families/mixtral", {"r": 2, "target_modules": ["q_proj", "k_proj", "v_proj", "o_proj"]}),
    "bloom": ("families/bloom", {"r": 4, "target_modules": ["query_key_value", "dense_4h_to_h"]}),
    "llama_dora": ("tiny/llama", {"r": 4, "use_dora": True, "target_modules": LLAMA}),
    "llama_dora_biased": ("tiny/llama_tied_biased", {"r": 3, "lora_alpha": 5, "use_dora": True, "target_modules": LLAMA}),
    "gpt2_dora": ("tiny/gpt2", {"r": 4, "use_dora": True, "fan_in_fan_out": True, "target_modules": ["c_attn", "c_proj", "c_fc"]}),
    "phi3_dora": ("families/phi3", {"r": 4, "use_dora": True, "target_modules": ["qkv_proj", "o_proj", "gate_up_proj"]}),
    "llama_lora_bias": ("tiny/llama_tied_biased", {"r": 4, "lora_alpha": 6, "lora_bias": True, "target_modules": LLAMA}),
    "llama_biases": ("tiny/llama_tied_biased", {"r": 4, "bias": "all", "target_modules": LLAMA}),
    "llama_embedding": ("tiny/llama", {"r": 4, "target_modules": ["embed_tokens", "lm_head", "v_proj"]}),
    "gemma2_embedding": ("families/gemma2", {"r": 3, "lora_alpha": 4, "target_modules": ["embed_tokens", "o_proj"]}),
    "llama_saved": ("tiny/llama", {"r": 4, "target_modules": ["q_proj"], "modules_to_save": ["lm_head", "embed_tokens"]}),
    "llama_saved_linear": (
        "tiny/llama_tied_biased",
        {"r": 4, "use_dora": True, "target_modules": ["q_proj", "o_proj", "up_proj"], "modules_to_save": ["k_proj", "down_proj"]},
    ),
    "llama_tokens": ("tiny/llama", {"r": 4, "target_modules": ["v_proj"], "trainable_token_indices": [5, 17, 40]}),
    "llama_alora": ("tiny/llama", {"r": 4, "lora_alpha": 6, "target_modules": LLAMA, "alora_invocation_tokens": [7, 9, 7]}),
    "llama_tied_tokens": ("tiny/llama_tied_biased", {"r": 4, "target_modules": ["v_proj"], "trainable_token_indices": [3, 61, 62]}),
}


def logits_of(model, tokens):
    with torch.no_grad():
        return model(input_ids=tokens, use_cache=False).logits[0].float().contiguous()


def train(name, weight):
    """Gives a weight of the adapter values that have an effect, as training would."""
    if "lora_magnitude_vector" in name:
        weight.mul_(1 + 0.3 * torch.randn_like(weight))
    elif "lora_embedding_A" in name:
        weight.copy_(torch.randn_like(weight) * 0.5)
    elif "lora_B" in name and name.endswith("bias"):
        weight.copy_(torch.randn_like(weight) * 0.1)
    elif "lora_" in name:
        weight.copy_(torch.randn_like(weight) * 0.5 / weight.shape[1] ** 0.5)
    elif weight.requires_grad:  # a bias, a whole module, rows of the embedding
        weight.add_(torch.randn_like(weight) * 0.3 * (weight.std() + 0.01))


def make(name, base, options):
    torch.manual_seed(sum(name.encode()))
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    model = hf.AutoModelForCausalLM.from_pretrained(GOLDEN / base, dtype=torch.float32, attn_implementation="eager").eval()
    tokens = torch.randint(3, model.config.vocab_size, (1, TOKENS))
    invocation = torch.tensor(options.get("alora_invocation_tokens", []), dtype=torch.int64)
    for place in (3, TOKENS - 9):  # the last one counts
        tokens[0, place : place + len(invocation)] = invocation
    plain = logits_of(model, tokens)
    adapted = peft.get_peft_model(model, peft.LoraConfig(task_type="CAUSAL_LM", **options)).eval()
    with torch.no_grad():
        for module, weight in adapted.named_parameters():
            train(module, weight)
    expected = logits_of(adapted, tokens)
    if len(invocation) > 0:
        assert torch.equal(expected[: TOKENS - 9], plain[: TOKENS - 9]) and not torch.equal(expected[TOKENS - 9], plain[TOKENS - 9])
    changed = ((expected - plain).abs().max() / plain.abs().max()).item()
    assert changed > 0.02, f"{name}: the adapter changes the logits by {changed:.1e} of the largest"
    adapted.save_pretrained(folder, safe_serialization=not name.endswith("_torch"))
    (folder / "README.md").unlink(missing_ok=True)
    (folder / "base").write_text(base + "\n")
    config = json.loads((folder / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = base
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")
    (folder / "expected.json").write_text(json.dumps({"tokens": tokens[0].tolist()}) + "\n")
    save_file({"logits": expected}, folder / "expected.safetensors")
    print(f"{name}: {sum(f.stat().st_size for f in folder.iterdir())} bytes, logits changed by {changed:.2f} of the largest")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*ADAPTERS, []])
    for chosen in parser.parse_args().names or ADAPTERS:
        make(chosen, *ADAPTERS[chosen])
