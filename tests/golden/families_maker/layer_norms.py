"""Decoders with rope and layer norms: StableLM, StarCoder 2, Nemotron, Jais 2, Cohere, ModernBERT."""

import re

import torch

from .family import Family
from .shared import FULL, LAYER, NO_RMS, SLIDING, THREE, theta
from .spelling import old


def without(fields, *names):
    return {k: v for k, v in fields.items() if k not in names}


def stacked_norms(tensors):
    """The converter loses StableLM's norms of heads on its way to stacking them (it returns a generator out of a generator): here they are stacked."""
    out, heads = {}, {}
    for name, tensor in tensors.items():
        if ".norms." in name:
            heads.setdefault(re.sub(r"norms\.\d+\.", "", name), {})[int(name.split(".")[-2])] = tensor
        else:
            out[name] = tensor
    return out | {name: torch.stack([norms[i] for i in sorted(norms)]) for name, norms in heads.items()}


COMPASS_VISION = dict(depth=1, num_heads=1, patch_size=2, spatial_merge_size=2, temporal_patch_size=2, hidden_size=8, intermediate_size=8)
COMPASS_VISION |= dict(out_hidden_size=24, num_position_embeddings=4, deepstack_visual_indexes=[0])


def hub_modernbert(c):
    """Two bases at the root; where layers see all is a period."""
    thetas = {kind: c["rope_parameters"][kind]["rope_theta"] for kind in (FULL, SLIDING)}
    out = {k: v for k, v in c.items() if k not in ("rope_parameters", "layer_types", "dtype", "sliding_window")}
    return {**out, "global_rope_theta": thetas[FULL], "local_rope_theta": thetas[SLIDING], "global_attn_every_n_layers": 3, "torch_dtype": c["dtype"], "layer_norm_eps": 1e-5}


def hub_cohere2(c):
    return old(
        c,
        omit=("layer_types", "tie_word_embeddings", "rope_scaling", "attention_bias", "head_dim"),
        sliding_window_pattern=4,
        rotary_pct=1.0,
        use_gated_activation=True,
        use_embedding_sharing=True,
        use_parallel_block=True,
        use_parallel_embedding=False,
        use_qk_norm=False,
        position_embedding_type="rope_gptj",
        order_of_interleaved_layers="local_attn_first",
    )


FAMILIES = {
    "stablelm": Family("StableLm", {**LAYER, "use_qkv_bias": True, **theta(10000.0, partial_rotary_factor=0.5)}, hub=lambda c: old(c)),
    "stablelm_parallel": Family(
        "StableLm",
        {**LAYER, "use_parallel_residual": True, "qk_layernorm": True, **theta(10000.0, partial_rotary_factor=0.75)},
        gguf_prepare=stacked_norms,
        hub=lambda c: old(c),
    ),
    "starcoder2": Family(
        "Starcoder2",
        {**NO_RMS, "norm_epsilon": 0.03125, **theta(10000.0)},
        spread=[(r"c_proj\.weight", 0.0, 0.8)],
        hub=lambda c: old(c, omit=("tie_word_embeddings",)),
    ),
    "starcoder2_window": Family(
        "Starcoder2",
        {**NO_RMS, "norm_epsilon": 0.03125, "sliding_window": 9, **theta(10000.0)},
        spread=[(r"c_proj\.weight", 0.0, 0.8)],
        gguf="the converter leaves the window out",
        hub=lambda c: old(c, omit=("tie_word_embeddings",)),
    ),
    "nemotron": Family(
        "Nemotron",
        {**NO_RMS, "head_dim": 8, "norm_eps": 0.03125, **theta(10000.0, partial_rotary_factor=0.75)},
        plus_one=r"norm\.weight$",
        hub=lambda c: old(c),
    ),
    "jais2": Family("Jais2", {**LAYER, "head_dim": 8, **theta(10000.0)}, hub=lambda c: old(c)),
    "cohere": Family(
        "Cohere", {**LAYER, "logit_scale": 0.3, **theta(10000.0)}, hub=lambda c: old(c, omit=("tie_word_embeddings",), model_max_length=64)
    ),
    "cohere_qk_norm": Family(
        "Cohere",
        {**LAYER, "use_qk_norm": True, "logit_scale": 0.3, **theta(10000.0)},
        hub=lambda c: old(c, omit=("tie_word_embeddings",), model_max_length=64),
    ),
    "cohere2": Family(
        "Cohere2",
        {
            **without(THREE, "rms_norm_eps"),
            "num_hidden_layers": 4,
            "layer_norm_eps": 0.03125,
            "sliding_window": 9,
            "logit_scale": 0.3,
            **theta(10000.0),
        },
        hub=hub_cohere2,
    ),
    "cohere_compass": Family(
        "CohereCompass",
        dict(
            text_config={
                **without(LAYER, "intermediate_size"),
                "hidden_size": 24,
                "intermediate_size": 20,
                "num_hidden_layers": 3,
                "num_attention_heads": 3,
                "num_key_value_heads": 1,
                "layer_types": [SLIDING, SLIDING, FULL],
                "sliding_window": 9,
                "logit_scale": 0.3,
                "rope_parameters": {SLIDING: {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 1, 1]}, FULL: None},
                "tie_word_embeddings": False,
            },
            vision_config=COMPASS_VISION,
            tie_word_embeddings=False,
        ),
        loader="AutoModelForImageTextToText",
        ignored=r"^model\.visual\.",
        gguf="llama.cpp's converter does not know it",
        inert={"mrope": "positions of text are equal in all sections", "pooling": "embeddings only"},
    ),
    "modernbert_decoder": Family(
        "ModernBertDecoder",
        {
            **without(NO_RMS, "num_key_value_heads"),
            "hidden_size": 24,
            "num_hidden_layers": 3,
            "num_attention_heads": 3,
            "norm_eps": 0.03125,
            "local_attention": 18,
            "layer_types": [FULL, SLIDING, SLIDING],
            "rope_parameters": {FULL: {"rope_type": "default", "rope_theta": 100.0}, SLIDING: {"rope_type": "default", "rope_theta": 10000.0}},
        },
        hub=hub_modernbert,
        gguf="llama.cpp has the encoder only",
        inert={"local_attention": "the window that follows from it is in the file too"},
    ),
}
