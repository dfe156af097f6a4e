"""Decoders with rope and RMS norms: the relatives of Llama."""

from .family import Family
from .shared import BASE, DERIVED, FULL, LLAMA3, NO_LLAMA, NO_RMS, NO_ROPE_ON_FULL, SLIDING, THREE, YARN, theta
from .spelling import old

SMALL = {**BASE, "intermediate_size": 20, "head_dim": 10}
MULTIPLIERS = dict(embedding_multiplier=6.0, attention_multiplier=0.2, residual_multiplier=0.4, logits_scaling=0.5)
ALPHA = {"rope_type": "dynamic", "rope_theta": 10000.0, "alpha": 1000.0, "factor": 1.0}
MUSE_VISION = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, patch_size=2, pos_emb_height=2, pos_emb_width=2)


def apertus(tensors):
    """The activation's numbers, others in each layer and such that each shows."""
    numbers = {"alpha_p": (0.75, 1.25), "alpha_n": (1.0, 0.5), "beta": (0.75, 0.5), "eps": (-0.25, -0.375)}
    for name, p in tensors.items():
        if ".act_fn." in name:
            p.fill_(numbers[name.rsplit(".", 1)[-1]][int(name.split(".")[2])])


def signs(tensors):
    """Weights of one magnitude per matrix: what BitNet's converter makes of any weights, it leaves as it is."""
    for name, p in tensors.items():
        if name.endswith("proj.weight"):
            p.copy_((p >= 0).float() * 0.4375 - 0.21875)


def older_sub_norms(tensors):
    """The converter knows BitNet's inner norms only by the names of an older checkpoint."""
    return {name.replace("attn_sub_norm", "inner_attn_ln").replace("ffn_sub_norm", "ffn_layernorm"): t for name, t in tensors.items()}


def hub_hunyuan(c):
    out = old(
        c,
        rope="type",
        attention_head_dim=c["head_dim"],
        use_qk_norm=True,
        num_experts=1,
        use_cla=False,
        norm_type="rms",
        position_embedding_xdrope=False,
    )
    out["rope_scaling"] |= dict(beta_fast=32, beta_slow=1, mscale=1.0, mscale_all_dim=1.0)
    return out


