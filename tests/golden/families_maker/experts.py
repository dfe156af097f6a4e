"""Mixtures of experts."""

import re

import torch

from .family import Family
from .shared import FULL, SLIDING, YARN, theta
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
OLMOE = {**SIZES, "num_key_value_heads": 3, "num_experts": 6, "num_experts_per_tok": 3, "intermediate_size": 12}
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


def hub_gpt_oss(c, **more):
    return old(
        c,
        omit=("swiglu_alpha", "bos_token_id"),
        initial_context_length=c["rope_parameters"]["original_max_position_embeddings"],
        experts_per_token=c["num_experts_per_tok"],
        **more,
    )


FP4 = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
FP4_BLOCK = 32
NOT_FP4 = ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]
FP4_EXPERTS = r"experts\.(gate_up|down)_proj$"


def fp4_parts(tensor):
    """Numbers of four bits and exponents of blocks of 32 inputs, [E, out, blocks, 32] and [E, out, blocks], of experts [E, in, out]."""
    blocks = tensor.float().transpose(-1, -2).unflatten(-1, (-1, FP4_BLOCK))
    exponents = torch.floor(torch.log2(blocks.abs().amax(-1))) - 2
    scaled = blocks / torch.exp2(exponents)[..., None]
    nearest = (scaled.abs()[..., None] - FP4).abs().argmin(-1)
    return nearest + 8 * (scaled < 0), exponents


