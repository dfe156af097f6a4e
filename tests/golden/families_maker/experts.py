"""Mixtures of experts."""

from .family import Family
from .shared import theta
from .spelling import old

SIZES = dict(
    vocab_size=47,
    hidden_size=24,
    intermediate_size=20,
    num_hidden_layers=2,
    num_attention_heads=3,
    num_key_value_heads=1,
    max_position_embeddings=64,
    rms_norm_eps=0.03125,
    bos_token_id=1,
    eos_token_id=2,
    pad_token_id=0,
)
MOE = {**SIZES, "num_experts": 7, "num_experts_per_tok": 3, "moe_intermediate_size": 12}
OLMOE = {**SIZES, "num_key_value_heads": 3, "num_experts": 7, "num_experts_per_tok": 3, "intermediate_size": 12}
LOCAL = {**SIZES, "num_local_experts": 6, "num_experts_per_tok": 2, "intermediate_size": 12}
MULTIPLIERS = dict(embedding_multiplier=6.0, attention_multiplier=0.2, residual_multiplier=0.4, logits_scaling=0.5)
# Scores far enough from each other, and not so far that the last chosen expert weighs nothing.
ROUTER = (r"(gate|router|wg)\.weight$", 0.0, 0.4)


def experts(config, fields, spread=(), inert={}, **more):
    return Family(
        config,
        fields,
        **{"saved": True, "margin": 1e-3, "tokens": 24, **more},
        spread=[*spread, ROUTER],
        inert=inert,
    )


def merged(family, **more):
    """The same checkpoint, whose experts are one tensor as they are in the memory of Transformers 5."""
    return Family(**{**vars(family), "saved": False, **more})


def hub_num_experts(c, **more):
    return old({k: v for k, v in c.items() if k != "num_local_experts"}, num_experts=c.get("num_experts", c.get("num_local_experts")), **more)


FAMILIES = {
    "mixtral": experts(
        "Mixtral",
        {**LOCAL, **theta(1e6)},
        hub=lambda c: old(c, omit=("head_dim", "rope_scaling", "pad_token_id", "router_jitter_noise")),
        inert={"router_jitter_noise": "of training"},
    ),
    "qwen3_moe": experts(
        "Qwen3Moe",
        {**MOE, "head_dim": 12, "norm_topk_prob": True, **theta(1e6)},
        hub=lambda c: hub_num_experts(c, max_window_layers=48),
        inert={"sliding_window": "no window"},
    ),
    "qwen2_moe": experts(
        "Qwen2Moe",
        {**MOE, "shared_expert_intermediate_size": 16, "norm_topk_prob": False, **theta(1e6)},
        hub=lambda c: old(c, omit=("layer_types", "rope_scaling", "qkv_bias", "mlp_only_layers"), sliding_window=32768),
        inert={"sliding_window|max_window_layers": "no window"},
    ),
    # The converter writes an epsilon of 1e-5, whatever the file says, and leaves the clip out.
    "olmoe": experts("Olmoe", {**OLMOE, "rms_norm_eps": 1e-5, "norm_topk_prob": False, **theta(10000.0)}, hub=lambda c: old(c)),
    "olmoe_clip": experts(
        "Olmoe",
        {**OLMOE, "num_key_value_heads": 1, "clip_qkv": 1.0, "norm_topk_prob": True, **theta(10000.0)},
        hub=lambda c: old(c),
        gguf="the converter leaves the clip out",
    ),
    "granitemoe": experts(
        "GraniteMoe",
        {**LOCAL, **MULTIPLIERS, "tie_word_embeddings": True, **theta(10000.0)},
        spread=[("embed_tokens", 0.0, 0.1)],
        hub=lambda c: old(c),
    ),
    "granitemoeshared": experts(
        "GraniteMoeShared",
        {**LOCAL, **MULTIPLIERS, "shared_intermediate_size": 16, "tie_word_embeddings": True, **theta(10000.0)},
        spread=[("embed_tokens", 0.0, 0.1)],
        hub=lambda c: old(c),
    ),
}
# Dense layers between: each second one is sparse, and of these the last is listed as dense.
FAMILIES |= {
    "qwen2_moe_steps": experts(
        "Qwen2Moe",
        {
            **MOE,
            "num_hidden_layers": 4,
            "num_experts": 6,
            "num_experts_per_tok": 2,
            "shared_expert_intermediate_size": 8,
            "norm_topk_prob": True,
            "decoder_sparse_step": 2,
            "mlp_only_layers": [3],
            "use_sliding_window": True,
            "sliding_window": 9,
            "max_window_layers": 3,
            **theta(1e6),
        },
        hub=lambda c: old(c, omit=("layer_types", "rope_scaling", "qkv_bias")),
        inert={"max_window_layers|use_sliding_window": "layer_types says it"},
        gguf="llama.cpp wants experts in each layer",
    ),
    "qwen3_moe_merged": merged(FAMILIES["qwen3_moe"], gguf="that of qwen3_moe is enough"),
}