FAMILIES = {
    # Granite, OLMo, SmolLM3
    "granite": Family(
        "Granite",
        {
            **DERIVED,
            **theta(10000.0),
            "tie_word_embeddings": True,
            "embedding_multiplier": 6.0,
            "attention_multiplier": 0.2,
            "residual_multiplier": 0.4,
            "logits_scaling": 0.5,
        },
        spread=[("embed_tokens", 0.0, 0.2)],
        hub=lambda c: old(c),
    ),
    "olmo": Family("Olmo", {**NO_RMS, **theta(10000.0), "clip_qkv": 1.0}, hub=lambda c: old(c)),
    "olmo2": Family("Olmo2", {**DERIVED, **theta(500000.0)}, hub=lambda c: old(c)),
    "olmo3": Family(
        "Olmo3",
        {
            **THREE,
            "sliding_window": 9,
            "layer_types": [SLIDING, FULL, SLIDING],
            "rope_parameters": {SLIDING: {"rope_type": "default", "rope_theta": 100.0}, FULL: {**YARN, "attention_factor": 1.2, "beta_slow": 0.5}},
        },
        hub_misread="Transformers 5.24 gives rope_theta of an old file to the full layers, and 500,000, as all published files have, to the sliding ones",
        gguf_from="5",
        hub=lambda c: old({**c, "rope_parameters": dict(c["rope_parameters"][FULL])}),
    ),
    "smollm3": Family(
        "SmolLM3",
        {**THREE, "num_hidden_layers": 4, "hidden_size": 24, "num_attention_heads": 3, **theta(10000.0)},
        inert={"use_sliding_window": "layer_types says it", "no_rope_layer_interval": "no_rope_layers says it"},
        hub=lambda c: old(c, omit=("tie_word_embeddings",), max_window_layers=28),
    ),
    "seed_oss": Family("SeedOss", {**SMALL, **theta(10000.0)}, hub=lambda c: old(c, rope_scaling={"rope_type": "default"})),
    # The 32B: windows, rope on the windows only. The 1.2B: no window, rope everywhere, stretched.
    "exaone4": Family(
        "Exaone4",
        {**THREE, **NO_ROPE_ON_FULL, "head_dim": 8, "sliding_window_pattern": "LLG", **theta(10000.0)},
        inert={"sliding_window_pattern": "layer_types says it"},
        hub=lambda c: old(c),
    ),
    "exaone4_full": Family(
        "Exaone4",
        {
            **DERIVED,
            "head_dim": 8,
            "sliding_window": None,
            "tie_word_embeddings": True,
            "num_hidden_layers": 2,
            "rope_parameters": LLAMA3,
            "max_position_embeddings": 128,
            "layer_types": [FULL, FULL],
        },
        inert={"sliding_window_pattern": "no window"},
        hub=lambda c: old(c),
    ),
    # llama.cpp's converter of glm writes an epsilon of 1e-5, a base of 10,000 and H/Q, whatever the file says.
    "glm": Family(
        "Glm",
        {**DERIVED, "intermediate_size": 20, "head_dim": 8, "rms_norm_eps": 1e-5, **theta(10000.0, partial_rotary_factor=0.5)},
        hub=lambda c: old(c, omit=("partial_rotary_factor",)),
    ),
    "glm4": Family("Glm4", {**DERIVED, "intermediate_size": 20, "head_dim": 8, **theta(10000.0, partial_rotary_factor=0.75)}, hub=lambda c: old(c)),
    "hunyuan_v1_dense": Family(
        "HunYuanDenseV1",
        {**SMALL, "tie_word_embeddings": True, "max_position_embeddings": 32768, "rope_parameters": ALPHA},
        inert={"rope_parameters.(factor|beta|mscale)": "alpha is all that counts"},
        hub=hub_hunyuan,
    ),
    "granite_hybrid": Family(
        "GraniteMoeHybrid",
        {
            **DERIVED,
            **theta(10000.0),
            **MULTIPLIERS,
            "hidden_size": 24,
            "num_attention_heads": 3,
            "num_key_value_heads": 1,
            "shared_intermediate_size": 20,
            "num_local_experts": 0,
            "num_experts_per_tok": 0,
            "position_embedding_type": "rope",
            "layer_types": ["full_attention"] * 2,
            "mamba_n_heads": 2,
        },
        hub=lambda c: old(c, layer_types=["attention"] * 2),
        gguf_fields={"layer_types": ["attention"] * 2},  # it looks for this word, which Transformers 5 has another for
        spread=[("embed_tokens", 0.0, 0.1)],
        inert={"mamba|time_step|num_local_experts|num_experts_per_tok|router|^intermediate_size": "of layers and experts that it has none of"},
    ),
    "ernie4_5": Family("Ernie4_5", {**SMALL, **theta(10000.0)}, hub=lambda c: old(c)),
    "arcee": Family("Arcee", {**SMALL, "hidden_size": 24, "num_attention_heads": 3, "num_key_value_heads": 1, **theta(10000.0)}, hub=lambda c: old(c)),
    "apertus": Family(
        "Apertus",
        {**SMALL, "hidden_size": 24, "num_attention_heads": 3, "num_key_value_heads": 1, "rope_parameters": LLAMA3, "max_position_embeddings": 128},
        finish=apertus,
        gguf_absent=r"act_fn\.",
        hub=lambda c: old(c, post_norm=False, qk_norm=True, mlp_bias=False),
    ),
    "helium": Family("Helium", {**DERIVED, "head_dim": 8, **theta(10000.0)}, hub=lambda c: old(c), gguf=NO_LLAMA),
    "hyperclovax": Family(
        "HyperCLOVAX",
        {**SMALL, "hidden_size": 48, **MULTIPLIERS, **theta(10000.0)},
        spread=[("embed_tokens", 0.0, 0.2)],
        hub=lambda c: old(c),
        gguf=NO_LLAMA,
    ),
    "bitnet": Family(
        "BitNet", {**DERIVED, "tie_word_embeddings": True, **theta(10000.0)}, hub=lambda c: old(c), gguf="bitnet in llama.cpp means silu"
    ),
    "bitnet_silu": Family(
        "BitNet",
        {**DERIVED, "hidden_act": "silu", "tie_word_embeddings": True, **theta(10000.0)},
        finish=signs,
        gguf_prepare=older_sub_norms,
        hub=lambda c: old(c),
    ),
    "muse_glimmer": Family(
        "MuseGlimmer",
        dict(
            text_config={
                **THREE,
                "hidden_size": 40,
                "num_attention_heads": 4,
                "head_dim": 8,
                **NO_ROPE_ON_FULL,
                "final_logit_softcapping": 2.5,
                "qk_scale_factor": 2.0,
                "output_multiplier": 0.7,
                "post_norm_eps": 1e-8,
                **theta(10000.0),
                "layer_rope_theta": [10000.0, 10000.0, 0],
            },
            vision_config=MUSE_VISION,
            out_hidden_size=32,
            projector_hidden_size=8,
            image_token_id=46,
            video_token_id=45,
        ),
        loader="AutoModelForImageTextToText",
        plus_one=r"layernorm\.weight$",
        gguf_made=r"attn_[qk]_norm",
        ignored=r"^model\.vision_",
    ),
    "cwm": Family(
        "Cwm",
        {
            **THREE,
            "head_dim": 10,
            "sliding_window": 9,
            "layer_types": [FULL, SLIDING, FULL],
            "rope_parameters": LLAMA3,
            "max_position_embeddings": 128,
        },
        hub=lambda c: old(c),
        gguf=NO_LLAMA,
    ),
    "granite_swa": Family(
        "GraniteSWA",
        {
            **THREE,
            **MULTIPLIERS,
            "sliding_window": 9,
            "layer_types": [FULL, SLIDING, SLIDING],
            "layer_rope_theta": [10000.0, 10000.0, 0],
            **theta(10000.0),
        },
        inert={"rope_parameters.rope_theta": "layer_rope_theta says it"},
        spread=[("embed_tokens", 0.0, 0.2), ("sinks", 0.5, 0.5)],
        hub=lambda c: old(c, no_rope_layers=[1, 1, 0]),
    ),
    "nanochat": Family("NanoChat", {**DERIVED, "hidden_size": 36, "final_logit_softcapping": 2.5, **theta(10000.0)}, hub=lambda c: old(c), gguf=NO_LLAMA),
}
