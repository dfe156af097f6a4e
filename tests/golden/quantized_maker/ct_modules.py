"""The tensors of one module of compressed-tensors (ct.py says how they lie): what is calibrated, and what they mean."""

import numpy as np
import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam

from quantized_maker import codes


def extremes(weight, args):
    """The least and largest value of each part that has a scale, in the shape of the scales."""
    rows, columns = weight.shape
    if args.strategy == "tensor":
        parts = weight.reshape(1, -1)
    elif args.strategy == "channel":
        parts = weight[:, None]
    elif args.strategy == "block":
        high, wide = args.block_structure
        padded = torch.nn.functional.pad(weight, (0, -columns % wide, 0, -rows % high))
        parts = padded.reshape(-(-rows // high), high, -(-columns // wide), wide).transpose(1, 2).flatten(2)
    else:
        parts = weight.reshape(rows, -1, args.group_size)
    return parts.amin(-1), parts.amax(-1)


def parameters(weight, bias, scheme):
    """What calibration would leave beside a module's weight."""
    args, state = scheme.weights, {"weight": weight}
    if bias is not None:
        state["bias"] = bias
    low, high = extremes(weight, args)
    whole = generate_gparam(weight.amin().float(), weight.amax().float()) if args.strategy == "tensor_group" else None
    if whole is not None:
        state["weight_global_scale"] = whole
    state["weight_scale"], state["weight_zero_point"] = calculate_qparams(low, high, args, whole)
    state["weight_scale"] = state["weight_scale"].to(torch.bfloat16) if whole is None else state["weight_scale"]
    inputs = scheme.input_activations
    if inputs is not None and inputs.dynamic is False:
        state["input_scale"], state["input_zero_point"] = calculate_qparams(
            torch.tensor([-2.5]).bfloat16(), torch.tensor([3.0]).bfloat16(), inputs
        )
    elif inputs is not None and inputs.strategy == "tensor_group":
        state["input_global_scale"] = generate_gparam(torch.tensor(-2.5), torch.tensor(3.0))
    return state


def exact(t, scheme):
    """A module's weight from its tensors, in float32."""
    a = scheme.weights
    t = {
        key: value.float().numpy()
        if value.dtype == torch.bfloat16
        else value.view(torch.uint8).numpy()
        if "float8" in str(value.dtype)
        else value.numpy()
        for key, value in t.items()
    }
    scale = t["weight_scale"]
    if scheme.format in ("nvfp4-pack-quantized", "mxfp4-pack-quantized", "mxfp6-pack-quantized"):
        packed = t["weight_packed"]
        values = codes.e2m3(packed) if "mxfp6" in scheme.format else codes.E2M1[codes.nibbles(packed)]
        scale = codes.e4m3(scale) / t["weight_global_scale"] if "nvfp4" in scheme.format else codes.e8m0(scale)
        return values * codes.over_groups(scale, values.shape[1])
    zeros = t.get("weight_zero_point")
    if scheme.format == "pack-quantized":
        rows, columns = t["weight_shape"]
        half = 2 ** (a.num_bits - 1)
        values = codes.stream(t["weight_packed"], a.num_bits, columns) - half
        zeros = None if zeros is None else codes.stream(zeros.T, a.num_bits, rows).T - half
    elif a.type == "float":
        values = codes.e4m3(t["weight"])
        scale = codes.e8m0(scale) if scheme.format == "mxfp8-quantized" else scale
    else:
        values = t["weight"].astype(np.int64)
    if a.strategy == "block":
        return values * codes.over_blocks(scale, a.block_structure, values.shape)
    if a.strategy == "tensor":
        return values * scale[0]
    place = t.get("weight_g_idx", np.arange(values.shape[1]) // (values.shape[1] // scale.shape[1]))
    whole = (values - (0 if zeros is None else zeros[:, place])).astype(np.float32)
    return whole * scale[:, place]


def with_order(state, scheme):
    """Act-order as the package wrote it until 2026: columns are dealt to the groups by g_idx, and stay in their places."""
    columns = state["weight"].shape[1]
    order = torch.randperm(columns)
    g_idx = torch.empty(columns, dtype=torch.int32)
    g_idx[order] = (torch.arange(columns) // scheme.weights.group_size).int()
    by_group = torch.argsort(g_idx, stable=True)
    sorted_state = parameters(state["weight"][:, by_group], state.get("bias"), scheme)
    compressor = BaseCompressor.get_value_from_registry(scheme.format)
    packed = compressor.compress(sorted_state, scheme)
    own = compressor.decompress(packed, scheme)["weight"][:, torch.argsort(by_group)]
    kept = codes.stream(packed["weight_packed"].numpy(), scheme.weights.num_bits, columns)[:, torch.argsort(by_group).numpy()]
    packed["weight_packed"] = torch.from_numpy(codes.stream_of(kept, scheme.weights.num_bits).view(np.int32))
    return packed | {"weight_g_idx": g_idx}, own


def by_words(packed, bits):
    """The packing of the package in 0.13 and before: no code crosses words."""
    per_word = 32 // bits
    values = codes.stream(packed["weight_packed"].numpy(), bits, int(packed["weight_shape"][1]))
    values = np.pad(values, ((0, 0), (0, -values.shape[1] % per_word)))
    words = (values.reshape(values.shape[0], -1, per_word).astype(np.uint32) << (np.arange(per_word, dtype=np.uint32) * bits)).sum(
        -1, dtype=np.uint32
    )
    return packed | {"weight_packed": torch.from_numpy(words.view(np.int32))}
