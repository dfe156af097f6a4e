"""AWQ (arXiv:2306.00978) as AutoAWQ 0.2.9 saves it. AutoAWQ is archived and reads no model of Transformers 5, so its modules that pack and
unpack are imported without the package around them (pip install --no-deps autoawq); the scaling by activations, which moves no bit of the
layout, is left out.

Layouts, 4 bits, i32 words whose lowest bits come first, scales f16; w[o][i] = (q - z) * scale of the group of i:
  gemm       qweight [in, out / 8]: nibble i of word j is column 8 j + (0 2 4 6 1 3 5 7)[i]; qzeros [in / g, out / 8] alike; scales [in / g,
             out]
  gemv       qweight [out, in / 8], qzeros [out, W], nibbles in plain order; scales [out, 8 W]; W words hold the in / g zero points, and are
             rounded up to 1, 2 or 4 words for g >= 128, 64, 32: what is beyond in / g is zero
  gemv_fast  qweight i16 [out / 4, in]: 4 rows by 64 columns, see unpack_fast; scales and qzeros f16 [8 W, out], qzeros is -(z * scale)
             rounded to f16, and w = q * scale + qzeros
Zero points lie in 0..15: a group without a negative value has 0, one without a positive value 15, and its values saturate.
Traps: group_size -1 is the whole row, which AutoAWQ declares and cannot pack (here its size is given); "version" comes in capitals in older
files ("GEMM"), and with the keys w_bit and q_group_size for bits and group_size; the matrix of a module in modules_to_not_convert
("lm_head", "self_attn.v_proj": a part of the name) is f16.
"""

import ast
import importlib.util
import pathlib
import sys
import types

import numpy as np
import torch

from quantized_maker import common

ORDER = np.array([0, 2, 4, 6, 1, 3, 5, 7])


def autoawq(name):
    """A module of the package, without what the packages around it import first."""
    for package in ("awq", "awq.modules", "awq.modules.linear"):
        if package not in sys.modules:
            spec = importlib.util.find_spec(package) if "." not in package else None
            folder = (
                spec.submodule_search_locations[0]
                if spec
                else sys.modules["awq"].__path__[0] + package.removeprefix("awq").replace(".", "/")
            )
            sys.modules[package] = types.ModuleType(package)
            sys.modules[package].__path__ = [folder]
    return importlib.import_module("awq." + name)


def round_to_groups(weight, group_size):
    """The package's own rounding: a function of a module that cannot be imported beside Transformers 5."""
    autoawq("utils.module")
    path, function = pathlib.Path(sys.modules["awq"].__path__[0]) / "quantize" / "quantizer.py", "pseudo_quantize_tensor"
    node = next(n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef) and n.name == function)
    space = {"torch": torch}
    exec(compile(ast.Module([node], []), str(path), "exec"), space)
    return space[function](types.SimpleNamespace(group_size=group_size, zero_point=True, w_bit=4), weight)


def nibbles(words):
    """[..., n] i32 -> [..., 8 n], the lowest first."""
    return ((words.view(np.uint32)[..., None] >> (4 * np.arange(8, dtype=np.uint32))) & 15).astype(np.int64).reshape(*words.shape[:-1], -1)


def columns(words):
    """Codes [..., 8 n] of words in the order of gemm."""
    codes = nibbles(words).reshape(*words.shape, 8)
    placed = np.empty_like(codes)
    placed[..., ORDER] = codes
    return placed.reshape(*words.shape[:-1], -1)


def unpack_gemm(t, stem):
    codes, zeros, scales = columns(t[stem + "qweight"]), columns(t[stem + "qzeros"]), t[stem + "scales"].astype(np.float32)
    group = np.arange(codes.shape[0]) // (codes.shape[0] // scales.shape[0])
    return ((codes - zeros[group]).astype(np.float32) * scales[group]).T


def unpack_gemv(t, stem, group_size):
    codes, zeros, scales = nibbles(t[stem + "qweight"]), nibbles(t[stem + "qzeros"]), t[stem + "scales"].astype(np.float32)
    group = np.arange(codes.shape[1]) // group_size
    assert not zeros[:, group[-1] + 1 :].any() and not scales[:, group[-1] + 1 :].any(), "what fills up the last word"
    return (codes - zeros[:, group]).astype(np.float32) * scales[:, group]