def round_to_fp4(tensors):
    for name, p in tensors.items():
        if re.search(FP4_EXPERTS, name):
            numbers, exponents = fp4_parts(p)
            values = FP4[numbers % 8] * (1 - 2 * (numbers // 8)) * torch.exp2(exponents)[..., None]
            p.copy_(values.flatten(-2).transpose(-1, -2))


def hub_fp4(tensors):
    out = {}
    for name, tensor in tensors.items():
        if re.search(FP4_EXPERTS, name):
            numbers, exponents = fp4_parts(tensor)
            out[name + "_blocks"] = (numbers[..., 0::2] + 16 * numbers[..., 1::2]).to(torch.uint8)
            out[name + "_scales"] = (exponents + 127).to(torch.uint8)
        else:
            out[name] = tensor
    return out


def wide_bias(tensors):
    """Biases of choice in 32 bits, as many files have them."""
    return {name: t.float() if "e_score_correction_bias" in name else t for name, t in tensors.items()}


def with_predictor(tensors):
    """A layer behind the last that guesses one more token, of which two tensors are enough to see whether a reader passes it over."""
    layer = f"model.layers.{SPARSE['num_hidden_layers']}."
    norm = tensors["model.norm.weight"]
    return wide_bias(tensors) | {layer + "enorm.weight": norm.clone(), layer + "eh_proj.weight": torch.cat([tensors["lm_head.weight"][: len(norm)]] * 2, 1)}


# The first layer dense, the others with experts by a sigmoid.
SPARSE = {**SIZES, "num_hidden_layers": 3, "first_k_dense_replace": 1, "n_routed_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 8}
SPARSE |= {"n_shared_experts": 2, "norm_topk_prob": True, "routed_scaling_factor": 1.5, "n_group": 1, "topk_group": 1}
GROUPS = {"n_routed_experts": 8, "num_experts_per_tok": 3, "n_group": 4, "topk_group": 2}
CHOICE = ("e_score_correction_bias", 0.0, 0.25)
ONE_GROUP = {"^n_group|^topk_group": "1"}

ERNIE = {**SIZES, "num_hidden_layers": 3, "moe_num_experts": 6, "moe_k": 2, "moe_intermediate_size": 8}


def hub_ernie(c, **more):
    rest = dict(moe_capacity=[64, 64, 64], moe_gate="topk", moe_use_aux_free=True, num_nextn_predict_layers=1)
    end = () if more else ("moe_layer_end_index",)
    return old(c, omit=("rope_scaling", "moe_norm_min", *end), **rest, **more)


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
        {**MOE, "num_experts": 6, "shared_expert_intermediate_size": 16, "norm_topk_prob": False, **theta(1e6)},
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
    "mixtral_merged": merged(FAMILIES["mixtral"], gguf="that of mixtral is enough"),
    "qwen3_moe_merged": merged(FAMILIES["qwen3_moe"], gguf="that of qwen3_moe is enough"),
}
GPT_OSS = {
    **LOCAL,
    "head_dim": 8,
    "sliding_window": 9,
    "layer_types": [SLIDING, FULL],
    "rope_parameters": {**YARN, "beta_fast": 3.0, "beta_slow": 0.3, "truncate": False},
    "max_position_embeddings": 128,
}
GPT_OSS_SPREAD = [("gate_up_proj$", 0.0, 0.8), ("down_proj$", 0.0, 0.1), ("sinks", 0.5, 0.5)]
FAMILIES |= {
    "gpt_oss": experts("GptOss", GPT_OSS, spread=GPT_OSS_SPREAD, hub=hub_gpt_oss, inert={"hidden_act": "the experts have their own"}),
    "gpt_oss_mxfp4": experts(
        "GptOss",
        {**GPT_OSS, "num_local_experts": 5, "hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 4},
        spread=GPT_OSS_SPREAD,
        finish=round_to_fp4,
        hub_tensors=hub_fp4,
        hub=hub_gpt_oss,
        quantization={"quant_method": "mxfp4", "modules_to_not_convert": NOT_FP4},
        inert={"hidden_act": "the experts have their own"},
    ),
    "glm4_moe": experts(
        "Glm4Moe",
        {**SPARSE, "head_dim": 8, "attention_bias": True, "use_qk_norm": False, "num_nextn_predict_layers": 1, **theta(1e6, partial_rotary_factor=0.5)},
        spread=[CHOICE],
        hub=lambda c: old({k: v for k, v in c.items() if k != "num_mtp_layers"}, num_nextn_predict_layers=1),
        hub_tensors=with_predictor,
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
}


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


def hub_phimoe(c):
    return {**old(c, rope="type"), "architectures": ["PhiMoEForCausalLM"], "original_max_position_embeddings": 16}


def use_long_factors(model):
    """Transformers 5.24 takes the short ones for every length, having computed the long ones: its code for them was cut off."""
    rotary = model.model.rotary_emb
    rotary.rope_init_fn = lambda config: (rotary.inv_freq, None)


def hub_llama4_text(c):
    return old(c, omit=("layer_types", "moe_layers", "no_rope_layer_interval"), no_rope_layers=[], for_llm_compression=False)


def wrap_llama4(c):
    """The configuration of the multimodal model around that of the text."""
    text = {k: v for k, v in c.items() if k not in ("architectures", "transformers_version")}
    tokens = dict(boi_token_index=44, eoi_token_index=45, image_token_index=46)
    rest = dict(model_type="llama4", architectures=["Llama4ForConditionalGeneration"], tie_word_embeddings=False)
    return {**rest, **tokens, "text_config": text, "vision_config": LLAMA4_VISION, "transformers_version": c["transformers_version"]}


def hub_llama4(c):
    return wrap_llama4({**old(c["text_config"], omit=("layer_types", "moe_layers"), for_llm_compression=False)})


def with_vision(tensors):
    norm = next(t for name, t in tensors.items() if name.endswith("model.norm.weight"))[:8]
    return tensors | {"vision_model.class_embedding": norm.clone(), "multi_modal_projector.linear_1.weight": norm[:, None].repeat(1, 8)}


ALPHA = {"rope_type": "dynamic", "rope_theta": 100.0, "alpha": 1000.0, "factor": 1.0}
# The mean of what GGUF's converter takes for both, sqrt(1 + ln(64 / 16) / ln(16)).
LONG = {"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0, 1.25, 1.5, 2.5], "long_factor": [1.5, 2.0, 4.0, 7.0]}
LONG |= {"short_mscale": 1.5**0.5, "long_mscale": 1.5**0.5, "original_max_position_embeddings": 16}
# GGUF does not say how much noise the router is meant for: what all published files do.
PHI_MOE = {**LOCAL, "attention_bias": True, "lm_head_bias": True, "router_jitter_noise": 0.01, "sliding_window": None}
PHI_REST = dict(
    hub=hub_phimoe,
    reshape=use_long_factors,
    short_tokens=12,
    inert={
        "input_jitter_noise": "of training",
        "num_experts_per_tok": "two, whatever it says",
        "^original_max": "copied",
        "router_jitter": "so little that no third expert is near enough",
    },
)
LLAMA4 = {**LOCAL, "num_experts_per_tok": 1, "intermediate_size": 8, "intermediate_size_mlp": 20, "head_dim": 8}
LLAMA4_VISION = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, image_size=4, patch_size=2)
LLAMA4_VISION |= dict(vision_output_dim=8, projector_input_dim=8, projector_output_dim=8)
# Both of its bounds are the same: nothing is between them.
NO_RAMP = {"rope_type": "llama3", "rope_theta": 100.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 1.0}
NO_RAMP |= {"original_max_position_embeddings": 64}
FAMILIES |= {
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
    "hy_v3": experts(
        "HYV3",
        {**SIZES, "num_hidden_layers": 2, "num_experts": 6, "num_experts_per_tok": 3, "moe_intermediate_size": 12, "head_dim": 12}
        | {"num_shared_experts": 1, "router_scaling_factor": 2.826, **theta(11158840.0)},
        spread=[("e_score_correction_bias", 0.0, 0.25)],
        inert={"enable_moe_fp32_combine": "all is in 32 bits", "mlp_bias": "not read"},
    ),
    "phimoe": experts("Phimoe", {**PHI_MOE, "rope_parameters": LONG}, **PHI_REST),
    "phimoe_mscale": experts(
        "Phimoe",
        {**PHI_MOE, "attention_bias": False, "lm_head_bias": False, "router_jitter_noise": 0.25}
        | {"rope_parameters": {**LONG, "short_mscale": 0.75, "long_mscale": 1.5}},
        gguf="the converter reads neither the scales nor the noise",
        **{**PHI_REST, "inert": {k: v for k, v in PHI_REST["inert"].items() if k != "router_jitter"}},
    ),
    "llama4": experts(
        "Llama4Text",
        {**LLAMA4, "num_hidden_layers": 3, "interleave_moe_layer_step": 2, "no_rope_layers": [1, 1, 0], "attention_chunk_size": 7}
        | {"floor_scale": 4, "use_qk_norm": False, **theta(500000.0)},
        remote_config=wrap_llama4,
        hub=hub_llama4,
        hub_names=lambda name: "language_model." + name,
        hub_tensors=with_vision,
        ignored=r"^(vision_model|multi_modal_projector)\.",
        inert={"no_rope_layer_interval": "no_rope_layers says it", "interleave_moe_layer_step": "moe_layers says it", "router_jitter": "of training"},
        gguf="chunks, scales and layers without rope are those of the real models in llama.cpp",
    ),
    "llama4_text": experts(
        "Llama4Text",
        {**LLAMA4, "hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 4, "use_qk_norm": True, "rope_parameters": NO_RAMP},
        hub=hub_llama4_text,
        inert={
            "chunk_size|layer_types|floor_scale|attn_scale|attn_temperature": "far beyond the prompt",
            "intermediate_size_mlp|moe_layers|interleave_moe": "every layer has experts",
            "no_rope_layer_interval": "no_rope_layers says it",
            "router_jitter": "of training",
        },
    ),
    "afmoe": experts(
        "Afmoe",
        {**SIZES, "num_hidden_layers": 4, "num_dense_layers": 1, "num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 8}
        | {"hidden_size": 16, "num_attention_heads": 2, "num_shared_experts": 2, "head_dim": 8, "route_scale": 1.5, "sliding_window": 9}
        | {"mup_enabled": True, **theta(10000.0)},
        spread=[("expert_bias", 0.0, 0.25), ("embed_tokens", 0.0, 0.25)],
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


def with_mimo_predictor(tensors):
    norm, layer = tensors["model.norm.weight"], "model.mtp.layers.0."
    return wide_bias(tensors) | {layer + "enorm.weight": norm.clone(), layer + "eh_proj.weight": torch.cat([tensors["lm_head.weight"][: len(norm)]] * 2, 1)}


def hub_cohere(c, **more):
    omit = ("mlp_layer_types", "rope_scaling", "tie_word_embeddings")
    return old(c, omit=omit, first_k_dense_replace=1, **more)


PREFIX = {**SIZES, "num_hidden_layers": 3, "num_experts": 6, "num_experts_per_tok": 2, "head_dim": 8}
LAGUNA = {**PREFIX, "moe_intermediate_size": 8, "shared_expert_intermediate_size": 12, "num_attention_heads_per_layer": [2, 1, 3]}
LAGUNA |= {"hidden_size": 16, "num_attention_heads": 2, "head_dim": 16, "sliding_window": 9, "layer_types": [FULL, SLIDING, SLIDING], "moe_routed_scaling_factor": 1.5}
LAGUNA_ROPE = {
    FULL: {**YARN, "beta_slow": 0.5, "partial_rotary_factor": 0.5},
    SLIDING: {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 1.0},
}
COHERE = {k: v for k, v in PREFIX.items() if k != "rms_norm_eps"}
COHERE |= {"layer_norm_eps": 0.03125, "logit_scale": 0.25, "sliding_window": 9, "intermediate_size": 8, "prefix_dense_intermediate_size": 20}
COHERE |= {"layer_types": [FULL, SLIDING, FULL], "mlp_layer_types": ["dense", "sparse", "sparse"], "tie_word_embeddings": True, "rope_theta": 10000.0}
COHERE_INERT = {"pattern": "layer_types says it", "^rope_theta": "copied"}
MIMO = {**PREFIX, "n_routed_experts": 6, "moe_intermediate_size": 8, "hidden_size": 16, "head_dim": 12, "v_head_dim": 8, "num_attention_heads": 4}
MIMO = {k: v for k, v in MIMO.items() if k != "num_experts"}
MIMO |= {"sliding_window": 9, "layer_types": [FULL, SLIDING, SLIDING], "mlp_layer_types": ["dense", "sparse", "sparse"]}
MIMO |= {
    "rope_parameters": {
        FULL: {"rope_type": "default", "rope_theta": 100000.0, "partial_rotary_factor": 0.334},
        SLIDING: {"rope_type": "default", "rope_theta": 1000.0, "partial_rotary_factor": 0.334},
    }
}
FAMILIES |= {
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
    "mellum": experts(
        "Mellum",
        {**PREFIX, "moe_intermediate_size": 8, "sliding_window": 9, "layer_types": [SLIDING, SLIDING, FULL], "norm_topk_prob": True}
        | {"rope_parameters": {FULL: {"rope_type": "default", "rope_theta": 500000.0}, SLIDING: {"rope_type": "default", "rope_theta": 100.0}}},
        hub=lambda c: {k: v for k, v in c.items() if k != "num_local_experts"} | {"num_experts": 6, "use_sliding_window": True},
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
        hub_tensors=with_mimo_predictor,
        ignored=r"^model\.mtp\.",
        # Which the converter gets so from earlier versions of Transformers.
        gguf_fields={"rope_parameters": {**MIMO["rope_parameters"][FULL], SLIDING: MIMO["rope_parameters"][SLIDING]}},
        gguf_made=r"^blk\.3\.",
        inert=ONE_GROUP,
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
    "jetmoe": experts(
        "JetMoe",
        {k: v for k, v in LOCAL.items() if k != "num_attention_heads"}
        | {"hidden_size": 16, "kv_channels": 8, "num_key_value_heads": 2, "rms_norm_eps": 0.5, "tie_word_embeddings": False, **theta(10000.0)},
        spread=[("input_linear", 0.0, 0.4), ("experts.output_linear", 0.0, 0.3), (r"mlp\.output_linear", 0.0, 0.4), ("router", 0.0, 0.5)],
        hub=lambda c: old(c),
        inert={"aux_loss": "of training"},
        gguf="llama.cpp's converter does not know it",
    ),
}
