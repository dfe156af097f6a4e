"""Qwen 3 and the text towers of Qwen-VL."""

from .family import Family
from .shared import theta
from .spelling import old

QWEN_TEXT = dict(
    vocab_size=47,
    hidden_size=40,
    intermediate_size=20,
    num_hidden_layers=2,
    num_attention_heads=5,
    num_key_value_heads=1,
    max_position_embeddings=64,
    rms_norm_eps=0.03125,
)
QWEN_VISION = dict(depth=1, num_heads=1, in_channels=3, patch_size=2, spatial_merge_size=2, temporal_patch_size=2)
QWEN2_VISION = dict(**QWEN_VISION, embed_dim=8, hidden_size=40, mlp_ratio=1)
QWEN25_VISION = dict(**QWEN_VISION, hidden_size=8, intermediate_size=8, out_hidden_size=40, fullatt_block_indexes=[0], window_size=8)
QWEN3_VISION = dict(**QWEN_VISION, hidden_size=8, intermediate_size=8, out_hidden_size=40, num_position_embeddings=4, deepstack_visual_indexes=[0])
MROPE = {"max_window_layers|use_sliding": "no window", "mrope": "positions of text are equal in all sections"}


def hub_qwen_vl(c, **vision):
    """Qwen2-VL and 2.5-VL keep the fields of the text at the root, and the text's tensors without a prefix."""
    text = old(
        c["text_config"],
        omit=("model_type", "torch_dtype", "transformers_version", "rope_scaling", "layer_types", "bos_token_id", "eos_token_id", "pad_token_id"),
    )
    text["rope_scaling"] = {"type": "mrope", "mrope_section": c["text_config"]["rope_parameters"]["mrope_section"]}
    out = {
        **text,
        **{k: v for k, v in c.items() if k not in ("text_config", "vision_config", "dtype")},
        "torch_dtype": "bfloat16",
        "transformers_version": "4.41.2",
    }
    out["vision_config"] = {k: v for k, v in c["vision_config"].items() if k not in ("dtype", "initializer_range")} | vision
    return dict(sorted(out.items()))


def hub_qwen3_vl(c):
    text = old(c["text_config"], omit=("torch_dtype", "transformers_version", "pad_token_id", "rope_scaling"), dtype="bfloat16")
    parameters = c["text_config"]["rope_parameters"]
    text["rope_scaling"] = {"mrope_interleaved": True, "mrope_section": parameters["mrope_section"], "rope_type": "default"}
    return {**c, "text_config": text, "transformers_version": "4.57.0.dev0"}


def qwen_vl_names(name):
    return name.replace("model.language_model.", "model.").replace("model.visual.", "visual.")


FAMILIES = {
    "qwen3": Family(
        "Qwen3",
        {**QWEN_TEXT, "head_dim": 12, "tie_word_embeddings": True, **theta(1e6)},
        inert={"max_window_layers|use_sliding": "no window"},
        hub=lambda c: old(c, omit=("layer_types",)),
    ),
    "qwen2_vl": Family(
        "Qwen2VL",
        dict(
            text_config={**QWEN_TEXT, "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [1, 1, 2]}},
            vision_config=QWEN2_VISION,
            tie_word_embeddings=False,
        ),
        loader="AutoModelForImageTextToText",
        hub=hub_qwen_vl,
        hub_names=qwen_vl_names,
        ignored=r"^visual\.",
        inert=MROPE,
    ),
    "qwen2_5_vl": Family(
        "Qwen2_5_VL",
        dict(
            text_config={
                **QWEN_TEXT,
                "tie_word_embeddings": True,
                "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [1, 1, 2]},
            },
            vision_config=QWEN25_VISION,
            tie_word_embeddings=True,
        ),
        loader="AutoModelForImageTextToText",
        hub_differs=("text_config.tie_word_embeddings",),
        hub=hub_qwen_vl,
        hub_names=qwen_vl_names,
        ignored=r"^visual\.",
        inert=MROPE,
    ),
    "qwen3_vl": Family(
        "Qwen3VL",
        dict(
            text_config={
                **QWEN_TEXT,
                "head_dim": 12,
                "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 2, 2], "mrope_interleaved": True},
            },
            vision_config=QWEN3_VISION,
            tie_word_embeddings=False,
        ),
        loader="AutoModelForImageTextToText",
        hub=hub_qwen3_vl,
        ignored=r"^model\.visual\.",
        inert=MROPE,
    ),
}
