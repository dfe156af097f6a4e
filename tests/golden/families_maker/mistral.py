"""Mistral, Ministral, and Llama with heads of their own size."""

from .family import Family
from .qwen import QWEN_TEXT
from .shared import BASE, DERIVED, FULL, IGNORED_VISION, SLIDING, THREE, YARN, hub_wrapped, theta
from .spelling import old

MINISTRAL3_ROPE = {**YARN, "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.5}
PIXTRAL = dict(
    model_type="pixtral", hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, head_dim=8, image_size=16, patch_size=8
)


def hub_mistral3(c):
    """Mistral Small 3.1: the text model is a mistral, its fields in text_config, in the old spelling."""
    text = old(
        c["text_config"],
        omit=("torch_dtype", "transformers_version", "bos_token_id", "eos_token_id", "pad_token_id", "tie_word_embeddings", "rope_scaling"),
    )
    vision = {k: v for k, v in c["vision_config"].items() if k not in ("dtype", "rope_parameters", "vocab_size")} | {"rope_theta": 10000.0}
    return old({**c, "text_config": text, "vision_config": vision}, omit=("tie_word_embeddings",))


def ministral3_multimodal(c):
    """Ministral 3 as published: already in the new spelling, with the kind of the scaling said twice, the head's tie in the text."""
    text = dict(c["text_config"])
    text["rope_parameters"] = {**text["rope_parameters"], "type": "yarn"}
    return {**c, "text_config": text, "transformers_version": "5.0.0.dev0"}


FAMILIES = {
    "mistral_v01": Family(
        "Mistral",
        {**DERIVED, **theta(10000.0), "sliding_window": 9},
        hub=lambda c: old(c, omit=("head_dim", "rope_scaling", "pad_token_id")),
        gguf="the converter leaves the window out",
    ),
    "mistral_nemo": Family(
        "Mistral", {**QWEN_TEXT, "head_dim": 12, "sliding_window": None, **theta(1e6)}, hub=lambda c: old(c, omit=("rope_scaling",))
    ),
    "ministral": Family(
        "Ministral",
        {**THREE, "head_dim": 10, **theta(100000.0), "sliding_window": 9, "layer_types": [SLIDING, SLIDING, FULL]},
        hub=lambda c: old(c),
        gguf="llama.cpp does not know MinistralForCausalLM",
    ),
    "ministral3": Family(
        "Ministral3",
        {
            **BASE,
            "head_dim": 10,
            "num_attention_heads": 5,
            "num_key_value_heads": 1,
            "rope_parameters": MINISTRAL3_ROPE,
            "max_position_embeddings": 128,
        },
        tokens=70,
        gguf_from="5",
    ),
    "mistral3": Family(
        "Mistral3",
        dict(
            text_config={
                "model_type": "mistral",
                **BASE,
                "head_dim": 10,
                "num_attention_heads": 5,
                "num_key_value_heads": 1,
                "sliding_window": None,
                "intermediate_size": 20,
                **theta(1e9),
            },
            vision_config=PIXTRAL,
            tie_word_embeddings=False,
        ),
        loader="AutoModelForImageTextToText",
        hub_differs=("tie_word_embeddings",),
        hub=hub_mistral3,
        hub_names=hub_wrapped("language_model."),
        ignored=IGNORED_VISION,
    ),
    "mistral3_ministral3": Family(
        "Mistral3",
        dict(
            text_config={
                "model_type": "ministral3",
                **BASE,
                "head_dim": 10,
                "num_attention_heads": 5,
                "num_key_value_heads": 1,
                "tie_word_embeddings": True,
                "rope_parameters": MINISTRAL3_ROPE,
                "max_position_embeddings": 128,
            },
            vision_config=PIXTRAL,
            tie_word_embeddings=True,
        ),
        tokens=70,
        loader="AutoModelForImageTextToText",
        hub=ministral3_multimodal,
        hub_names=hub_wrapped("language_model."),
        ignored=IGNORED_VISION,
    ),
    "llama_head_dim": Family("Llama", {**BASE, "hidden_size": 48, "intermediate_size": 20, "head_dim": 10, **theta(10000.0)}, hub=lambda c: old(c)),
}
