"""Text models inside checkpoints of several modalities, of families that have a model of text alone too."""

from .family import Family
from .layer_norms import hub_cohere2
from .shared import DERIVED, IGNORED_VISION, LAYER, hub_wrapped, theta
from .spelling import old

NO_IDS = ("torch_dtype", "transformers_version", "bos_token_id", "eos_token_id", "pad_token_id")
SIGLIP = dict(model_type="siglip_vision_model", hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, image_size=16, patch_size=8)
GLM4V_VISION = dict(depth=1, num_heads=1, in_channels=3, patch_size=2, spatial_merge_size=2, temporal_patch_size=2, hidden_size=8, intermediate_size=8)


def hub_aya_vision(c):
    """Aya Vision: the text as Command R7B has it, the tie left to the class."""
    text = {k: v for k, v in hub_cohere2(c["text_config"]).items() if k not in NO_IDS}
    return old({**c, "text_config": text}, omit=("tie_word_embeddings",))


def hub_glm4v(c):
    """GLM-4.1V: its sections of positions as a scaling that is none."""
    text = old(c["text_config"], omit=NO_IDS)
    text["rope_scaling"] = {"type": "default", "mrope_section": c["text_config"]["rope_parameters"]["mrope_section"]}
    return old({**c, "text_config": {**text, "attention_bias": True, "tie_word_embeddings": False}})


FAMILIES = {
    "aya_vision": Family(
        "AyaVision",
        dict(
            text_config={"model_type": "cohere2", **LAYER, "num_hidden_layers": 4, "sliding_window": 9, "logit_scale": 0.3, **theta(10000.0)},
            vision_config=SIGLIP,
        ),
        loader="AutoModelForImageTextToText",
        hub=hub_aya_vision,
        hub_names=hub_wrapped("language_model."),
        ignored=IGNORED_VISION,
        inert={"^(?!text_config)": "of images"},
        gguf="llama.cpp's converter does not know it",
    ),
    "glm4v": Family(
        "Glm4v",
        dict(
            text_config={**DERIVED, "intermediate_size": 20, **theta(10000.0, partial_rotary_factor=0.5, mrope_section=[1, 1])},
            vision_config={**GLM4V_VISION, "out_hidden_size": 48},
        ),
        loader="AutoModelForImageTextToText",
        hub=hub_glm4v,
        ignored=r"^model\.visual\.",
        inert={"mrope": "positions of text are equal in all sections"},
    ),
}
