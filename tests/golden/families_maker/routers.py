"""Watches routers choose: another implementation rounds otherwise, so that a choice between experts that are nearly equal says nothing about it."""

import contextlib
import dataclasses

import torch
from transformers.models.phimoe import modeling_phimoe


@dataclasses.dataclass
class Choice:
    gap: float  # between the last chosen and the first not chosen, the least of all tokens
    experts: int  # of how many
    chosen: int  # how many of them any token chose


def sparse_choice(scores, noise):
    """Of Phi-MoE's router, which also leaves out of its weights whatever is far below the best."""
    best, order = scores.sort(-1, descending=True)
    gaps = [best[:, 0] - best[:, 1], best[:, 1] - best[:, 2]]
    for limit in (best[:, :1], best[:, 1:2]):
        gaps.append((((limit - scores) / scores.abs().clamp(min=limit) - 2 * noise).abs() * scores.abs()).min(-1)[0])
    return Choice(float(torch.stack(gaps).min()), scores.shape[-1], len(order[:, :2].unique()))


@contextlib.contextmanager
def watched():
    """Every choice of the best few of a row that is made meanwhile, of experts or of groups of them."""
    choices = []
    functions = {torch: torch.topk, torch.Tensor: torch.Tensor.topk}

    def watching(topk):
        def run(scores, k, *args, **kwargs):
            out = topk(scores, k, *args, **kwargs)
            if scores.ndim == 2 and k < scores.shape[-1]:  # three: the best within each group, of which only the sum counts
                best = topk(scores.float(), k + 1)[0]
                choices.append(Choice(float((best[:, k - 1] - best[:, k]).min()), scores.shape[-1], len(out[1].unique())))
            return out

        return run

    def watching_mixer(mixer):
        def run(scores, jitter_eps, training, top_k=2):
            found = sparse_choice(scores, jitter_eps)
            out = mixer(scores, jitter_eps, training, top_k)
            choices.append(found)
            return out

        return run

    mixer = modeling_phimoe.sparsemixer
    try:
        modeling_phimoe.sparsemixer = watching_mixer(mixer)
        for owner, topk in functions.items():
            owner.topk = watching(topk)
        yield choices
    finally:
        modeling_phimoe.sparsemixer = mixer
        for owner, topk in functions.items():
            owner.topk = topk


def are_clear(choices, margin):
    """Whether no choice is nearer than `margin`, and each expert is some token's."""
    assert choices, "no router chose anything"
    return all(c.gap > margin and c.chosen == c.experts for c in choices)


def describe(choices):
    return ", ".join(f"gap {c.gap:.1e}, {c.chosen} of {c.experts}" for c in choices)
