#!/usr/bin/env python3
"""Makes adapters of the tiny checkpoints in tests/golden with PEFT, and the float32 logits of the models with them.

Run by hand with the names of the adapters to make (none: all); the results are committed, so that the tests need none of this:
    make_adapters.py [NAME | merged/NAME ...]
Needs torch, transformers >= 5.23, peft >= 0.21, safetensors. Those named *_peft018 are made where peft is 0.18, the others are not.

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
EXPERTS = ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]
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
    "mixtral_experts": ("families/mixtral", {"r": 3, "lora_alpha": 4, "target_modules": ["q_proj"], "target_parameters": EXPERTS}),
    "mixtral_router": ("families/mixtral", {"r": 2, "target_modules": [], "target_parameters": ["gate.weight", "experts.down_proj"]}),
    "qwen3_moe_experts": (
        "families/qwen3_moe",
        {
            "r": 4,
            "use_rslora": True,
            "target_modules": ["o_proj"],
            "target_parameters": EXPERTS,
            "rank_pattern": {"layers.1.mlp.experts.down_proj": 5},
            "alpha_pattern": {"mlp.experts.gate_up_proj": 3},
        },
    ),
    "qwen2_moe_experts": (
        "families/qwen2_moe",
        {"r": 2, "target_modules": ["shared_expert.up_proj", "shared_expert.down_proj", "shared_expert_gate"], "target_parameters": EXPERTS},
    ),
    # PEFT before 0.19 takes outputs for inputs: made with 0.18, the others with a later one
    "mixtral_peft018": ("families/mixtral", {"r": 3, "target_modules": ["o_proj"], "target_parameters": EXPERTS[:1]}),
    "qwen3_moe_peft018": ("families/qwen3_moe", {"r": 2, "lora_alpha": 3, "target_modules": ["o_proj"], "target_parameters": EXPERTS}),
    "gpt_oss_experts": ("families/gpt_oss", {"r": 3, "target_modules": ["v_proj"], "target_parameters": EXPERTS}),
    "llama4_experts": ("families/llama4_text", {"r": 3, "target_modules": ["v_proj"], "target_parameters": [e.replace("mlp", "feed_forward") for e in EXPERTS]}),
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

# Adapters as PEFT wrote them while Transformers had a linear layer for each expert; PEFT of today converts them as it loads them.
# name: (base, layer's mixture, target modules of the experts, of which the last one reads the hidden layer, others, configuration)
APART = {
    "mixtral_apart": (
        "families/mixtral",
        "block_sparse_moe",
        ["w1", "w3", "w2"],
        {"block_sparse_moe.gate": (6, 24), "self_attn.v_proj": (8, 24)},
        {"r": 3, "lora_alpha": 4},
    ),
    "qwen3_moe_apart": ("families/qwen3_moe", "mlp", ["gate_proj", "up_proj", "down_proj"], {}, {"r": 4, "lora_alpha": 6}),
}

# What requests cannot have and `millrace lora merge` takes, in tests/golden/merged_adapters: (base, new tokens, configuration)
MERGED = {
    "llama_norms": ("tiny/llama", 0, {"r": 4, "target_modules": ["q_proj"], "modules_to_save": ["input_layernorm", "norm"]}),
    "qwen3_norms": ("tiny/qwen3_head24", 0, {"r": 4, "target_modules": ["v_proj"], "modules_to_save": ["q_norm", "k_norm", "post_attention_layernorm"]}),
    "gemma2_norms": ("families/gemma2", 0, {"r": 4, "target_modules": ["o_proj"], "modules_to_save": ["pre_feedforward_layernorm", "norm"]}),
    "gpt2_norms": ("tiny/gpt2", 0, {"r": 4, "fan_in_fan_out": True, "target_modules": ["c_attn"], "modules_to_save": ["ln_1", "ln_f"]}),
    "llama_tokens": ("tiny/llama", 3, {"r": 4, "target_modules": ["q_proj"], "modules_to_save": ["embed_tokens", "lm_head"]}),
    "llama_tokens_lora": ("tiny/llama", 2, {"r": 4, "target_modules": ["embed_tokens", "lm_head", "v_proj"]}),
    "llama_tied_tokens": ("tiny/llama_tied_biased", 5, {"r": 4, "target_modules": ["v_proj"]}),
    "llama_layers": ("tiny/llama", 0, {"r": 4, "target_modules": LLAMA, "layer_replication": [[0, 2], [1, 2], [0, 1]]}),
    "llama_tied_layers": (
        "tiny/llama_tied_biased",
        0,
        {"r": 3, "use_dora": True, "target_modules": ["q_proj", "down_proj"], "layer_replication": [[1, 2], [0, 2]], "rank_pattern": {"layers.2.mlp.down_proj": 5}},
    ),
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


def base_model(base, options, new_tokens=0):
    model = hf.AutoModelForCausalLM.from_pretrained(GOLDEN / base, dtype=torch.float32, attn_implementation="eager").eval()
    if new_tokens:
        model.resize_token_embeddings(model.config.vocab_size + new_tokens)
    tokens = torch.randint(3, model.config.vocab_size, (1, TOKENS))
    invocation = torch.tensor(options.get("alora_invocation_tokens", []), dtype=torch.int64)
    for place in (3, TOKENS - 9):  # the last one counts
        tokens[0, place : place + len(invocation)] = invocation
    for i in range(new_tokens):
        tokens[0, 2 * i] = model.config.vocab_size - 1 - i
    return model, tokens, logits_of(model, tokens)


def finish(folder, name, base, tokens, plain, expected):
    changed = ((expected - plain).abs().max() / plain.abs().max()).item()
    assert changed > 0.02, f"{name}: the adapter changes the logits by {changed:.1e} of the largest"
    (folder / "README.md").unlink(missing_ok=True)
    (folder / "base").write_text(base + "\n")
    config = json.loads((folder / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = base
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")
    (folder / "expected.json").write_text(json.dumps({"tokens": tokens[0].tolist()}) + "\n")
    save_file({"logits": expected}, folder / "expected.safetensors")
    print(f"{name}: {sum(f.stat().st_size for f in folder.iterdir())} bytes, logits changed by {changed:.2f} of the largest")


def make(folder, name, base, options, new_tokens=0):
    torch.manual_seed(sum(name.encode()))
    shutil.rmtree(folder, ignore_errors=True)
    model, tokens, plain = base_model(base, options, new_tokens)
    adapted = peft.get_peft_model(model, peft.LoraConfig(task_type="CAUSAL_LM", **options)).eval()
    with torch.no_grad():
        for module, weight in adapted.named_parameters():
            train(module, weight)
    expected = logits_of(adapted, tokens)
    if "alora_invocation_tokens" in options:
        assert torch.equal(expected[: TOKENS - 9], plain[: TOKENS - 9]) and not torch.equal(expected[TOKENS - 9], plain[TOKENS - 9])
    adapted.save_pretrained(folder, safe_serialization=not name.endswith("_torch"))
    finish(folder, name, base, tokens, plain, expected)


def make_apart(name, base, mixture, experts, others, options):
    torch.manual_seed(sum(name.encode()))
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    model, tokens, plain = base_model(base, options)
    config = model.config
    width, hidden = getattr(config, "moe_intermediate_size", config.intermediate_size), config.hidden_size
    tensors = {}
    for layer in range(config.num_hidden_layers):
        shapes = dict(others)
        for e in range(config.num_local_experts):
            for target in experts:
                shapes[f"{mixture}.experts.{e}.{target}"] = (hidden, width) if target == experts[-1] else (width, hidden)
        for module, (rows, cols) in shapes.items():
            prefix = f"base_model.model.model.layers.{layer}.{module}"
            tensors[f"{prefix}.lora_A.weight"] = torch.randn(options["r"], cols) * 0.5 / cols**0.5
            tensors[f"{prefix}.lora_B.weight"] = torch.randn(rows, options["r"]) * 0.5 / options["r"] ** 0.5
    targets = [*experts, *(module.split(".")[-1] for module in others)]
    peft.LoraConfig(task_type="CAUSAL_LM", target_modules=targets, inference_mode=True, **options).save_pretrained(folder)
    save_file(tensors, folder / "adapter_model.safetensors")
    expected = logits_of(peft.PeftModel.from_pretrained(model, folder).eval(), tokens)
    finish(folder, name, base, tokens, plain, expected)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    chosen = parser.parse_args().names
    wanted = {*ADAPTERS, *APART, *(f"merged/{name}" for name in MERGED)}
    if unknown := set(chosen) - wanted:
        parser.error(f"no adapters: {', '.join(sorted(unknown))}")
    for name in chosen or sorted(wanted):
        if name.endswith("_peft018") != peft.__version__.startswith("0.18."):
            print(f"{name}: not made with peft {peft.__version__}")
        elif name in ADAPTERS:
            make(OUT / name, name, *ADAPTERS[name])
        elif name in APART:
            make_apart(name, *APART[name])
        else:
            base, new_tokens, options = MERGED[name.removeprefix("merged/")]
            make(GOLDEN / "merged_adapters" / name.removeprefix("merged/"), name.removeprefix("merged/"), base, options, new_tokens)
