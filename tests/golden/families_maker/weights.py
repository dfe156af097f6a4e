"""Random weights that bfloat16 and float16 both hold exactly: integers of at most 7 bits times a power of two."""

import math
import re

import torch

MATRIX_GAIN = 1.5
NOT_TEXT = r"vision|visual|projector"


def draw(shape, centre, spread, generator):
    """Values around `centre`, on a grid of a power of two, at most 127 steps from 0."""
    exponent = max(-14, math.ceil(math.log2((abs(centre) + 2.5 * spread) / 127)))
    steps = torch.randn(shape, generator=generator) * (spread / 2**exponent) + centre / 2**exponent
    return steps.round().clamp(-127, 127) * 2.0**exponent


def rule(family, name, shape, transposed):
    """(centre, spread) of a tensor by its name and shape."""
    for pattern, centre, spread in family.spread:
        if re.search(pattern, name):
            return centre, spread
    if name.endswith("bias") or re.search(r"bias|sinks", name.rsplit(".", 1)[-1]):
        return 0.0, 0.3
    if len(shape) <= 1:
        return (0.0 if family.plus_one and re.search(family.plus_one, name) else 1.0), 0.3
    if re.search(r"embed|wte|wpe", name):
        return 0.0, 1.0
    return 0.0, MATRIX_GAIN / shape[0 if transposed else -1] ** 0.5


def fill(family, model, seed):
    """Fills the parameters of `model`. Returns them by name in memory (tied ones once)."""
    generator = torch.Generator().manual_seed(seed)
    transposed = {id(m.weight) for m in model.modules() if type(m).__name__ == "Conv1D"}
    tensors = {}
    with torch.no_grad():
        kept = model.state_dict()
        buffers = [(name, b) for name, b in model.named_buffers() if name in kept]
        for name, p in [*model.named_parameters(), *buffers]:
            if re.search(NOT_TEXT, name):
                p.zero_()
            else:
                p.copy_(draw(p.shape, *rule(family, name, p.shape, id(p) in transposed), generator))
            tensors[name] = p
        if family.finish:
            family.finish(tensors)
        for name, p in tensors.items():
            for dtype in (torch.bfloat16, torch.float16):
                assert torch.equal(p.to(dtype).float(), p), (name, dtype)
    return tensors
