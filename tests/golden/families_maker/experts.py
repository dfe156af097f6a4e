"""Mixtures whose routers are a softmax, of all experts or of the chosen."""

from .mixtures import LOCAL, PREFIX, SIZES, experts, merged, wide_bias
from .shared import FULL, SLIDING, theta
from .spelling import old

MOE = {**SIZES, "num_experts": 7, "num_experts_per_tok": 3, "moe_intermediate_size": 12}
OLMOE = {**SIZES, "num_key_value_heads": 3, "num_experts": 6, "num_experts_per_tok": 3, "intermediate_size": 12}
MULTIPLIERS = dict(embedding_multiplier=6.0, attention_multiplier=0.2, residual_multiplier=0.4, logits_scaling=0.5)
ERNIE = {**SIZES, "num_hidden_layers": 3, "moe_num_experts": 6, "moe_k": 2, "moe_intermediate_size": 8}
ALPHA = {"rope_type": "dynamic", "rope_theta": 100.0, "alpha": 1000.0, "factor": 1.0}
COHERE = {k: v for k, v in PREFIX.items() if k != "rms_norm_eps"}
COHERE |= {"layer_norm_eps": 0.03125, "logit_scale": 0.25, "sliding_window": 9, "intermediate_size": 8, "prefix_dense_intermediate_size": 20}
COHERE |= {"layer_types": [FULL, SLIDING, FULL], "mlp_layer_types": ["dense", "sparse", "sparse"], "tie_word_embeddings": True, "rope_theta": 10000.0}
COHERE_INERT = {"pattern": "layer_types says it", "^rope_theta": "copied"}


def hub_num_experts(c, **more):
    return old({k: v for k, v in c.items() if k != "num_local_experts"}, num_experts=c.get("num_experts", c.get("num_local_experts")), **more)


def hub_ernie(c, **more):
    rest = dict(moe_capacity=[64, 64, 64], moe_gate="topk", moe_use_aux_free=True, num_nextn_predict_layers=1)
    end = () if more else ("moe_layer_end_index",)
    return old(c, omit=("rope_scaling", "moe_norm_min", *end), **rest, **more)


def hub_hunyuan(c):
    layers = c["num_hidden_layers"]
    out = old(
        c,
        rope="type",
        attention_head_dim=c["head_dim"],
        cla_share_factor=2,
        moe_drop_tokens=False,
        moe_intermediate_size=[c["intermediate_size"]] * layers,
        moe_layer_num_skipped=0,
        moe_topk=[c["moe_topk"]] * layers,
        n_group=False,
        norm_topk_prob=True,
        norm_type="rms",
        num_shared_expert=[1] * layers,
        routed_scaling_factor=False,
        topk_group=False,
        use_cla=False,
        use_mixed_mlp_moe=True,
        use_qk_norm=True,
    )
    out["rope_scaling"] |= dict(beta_fast=32, beta_slow=1, mscale=1.0, mscale_all_dim=1.0)
    return out


def hub_cohere(c, **more):
    omit = ("mlp_layer_types", "rope_scaling", "tie_word_embeddings")
    return old(c, omit=omit, first_k_dense_replace=1, **more)