def unpack_fast(t, stem, group_size):
    """i16 [out / 4, in] as [out / 4, in / 64, 4 rows, 16]: each 16-bit word has 4 nibbles. The 64 codes of a row, in twos of 32, are in the order
    that deals pairs to 4 heaps and evens before odds within eights. The scales and zeros have a row for each group."""
    words = t[stem + "qweight"].view(np.uint16)
    blocks, inputs = words.shape
    parts = words.reshape(blocks, inputs // 64, 64)  # word w of a block of 4 rows x 64 columns: nibble n is entry 4 w + n of the block
    entries = ((parts[..., None] >> (4 * np.arange(4, dtype=np.uint16))) & 15).reshape(blocks, inputs // 64, 4, 64)
    order = np.arange(32).reshape(4, 4, 2).transpose(1, 0, 2).reshape(4, 4, 2).transpose(0, 2, 1).reshape(32)
    codes = np.empty_like(entries).reshape(blocks, inputs // 64, 4, 2, 32)
    codes[..., order] = entries.reshape(codes.shape)
    codes = codes.transpose(0, 2, 1, 3, 4).reshape(4 * blocks, inputs).astype(np.float32)
    group = np.arange(inputs) // group_size
    scales, zeros = t[stem + "scales"].astype(np.float32), t[stem + "qzeros"].astype(np.float32)
    return codes * scales[group].T + zeros[group].T


def make(name, config, version, group_size, keys, ignored=(), shard_bytes=None):
    state, own, exact = common.state_of(common.random_model(config, torch.float16, name)), {}, {}
    linear_type = {
        "gemm": ("modules.linear.gemm", "WQLinear_GEMM"),
        "gemv": ("modules.linear.gemv", "WQLinear_GEMV"),
        "gemv_fast": ("modules.linear.gemv_fast", "WQLinear_GEMVFast"),
    }[version]
    linear_type = getattr(autoawq(linear_type[0]), linear_type[1])
    for key in common.quantized_linears(state, ignored):
        linear = torch.nn.Linear(*reversed(state[key].shape), bias=key.removesuffix("weight") + "bias" in state, dtype=torch.float16)
        linear.load_state_dict({part: state[key.removesuffix("weight") + part] for part in linear.state_dict()})
        size = group_size if group_size > 0 else linear.in_features
        linear.weight.data, scales, zeros = round_to_groups(linear.weight.data, size)
        own[key] = linear.weight.data.clone()
        if version == "gemm":
            scales, zeros = scales.t().contiguous(), zeros.t().contiguous()
        packed = linear_type.from_linear(linear, 4, size, False, scales, zeros)
        stem = key.removesuffix("weight")
        for part in ("weight", "bias"):
            state.pop(stem + part, None)
        tensors = {stem + part: tensor for part, tensor in packed.state_dict().items()}
        state |= tensors
        stored = {part: tensor.numpy() for part, tensor in tensors.items()}
        if version == "gemm":
            dequantize = autoawq("utils.packing_utils").dequantize_gemm
            unpacked = dequantize(packed.qweight, packed.qzeros, packed.scales, 4, size).t()
            assert torch.equal(unpacked, own[key]), "what the tool unpacks is what it rounded to"
            exact[key] = unpack_gemm(stored, stem)
        elif version == "gemv":
            exact[key] = unpack_gemv(stored, stem, size)
        else:
            exact[key] = unpack_fast(stored, stem, size)
            own[key] = torch.from_numpy(
                exact[key].copy()
            )  # the kernel's sum with qzeros, which no function of the package does without a GPU
            rounded = linear.weight.data.float()
            assert (own[key] - rounded).abs().max() < 16 * 2**-11 * scales.float().max(), "near the value that it rounded to"
    quantization = dict(quant_method="awq", zero_point=True, version=version, modules_to_not_convert=list(ignored) or None) | keys
    folder = common.save(name, config, quantization, state, shard_bytes)
    if "w_bit" in keys:
        common.write_json(folder / "quant_config.json", {"zero_point": True, "version": quantization["version"]} | keys)
    plain = {key: tensor for key, tensor in state.items() if not key.endswith((".qweight", ".qzeros", ".scales"))}
    common.finish(name, config, plain, own, exact)


def case(config, version, group_size, keys=None, **settings):
    return lambda name: make(name, config(), version, group_size, keys or dict(group_size=group_size, bits=4), **settings)


CASES = {
    "awq_gemm_g128": case(common.wide_llama, "gemm", 128, shard_bytes=64 * 1024),
    "awq_gemm_g64": case(
        lambda: common.llama(attention_bias=True, intermediate_size=192, tie_word_embeddings=True), "gemm", 64, ignored=["v_proj"]
    ),
    "awq_gemm_g32": case(lambda: common.llama(num_hidden_layers=2), "gemm", 32, ignored=["layers.1.mlp.gate_proj", "lm_head"]),
    "awq_gemm_whole_row": case(lambda: common.llama(), "gemm", -1),
    "awq_old_keys": case(lambda: common.llama(), "gemm", 32, dict(w_bit=4, q_group_size=32, version="GEMM")),
    "awq_gemm_experts": case(common.mixture, "gemm", 32, ignored=["lm_head", "mlp.gate"]),
    "awq_gemv_g64": case(lambda: common.llama(attention_bias=True, intermediate_size=192), "gemv", 64),
    "awq_gemv_g128": case(lambda: common.wide_llama(intermediate_size=128), "gemv", 128),
    "awq_gemv_g32": case(lambda: common.llama(intermediate_size=288, tie_word_embeddings=True), "gemv", 32),  # 9 groups a row of down_proj
    "awq_gemv_fast_g64": case(lambda: common.llama(intermediate_size=192), "gemv_fast", 64),
}
