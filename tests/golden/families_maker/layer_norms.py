"""Decoders with rope and layer norms: StableLM, StarCoder 2, Nemotron, Jais 2, Cohere."""

import re

import torch

from .family import Family
from .shared import LAYER, NO_RMS, THREE, theta
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
}
