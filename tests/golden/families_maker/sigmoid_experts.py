"""Mixtures whose routers are a sigmoid, with a bias that counts only for the choice."""

from .mixtures import CHOICE, LOCAL, ONE_GROUP, PREFIX, SIZES, experts, wide_bias, with_predictor
from .shared import FULL, SLIDING, YARN, theta
from .spelling import old

# The first layer dense, the others with experts by a sigmoid.
SPARSE = {**SIZES, "num_hidden_layers": 3, "first_k_dense_replace": 1, "n_routed_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 8}
SPARSE |= {"n_shared_experts": 2, "norm_topk_prob": True, "routed_scaling_factor": 1.5, "n_group": 1, "topk_group": 1}
GROUPS = {"n_routed_experts": 8, "num_experts_per_tok": 3, "n_group": 4, "topk_group": 2}
LAGUNA = {**PREFIX, "moe_intermediate_size": 8, "shared_expert_intermediate_size": 12, "num_attention_heads_per_layer": [2, 1, 3]}
LAGUNA |= {"hidden_size": 16, "num_attention_heads": 2, "head_dim": 16, "moe_routed_scaling_factor": 1.5}
LAGUNA |= {"sliding_window": 9, "layer_types": [FULL, SLIDING, SLIDING]}
LAGUNA_ROPE = {
    FULL: {**YARN, "beta_slow": 0.5, "partial_rotary_factor": 0.5},
    SLIDING: {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 1.0},
}
MIMO = {**PREFIX, "n_routed_experts": 6, "moe_intermediate_size": 8, "hidden_size": 16, "head_dim": 12, "v_head_dim": 8, "num_attention_heads": 4}
MIMO = {k: v for k, v in MIMO.items() if k != "num_experts"}
MIMO |= {"sliding_window": 9, "layer_types": [FULL, SLIDING, SLIDING], "mlp_layer_types": ["dense", "sparse", "sparse"]}
MIMO |= {
    "rope_parameters": {
        FULL: {"rope_type": "default", "rope_theta": 100000.0, "partial_rotary_factor": 0.334},
        SLIDING: {"rope_type": "default", "rope_theta": 1000.0, "partial_rotary_factor": 0.334},
    }
}


def hub_mimo(c):
    """The patterns and what the windows have otherwise in fields of their own, the window without the token itself."""
    window, full = (c["rope_parameters"][kind] for kind in (SLIDING, FULL))
    kept = ("hidden_act", "hidden_size", "initializer_range", "intermediate_size", "max_position_embeddings", "moe_intermediate_size", "n_group")
    kept += ("attention_bias", "attention_dropout", "attention_value_scale", "head_dim", "n_routed_experts", "norm_topk_prob", "num_attention_heads")
    kept += ("num_experts_per_tok", "num_hidden_layers", "num_key_value_heads", "tie_word_embeddings", "topk_group", "use_cache", "v_head_dim")
    kept += ("architectures", "vocab_size", "model_type", "bos_token_id", "eos_token_id", "pad_token_id")
    size = c["sliding_window"] - 1
    rest = dict(
        add_full_attention_sink_bias=False,
        add_swa_attention_sink_bias=True,
        attention_chunk_size=size,
        hybrid_block_size=None,
        hybrid_layer_pattern=[int(kind == SLIDING) for kind in c["layer_types"]],
        layernorm_epsilon=c["rms_norm_eps"],
        moe_layer_freq=[int(kind == "sparse") for kind in c["mlp_layer_types"]],
        n_shared_experts=None,
        partial_rotary_factor=full["partial_rotary_factor"],
        rope_theta=full["rope_theta"],
        routed_scaling_factor=None,
        scoring_func="sigmoid",
        sliding_window=size,
        sliding_window_size=size,
        swa_head_dim=c["head_dim"],
        swa_num_attention_heads=c["num_attention_heads"],
        swa_num_key_value_heads=2 * c["num_key_value_heads"],
        swa_rope_theta=window["rope_theta"],
        swa_v_head_dim=c["v_head_dim"],
        topk_method="noaux_tc",
        torch_dtype="bfloat16",
        transformers_version="4.40.1",
    )
    return dict(sorted(({k: c[k] for k in kept} | rest).items()))


FAMILIES = {
    "glm4_moe": experts(
        "Glm4Moe",
        {**SPARSE, "head_dim": 8, "attention_bias": True, "use_qk_norm": False, "num_nextn_predict_layers": 1, **theta(1e6, partial_rotary_factor=0.5)},
        spread=[CHOICE],
        hub=lambda c: old({k: v for k, v in c.items() if k != "num_mtp_layers"}, num_nextn_predict_layers=1),
        hub_tensors=with_predictor("model.layers.3."),
        ignored=r"^model\.layers\.3\.",
        gguf_made=r"^blk\.3\.",
        inert={**ONE_GROUP, "num_nextn_predict_layers": "of speculation"},
    ),
    "glm4_moe_qk_norm": experts(
        "Glm4Moe",
        {**SPARSE, **GROUPS, "num_hidden_layers": 2, "head_dim": 12, "attention_bias": True, "use_qk_norm": True, "num_nextn_predict_layers": 0}
        | theta(1e6, partial_rotary_factor=0.5),
        spread=[CHOICE],
        hub=lambda c: old({k: v for k, v in c.items() if k != "num_mtp_layers"}, num_nextn_predict_layers=0),
        hub_tensors=wide_bias,
        inert={"num_nextn_predict_layers": "of speculation"},
    ),
    "dots1": experts(
        "Dots1",
        {**SPARSE, "num_hidden_layers": 2, "num_key_value_heads": 3, "sliding_window": None, "norm_topk_prob": False}
        | {"routed_scaling_factor": 0.75, **theta(1e7)},
        spread=[CHOICE],
        hub=lambda c: old(c, omit=("layer_types",), moe_layer_freq=1, scoring_func="noaux_tc", pretraining_tp=1),
        gguf_fields={"scoring_func": "sigmoid"},  # what it does not know the hub's word for
        inert={**ONE_GROUP, "max_window_layers": "no window"},
    ),
    "minimax_m2": experts(
        "MiniMaxM2",
        {**LOCAL, "head_dim": 12, **theta(5e6, partial_rotary_factor=0.5)},
        spread=[CHOICE],
        hub=lambda c: old(
            c,
            omit=("partial_rotary_factor", "rope_scaling", "router_jitter_noise"),
            rotary_dim=6,
            attn_type_list=[1] * 2,
            num_mtp_modules=3,
            mtp_transformer_layers=1,
            qk_norm_type="per_layer",
            scoring_func="sigmoid",
            shared_intermediate_size=0,
            use_mtp=True,
            use_qk_norm=True,
            use_routing_bias=True,
        ),
        hub_tensors=wide_bias,
        inert={"router_jitter_noise": "of training"},
    ),
    "hy_v3": experts(
        "HYV3",
        {**SIZES, "num_hidden_layers": 2, "num_experts": 6, "num_experts_per_tok": 3, "moe_intermediate_size": 12, "head_dim": 12}
        | {"num_shared_experts": 1, "router_scaling_factor": 2.826, **theta(11158840.0)},
        spread=[CHOICE],
        inert={"enable_moe_fp32_combine": "all is in 32 bits", "mlp_bias": "not read"},
    ),
    "afmoe": experts(
        "Afmoe",
        {**SIZES, "num_hidden_layers": 4, "num_dense_layers": 1, "num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 8}
        | {"hidden_size": 16, "num_attention_heads": 2, "num_shared_experts": 2, "head_dim": 8, "route_scale": 1.5, "sliding_window": 9}
        | {"mup_enabled": True, **theta(10000.0)},
        spread=[CHOICE, ("embed_tokens", 0.0, 0.25)],
        hub=lambda c: old(
            c,
            load_balance_coeff=0.001,
            n_group=1,
            num_expert_groups=1,
            num_limited_groups=1,
            route_norm=True,
            score_func="sigmoid",
            topk_group=1,
            use_grouped_mm=True,
        ),
        inert={"global_attn_every_n_layers": "layer_types says it"},
    ),
    "exaone_moe": experts(
        "ExaoneMoe",
        {**SIZES, "num_hidden_layers": 3, "first_k_dense_replace": 1, "num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 8}
        | {"num_shared_experts": 1, "head_dim": 8, "routed_scaling_factor": 2.5, "sliding_window": 9, "layer_types": [SLIDING, FULL, SLIDING]}
        | {"sliding_window_pattern": "LGL", **theta(1e6)},
        spread=[CHOICE],
        hub=lambda c: {
            **c,
            "architectures": ["ExaoneMoEForCausalLM"],
            "is_moe_layer": [False, True, True],
            "num_nextn_predict_layers": 0,
            "scoring_func": "sigmoid",
            "topk_method": "noaux_tc",
        },
        inert={**ONE_GROUP, "sliding_window_pattern": "layer_types says it", "first_k_dense_replace": "mlp_layer_types says it"},
    ),
    "laguna": experts(
        "Laguna",
        {**LAGUNA, "gating": True, "rope_parameters": LAGUNA_ROPE, "max_position_embeddings": 128},
        spread=[CHOICE],
        hub_tensors=wide_bias,
        inert={"softcapping": "none", "moe_apply_router": "refused"},
    ),
    "laguna_element": experts(
        "Laguna",
        {**LAGUNA, "num_hidden_layers": 2, "num_attention_heads_per_layer": [3, 2], "layer_types": [FULL, SLIDING], "gating": "per-element"}
        | {"moe_router_logit_softcapping": 1.5, "rope_parameters": {**LAGUNA_ROPE, FULL: {**LAGUNA_ROPE[SLIDING], "rope_theta": 500000.0}}},
        spread=[CHOICE],
        gguf="GGUF has no key for the cap of the router",
    ),
    "solar_open": experts(
        "SolarOpen",
        {k: v for k, v in SPARSE.items() if k not in ("first_k_dense_replace", "intermediate_size")}
        | {"num_hidden_layers": 2, "n_shared_experts": 1, "head_dim": 8, "max_position_embeddings": 128, "rope_parameters": {**YARN, "beta_slow": 0.5}},
        spread=[CHOICE],
        hub=lambda c: old(c, first_k_dense_replace=0, intermediate_size=20, partial_rotary_factor=1.0, use_qk_norm=False),
        inert=ONE_GROUP,
    ),
    "mimo_v2": experts(
        "MiMoV2Flash",
        MIMO,
        spread=[CHOICE, ("sinks", 0.5, 0.5)],
        hub=hub_mimo,
        hub_misread="Transformers 5.24 takes bases, patterns and the epsilon of the real models",
        hub_tensors=with_predictor("model.mtp.layers.0."),
        ignored=r"^model\.mtp\.",
        # Which the converter gets so from earlier versions of Transformers.
        gguf_fields={"rope_parameters": {**MIMO["rope_parameters"][FULL], SLIDING: MIMO["rope_parameters"][SLIDING]}},
        gguf_made=r"^blk\.3\.",
        inert=ONE_GROUP,
    ),
}