MIXTRAL = experts(
    "Mixtral",
    {**LOCAL, **theta(1e6)},
    hub=lambda c: old(c, omit=("head_dim", "rope_scaling", "pad_token_id", "router_jitter_noise")),
    inert={"router_jitter_noise": "of training"},
)
QWEN3 = experts(
    "Qwen3Moe",
    {**MOE, "head_dim": 12, "norm_topk_prob": True, **theta(1e6)},
    hub=lambda c: hub_num_experts(c, max_window_layers=48),
    inert={"sliding_window": "no window"},
)
FAMILIES = {
    "mixtral": MIXTRAL,
    "mixtral_merged": merged(MIXTRAL, gguf="that of mixtral is enough"),
    "qwen3_moe": QWEN3,
    "qwen3_moe_merged": merged(QWEN3, gguf="that of qwen3_moe is enough"),
    "qwen2_moe": experts(
        "Qwen2Moe",
        {**MOE, "num_experts": 6, "shared_expert_intermediate_size": 16, "norm_topk_prob": False, **theta(1e6)},
        hub=lambda c: old(c, omit=("layer_types", "rope_scaling", "qkv_bias", "mlp_only_layers"), sliding_window=32768),
        inert={"sliding_window|max_window_layers": "no window"},
    ),
    # Dense layers between: each second one is sparse, and of these the last is listed as dense.
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
        hub=lambda c: old(c, omit=("rope_scaling", "qkv_bias")),
        inert={"max_window_layers|use_sliding_window": "layer_types says it"},
        gguf="llama.cpp wants experts in each layer",
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
    "ernie4_5_moe": experts(
        "Ernie4_5_Moe",
        {**ERNIE, "moe_num_shared_experts": 2, "tie_word_embeddings": True, **theta(500000.0)},
        spread=[("e_score_correction_bias", 0.0, 0.1)],
        hub=hub_ernie,
        hub_tensors=wide_bias,
        inert={"moe_norm_min": "only for sums near 0", "moe_layer_end_index": "the last"},
    ),
    "ernie4_5_moe_steps": experts(
        "Ernie4_5_Moe",
        {**ERNIE, "num_hidden_layers": 4, "moe_num_shared_experts": 0, "moe_layer_interval": 2, "moe_layer_end_index": 2, "use_bias": True}
        | {"tie_word_embeddings": False, **theta(500000.0)},
        spread=[("e_score_correction_bias", 0.0, 0.1)],
        hub=lambda c: hub_ernie(c, moe_layer_end_index=2),
        inert={"moe_norm_min": "only for sums near 0", "moe_num_shared_experts": "none"},
        gguf="GGUF has no key for the last sparse layer",
    ),
    "hunyuan_v1_moe": experts(
        "HunYuanMoEV1",
        {**SIZES, "num_experts": 6, "moe_topk": 2, "intermediate_size": 12, "head_dim": 8, "tie_word_embeddings": True}
        | {"max_position_embeddings": 32768, "rope_parameters": ALPHA},
        hub=hub_hunyuan,
        hub_differs=("moe_topk",),
        # What the converter makes of the real alpha, which it only takes for heads of 128.
        gguf_fields=theta(100.0 * 1000.0 ** (8 / 6)),
        inert={"rope_parameters.(factor|beta|mscale)": "alpha is all that counts", "sep_token_id": "a token"},
    ),
    "mellum": experts(
        "Mellum",
        {**PREFIX, "moe_intermediate_size": 8, "sliding_window": 9, "layer_types": [SLIDING, SLIDING, FULL], "norm_topk_prob": True}
        | {"rope_parameters": {FULL: {"rope_type": "default", "rope_theta": 500000.0}, SLIDING: {"rope_type": "default", "rope_theta": 100.0}}},
        hub=lambda c: {k: v for k, v in c.items() if k != "num_local_experts"} | {"num_experts": 6, "use_sliding_window": True},
    ),
    "flex_olmo": experts(
        "FlexOlmo",
        {**OLMOE, "num_key_value_heads": 1, "norm_topk_prob": False, **theta(500000.0)},
        spread=[("down_proj$", 0.0, 0.06)],  # else the norm behind takes the weights' sum away
        hub=lambda c: old(c),
        gguf="llama.cpp's converter does not know it",
    ),
    "cohere2_moe": experts(
        "Cohere2Moe",
        {**COHERE, "expert_selection_fn": "sigmoid", "norm_topk_prob": True, "num_shared_experts": 2},
        spread=[("embed_tokens", 0.0, 0.3)],
        hub=hub_cohere,
        inert=COHERE_INERT,
    ),
    "cohere2_moe_softmax": experts(
        "Cohere2Moe",
        {**COHERE, "expert_selection_fn": "softmax", "num_shared_experts": 1, "shared_expert_combination_strategy": "sum", "rms_norm_eps": 0.03125},
        spread=[("embed_tokens", 0.0, 0.3)],
        hub=hub_cohere,
        inert={**COHERE_INERT, "layer_norm_eps": "of the other norm", "norm_topk_prob": "of the sigmoid"},
        gguf="the converter knows only the mean",
    ),
}
