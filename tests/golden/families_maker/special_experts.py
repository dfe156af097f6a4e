"""Mixtures with routers or experts of their own kind: gpt-oss, Phi-3.5-MoE, Llama 4."""

import re

import torch

from .mixtures import LOCAL, experts
from .shared import FULL, SLIDING, YARN, theta
from .spelling import old

GPT_OSS = {
    **LOCAL,
    "head_dim": 8,
    "sliding_window": 9,
    "layer_types": [SLIDING, FULL],
    "rope_parameters": {**YARN, "beta_fast": 3.0, "beta_slow": 0.3, "truncate": False},
    "max_position_embeddings": 128,
}
GPT_OSS_SPREAD = [("gate_up_proj$", 0.0, 0.8), ("down_proj$", 0.0, 0.1), ("sinks", 0.5, 0.5)]
FP4 = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
FP4_BLOCK = 32
NOT_FP4 = ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]
FP4_EXPERTS = r"experts\.(gate_up|down)_proj$"
LLAMA4 = {**LOCAL, "num_experts_per_tok": 1, "intermediate_size": 8, "intermediate_size_mlp": 20, "head_dim": 8}
LLAMA4_VISION = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, image_size=4, patch_size=2)
LLAMA4_VISION |= dict(vision_output_dim=8, projector_input_dim=8, projector_output_dim=8)
# Both of its bounds are the same: nothing is between them.
NO_RAMP = {"rope_type": "llama3", "rope_theta": 100.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 1.0}
NO_RAMP |= {"original_max_position_embeddings": 64}
# What GGUF's converter takes for both, sqrt(1 + ln(64 / 16) / ln(16)).
LONG = {"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0, 1.25, 1.5, 2.5], "long_factor": [1.5, 2.0, 4.0, 7.0]}
LONG |= {"short_mscale": 1.5**0.5, "long_mscale": 1.5**0.5, "original_max_position_embeddings": 16}
# GGUF does not say how much noise the router is meant for: what all published files do.
PHI_MOE = {**LOCAL, "attention_bias": True, "lm_head_bias": True, "router_jitter_noise": 0.01, "sliding_window": None}


def hub_gpt_oss(c, **more):
    return old(
        c,
        omit=("swiglu_alpha", "bos_token_id"),
        initial_context_length=c["rope_parameters"]["original_max_position_embeddings"],
        experts_per_token=c["num_experts_per_tok"],
        **more,
    )


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
FAMILIES = {
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
}
