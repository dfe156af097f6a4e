"""What the mixtures of experts have in common."""

import torch

from .family import Family

SIZES = dict(
    vocab_size=47,
    hidden_size=24,
    intermediate_size=20,
    num_hidden_layers=2,
    num_attention_heads=3,
    num_key_value_heads=1,
    max_position_embeddings=64,
    rms_norm_eps=0.03125,
    bos_token_id=1,
    eos_token_id=2,
    pad_token_id=0,
)
LOCAL = {**SIZES, "num_local_experts": 6, "num_experts_per_tok": 2, "intermediate_size": 12}
PREFIX = {**SIZES, "num_hidden_layers": 3, "num_experts": 6, "num_experts_per_tok": 2, "head_dim": 8}
# Scores far enough from each other, and not so far that the last chosen expert weighs nothing.
ROUTER = (r"(gate|router|wg)\.weight$", 0.0, 0.4)
CHOICE = ("e_score_correction_bias|expert_bias", 0.0, 0.25)
ONE_GROUP = {"^n_group|^topk_group": "1"}


def experts(config, fields, spread=(), inert={}, **more):
    return Family(
        config,
        fields,
        **{"saved": True, "margin": 1e-3, "tokens": 24, **more},
        spread=[*spread, ROUTER],
        inert=inert,
    )


def merged(family, **more):
    """The same checkpoint, whose experts are one tensor as they are in the memory of Transformers 5."""
    return Family(**{**vars(family), "saved": False, **more})


def wide_bias(tensors):
    """Biases of choice in 32 bits, as many files have them."""
    return {name: t.float() if "e_score_correction_bias" in name else t for name, t in tensors.items()}


def with_predictor(layer):
    """hub_tensors that adds a layer which guesses one more token: two of its tensors are enough to see whether a reader passes it over."""

    def add(tensors):
        norm, head = tensors["model.norm.weight"], tensors["lm_head.weight"]
        added = {"enorm.weight": norm.clone(), "eh_proj.weight": torch.cat([head[: len(norm)]] * 2, 1)}
        return wide_bias(tensors) | {layer + name: t for name, t in added.items()}

    return add
