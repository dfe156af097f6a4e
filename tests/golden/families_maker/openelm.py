"""OpenELM: other numbers of heads and another width of the MLP in each layer.

Transformers has no class of it (its code comes with the model). Its layers are those of Qwen 3, each made with its own sizes, with q, k and v in one
tensor and gate and up in another."""

import copy

import torch
from transformers.models.qwen3.modeling_qwen3 import Qwen3DecoderLayer

from .family import Family
from .shared import theta

QUERY_HEADS, KEY_HEADS, HEAD, HIDDEN = (2, 4, 6), (1, 2, 2), 8, 40
MULTIPLIERS, DIVISOR = (0.5, 1.1, 0.7), 8
WIDTHS = (24, 48, 32)  # of the MLP: multiplier · hidden size, rounded to a multiple of the divisor


def own_layers(model):
    for i, (query, key, width) in enumerate(zip(QUERY_HEADS, KEY_HEADS, WIDTHS)):
        config = copy.copy(model.config)
        config.num_attention_heads, config.num_key_value_heads, config.intermediate_size = query, key, width
        model.model.layers[i] = Qwen3DecoderLayer(config, i).eval()


def config_file(c):
    return {
        "activation_fn_name": "swish",
        "architectures": ["OpenELMForCausalLM"],
        "auto_map": {"AutoConfig": "configuration_openelm.OpenELMConfig", "AutoModelForCausalLM": "modeling_openelm.OpenELMForCausalLM"},
        "bos_token_id": 1,
        "eos_token_id": 2,
        "ffn_dim_divisor": DIVISOR,
        "ffn_multipliers": list(MULTIPLIERS),
        "ffn_with_glu": True,
        "head_dim": HEAD,
        "initializer_range": 0.02,
        "max_context_length": c["max_position_embeddings"],
        "model_dim": HIDDEN,
        "model_type": "openelm",
        "normalization_layer_name": "rms_norm",
        "normalize_qk_projections": True,
        "num_gqa_groups": 2,
        "num_kv_heads": list(KEY_HEADS),
        "num_query_heads": list(QUERY_HEADS),
        "num_transformer_layers": len(QUERY_HEADS),
        "qkv_multipliers": [0.5, 1.0],
        "rope_freq_constant": 10000,
        "rope_max_length": 2 * c["max_position_embeddings"],
        "share_input_output_layers": True,
        "torch_dtype": "bfloat16",
        "transformers_version": "4.39.3",
        "use_cache": True,
        "vocab_size": c["vocab_size"],
    }


def hub_tensors(tensors):
    out = {"transformer.token_embeddings.weight": tensors["model.embed_tokens.weight"], "transformer.norm.weight": tensors["model.norm.weight"]}
    for i in range(len(QUERY_HEADS)):
        own, hub = f"model.layers.{i}.", f"transformer.layers.{i}."
        out[hub + "attn.qkv_proj.weight"] = torch.cat([tensors[f"{own}self_attn.{x}_proj.weight"] for x in "qkv"])
        out[hub + "ffn.proj_1.weight"] = torch.cat([tensors[f"{own}mlp.{x}_proj.weight"] for x in ("gate", "up")])
        for ours, theirs in (
            ("self_attn.q_norm", "attn.q_norm"),
            ("self_attn.k_norm", "attn.k_norm"),
            ("self_attn.o_proj", "attn.out_proj"),
            ("mlp.down_proj", "ffn.proj_2"),
            ("input_layernorm", "attn_norm"),
            ("post_attention_layernorm", "ffn_norm"),
        ):
            out[f"{hub}{theirs}.weight"] = tensors[f"{own}{ours}.weight"]
    return out


FAMILIES = {
    "openelm": Family(
        "Qwen3",
        dict(
            vocab_size=47,
            hidden_size=HIDDEN,
            num_hidden_layers=len(QUERY_HEADS),
            head_dim=HEAD,
            max_position_embeddings=64,
            rms_norm_eps=1e-6,
            tie_word_embeddings=True,
            **theta(10000.0),
        ),
        reshape=own_layers,
        remote_config=config_file,
        hub_tensors=hub_tensors,
        inert={"max_window_layers|use_sliding": "not of this family"},
    )
}
