"""Sizes and small pieces that several families are made of: awkward sizes, so that a mistake about one of them shows."""

BASE = dict(
    vocab_size=47,
    hidden_size=40,
    intermediate_size=36,
    num_hidden_layers=2,
    num_attention_heads=6,
    num_key_value_heads=2,
    max_position_embeddings=64,
    rms_norm_eps=0.03125,
    bos_token_id=1,
    eos_token_id=2,
    pad_token_id=0,
)
# Families whose head size is H/Q.
DERIVED = {**BASE, "hidden_size": 48, "intermediate_size": 20}
THREE = {**BASE, "num_hidden_layers": 3, "num_attention_heads": 5, "num_key_value_heads": 1, "intermediate_size": 20}
NO_RMS = {k: v for k, v in DERIVED.items() if k != "rms_norm_eps"}
SLIDING, FULL = "sliding_attention", "full_attention"


def theta(base, **more):
    return dict(rope_parameters={"rope_type": "default", "rope_theta": base, **more})


LAYER = {**NO_RMS, "layer_norm_eps": 0.03125}
# A ramp with a pair of each kind: kept, between, stretched.
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 100.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
# Bounds of the ramp that move when a beta does, on heads of a few pairs.
YARN = {"rope_type": "yarn", "rope_theta": 100.0, "factor": 4.0, "original_max_position_embeddings": 32, "beta_fast": 1.5, "beta_slow": 0.6}
NO_ROPE_ON_FULL = {"layer_types": [SLIDING, SLIDING, FULL], "sliding_window": 9}
TIE = ("tie_word_embeddings",)
NO_LLAMA = "llama.cpp's converter does not know it"
IGNORED_VISION = r"^(vision_tower|multi_modal_projector)\."


def hub_wrapped(prefix):
    """Names of checkpoints that were published when the text model was a model of its own inside the multimodal one."""

    def rename(name):
        for new, hub in (
            ("model.language_model.", prefix + "model."),
            ("lm_head.", prefix + "lm_head."),
            ("model.vision_tower.", "vision_tower."),
            ("model.multi_modal_projector.", "multi_modal_projector."),
        ):
            if name.startswith(new):
                return hub + name[len(new) :]
        return name

    return rename
