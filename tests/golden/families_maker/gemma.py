"""Gemma 1 to 3 and VaultGemma."""

from .family import Family
from .shared import BASE, DERIVED, FULL, IGNORED_VISION, NO_LLAMA, SLIDING, hub_wrapped, theta
from .spelling import old

GEMMA = dict(plus_one=r"norm\.weight$", spread=[(r"embed_tokens", 0.0, 0.3)])
DEAD = {"attention_bias": "shapes", "use_bidirectional_attention": "encoders only"}
GEMMA_FIELDS = dict(head_dim=10, eos_token_id=1, bos_token_id=2)
# GGUF has no key for the scale of attention: llama.cpp takes D, and H/Q for the 27B.
CAPS = dict(query_pre_attn_scalar=3, attn_logit_softcapping=1.5, final_logit_softcapping=2.5, sliding_window=9)

VISION = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, image_size=16, patch_size=8, head_dim=8)


def hub_gemma2(c):
    return old(
        c,
        omit=("tie_word_embeddings", "layer_types", "use_bidirectional_attention", "rope_scaling"),
        hidden_act="gelu_pytorch_tanh",
        cache_implementation="hybrid",
    )


def hub_gemma3(c):
    rope = c["rope_parameters"]
    flat = {**c, "rope_parameters": dict(rope[FULL])}
    return old(
        flat,
        omit=("layer_types", "tie_word_embeddings", "_sliding_window_pattern", "use_bidirectional_attention"),
        rope_local_base_freq=rope[SLIDING]["rope_theta"],
        sliding_window_pattern=c["_sliding_window_pattern"],
        cache_implementation="hybrid",
    )


def hub_gemma3_multimodal(c):
    """As the 4B, 12B and 27B are: what the class knows is left out, so that heads, bases, scale and pattern have to come from the family."""
    t = c["text_config"]
    kept = (
        "hidden_size",
        "intermediate_size",
        "model_type",
        "num_hidden_layers",
        "sliding_window",
        "vocab_size",
        "head_dim",
        "max_position_embeddings",
        "rms_norm_eps",
    )
    text = {k: t[k] for k in kept} | {"rope_scaling": {"factor": t["rope_parameters"][FULL]["factor"], "rope_type": "linear"}}
    vision = {k: v for k, v in c["vision_config"].items() if k in VISION or k in ("model_type",)}
    out = {
        k: v
        for k, v in c.items()
        if k in ("architectures", "boi_token_index", "eoi_token_index", "image_token_index", "mm_tokens_per_image", "model_type", "eos_token_id")
    }
    return dict(
        sorted({**out, "text_config": text, "vision_config": vision, "torch_dtype": "bfloat16", "transformers_version": "4.50.0.dev0"}.items())
    )


FAMILIES = {
    # hidden_act "gelu" in the old file means gelu_pytorch_tanh.
    "gemma": Family(
        "Gemma",
        {**BASE, **GEMMA_FIELDS, "num_key_value_heads": 1, "num_attention_heads": 4, **theta(10000.0)},
        inert={**DEAD, r"^hidden_act": "the class reads gelu as gelu_pytorch_tanh"},
        **GEMMA,
        hub=lambda c: old(c, omit=("tie_word_embeddings", "use_bidirectional_attention", "attention_bias"), hidden_act="gelu")
    ),
    "gemma2": Family(
        "Gemma2",
        {**DERIVED, **GEMMA_FIELDS, **CAPS, "query_pre_attn_scalar": 10, "intermediate_size": 20, **theta(10000.0)},
        inert=DEAD,
        **GEMMA,
        hub=hub_gemma2
    ),
    "gemma2_scale": Family(
        "Gemma2",
        {**DERIVED, **GEMMA_FIELDS, **CAPS, "hidden_size": 24, "intermediate_size": 20, **theta(10000.0)},
        inert=DEAD,
        **GEMMA,
        gguf="it cannot say the scale",
        hub=hub_gemma2
    ),
    "gemma3_text": Family(
        "Gemma3Text",
        {
            **BASE,
            **GEMMA_FIELDS,
            "head_dim": 8,
            "num_hidden_layers": 6,
            "num_attention_heads": 4,
            "num_key_value_heads": 1,
            "hidden_size": 24,
            "intermediate_size": 28,
            "query_pre_attn_scalar": 8,
            "sliding_window": 9,
            "rope_parameters": {
                SLIDING: {"rope_type": "default", "rope_theta": 10000.0},
                FULL: {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0},
            },
        },
        inert=DEAD,
        plus_one=GEMMA["plus_one"],
        spread=[*GEMMA["spread"], (r"[qk]_norm", 1.0, 0.4)],
        hub=hub_gemma3,
    ),
    "gemma3": Family(
        "Gemma3",
        dict(
            text_config={
                **BASE,
                **GEMMA_FIELDS,
                "head_dim": 6,
                "num_hidden_layers": 6,
                "num_attention_heads": 8,
                "num_key_value_heads": 4,
                "intermediate_size": 8,
                "hidden_size": 24,
                "sliding_window": 9,
                "max_position_embeddings": 131072,
                "rope_parameters": {
                    SLIDING: {"rope_type": "default", "rope_theta": 10000.0},
                    FULL: {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0},
                },
            },
            vision_config=VISION,
            mm_tokens_per_image=4,
            image_token_index=46,
            boi_token_index=44,
            eoi_token_index=45,
        ),
        gguf="it cannot say the scale",
        loader="AutoModelForImageTextToText",
        inert=DEAD,
        plus_one=GEMMA["plus_one"],
        spread=[(r"embed_tokens", 0.0, 0.3), (r"[qk]_norm", 3.0, 0.5)],
        hub=hub_gemma3_multimodal,
        hub_names=hub_wrapped("language_model."),
        ignored=IGNORED_VISION,
    ),
    "vaultgemma": Family(
        "VaultGemma",
        {**DERIVED, **GEMMA_FIELDS, **CAPS, "intermediate_size": 20, **theta(10000.0)},
        inert=DEAD,
        **GEMMA,
        gguf=NO_LLAMA,
        hub=lambda c: old(c, omit=("tie_word_embeddings", "rope_scaling"), cache_implementation="hybrid")
    ),
}
