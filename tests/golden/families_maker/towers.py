"""Text models inside checkpoints of several modalities, of families that have a model of text alone too."""

from .family import Family
from .qwen import QWEN25_VISION
from .rms_norms import MULTIPLIERS, SMALL
from .shared import BASE, theta
from .spelling import old

NO_IDS = ("torch_dtype", "transformers_version", "bos_token_id", "eos_token_id", "pad_token_id")
GLM4V_VISION = dict(depth=1, num_heads=1, in_channels=3, patch_size=2, spatial_merge_size=2, temporal_patch_size=2, hidden_size=8, intermediate_size=8)


def hub_glm4v(c):
    """GLM-4.1V: its sections of positions as a scaling that is none."""
    text = old(c["text_config"], omit=NO_IDS)
    text["rope_scaling"] = {"type": "default", "mrope_section": c["text_config"]["rope_parameters"]["mrope_section"]}
    return old({**c, "text_config": {**text, "attention_bias": True, "tie_word_embeddings": False}})


def hub_hyperclovax_vision(c):
    return old({**c, "text_config": old(c["text_config"], omit=NO_IDS)})


def hyperclovax_vision_names(name):
    return name.replace("model.language_model.", "model.language_model.model.").replace("model.projector.", "model.vision_projector.")


FAMILIES = {
    "glm4v": Family(
        "Glm4v",
        dict(
            text_config={
                **BASE,
                "hidden_size": 32,
                "num_attention_heads": 4,
                "num_key_value_heads": 2,
                "intermediate_size": 20,
                **theta(10000.0, partial_rotary_factor=0.5, mrope_section=[1, 1]),
            },
            vision_config={**GLM4V_VISION, "out_hidden_size": 32},
        ),
        loader="AutoModelForImageTextToText",
        hub=hub_glm4v,
        ignored=r"^model\.visual\.",
        inert={"mrope": "positions of text are equal in all sections"},
    ),
    # The whole says that the head is tied, the text that it is not.
    "hyperclovax_vision": Family(
        "HyperCLOVAXVisionV2",
        dict(
            text_config={"model_type": "hyperclovax", **SMALL, "hidden_size": 48, **MULTIPLIERS, **theta(10000.0)},
            vision_config={"model_type": "qwen2_5_vl_vision", **QWEN25_VISION, "out_hidden_size": 48},
        ),
        loader="AutoModelForImageTextToText",
        spread=[("embed_tokens", 0.0, 0.1)],
        hub=hub_hyperclovax_vision,
        hub_names=hyperclovax_vision_names,
        ignored=r"^model\.vision",
        gguf="llama.cpp's converter does not know it",
    ),
}
