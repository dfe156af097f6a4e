"""Phi 1 to 4."""

from .family import Family
from .shared import DERIVED, NO_RMS, theta
from .spelling import old

PHI3 = {**DERIVED, "eos_token_id": 2, "intermediate_size": 20}
PHI3_OMIT = ("partial_rotary_factor",)
LONG = dict(
    max_position_embeddings=96,
    original_max_position_embeddings=24,
    rope_parameters={"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0, 1.25, 1.5, 2.5], "long_factor": [1.5, 2.0, 4.0, 7.0]},
)
COPIED = {"rope_parameters.original_max": "the field at the root overrides it"}
LONG_TERMS = {"max_position_embeddings": {"max_position_embeddings": 48}}


def hub_phi3(c, omit=PHI3_OMIT, **more):
    out = old(c, omit=omit, rope="type", **more)
    if out["rope_scaling"]:
        out["rope_scaling"].pop("original_max_position_embeddings", None)
    return out


FAMILIES = {
    # The converter writes 4·H as the width of the MLP, and as many K as Q heads.
    "phi": Family(
        "Phi",
        {
            **NO_RMS,
            "hidden_size": 24,
            "intermediate_size": 96,
            "num_attention_heads": 3,
            "num_key_value_heads": 3,
            "layer_norm_eps": 0.03125,
            "hidden_act": "gelu_new",
            **theta(10000.0, partial_rotary_factor=0.75),
        },
        inert={"qk_layernorm": "shapes"},
        spread=[("fc2.weight", 0.0, 0.4)],
        hub=lambda c: old(c),
    ),
    "phi3": Family(
        "Phi3",
        {**PHI3, **theta(10000.0)},
        hub=lambda c: hub_phi3(c, attention_bias=False),
        inert={"original_max_position": "no scaling", "rope_parameters.original": "no scaling", "sliding": "none"},
    ),
    "phi3_longrope": Family("Phi3", {**PHI3, **LONG}, short_tokens=20, more=LONG_TERMS, inert=COPIED, hub=hub_phi3),
    "phi3_window": Family("Phi3", {**PHI3, **theta(10000.0), "sliding_window": 9}, hub=hub_phi3, inert={"original_max_position": "no scaling"}),
    "phi4_mini": Family(
        "Phi3",
        {
            **PHI3,
            **LONG,
            "tie_word_embeddings": True,
            "rope_parameters": {
                **LONG["rope_parameters"],
                "partial_rotary_factor": 0.75,
                "short_factor": [1.0, 1.25, 2.5],
                "long_factor": [1.5, 4.0, 7.0],
            },
        },
        short_tokens=20,
        more=LONG_TERMS,
        inert=COPIED,
        hub=lambda c: hub_phi3(c, omit=(), attention_bias=False, full_attn_mod=1, interpolate_factor=1, lm_head_bias=False, mlp_bias=False),
    ),
}
