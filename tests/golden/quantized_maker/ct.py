"""compressed-tensors 0.20.0 as llm-compressor saves it: the package's compressors on the tensors of each module, scales and zero points by its
calculate_qparams over the extremes of a group, config.json as its ModelCompressor.update_config writes it. Transformers reads each dense
case again and must give the same weights. bfloat16 models; scales are bf16 but where the format says otherwise.

Tensors of a module, beside bias; b bits, g columns a group:
  pack-quantized   weight_packed i32 [out, ceil(in b / 32)]: codes q + 2^(b-1), the lowest bits first; 3, 5, 6, 7 bits cross words
                   weight_scale [out, in / g] or, channel, [out, 1]; weight_shape i64 [2]
                   asymmetric: weight_zero_point i32 [ceil(out b / 32), in / g]: z + 2^(b-1), the stream runs DOWN a column; w = (q - z) * scale
                   weight_g_idx i32 [in] (the package lost it in 2026, files have it): the group of each column, codes in the file's own order
                   in 0.13 and before no code crosses words, 32 // b are in each: weight_packed [out, ceil(in / (32 // b))]
  int-quantized    weight i8, weight_scale, weight_zero_point i8 of the same shape if asymmetric; static activations: input_scale [1],
                   input_zero_point i8 [1]
  float-quantized  weight f8_e4m3, weight_scale [1], [out, 1] or, block, [ceil(out / 128), in / 128]; static activations: input_scale [1]
                   with a kv_cache_scheme: self_attn.k_scale, self_attn.v_scale [1]
  naive-quantized  the same two by another name: weight-only schemes of 8 bits that nothing else matches
  nvfp4-pack-quantized  weight_packed u8 [out, in / 2], even columns in the LOW nibble, e2m1; weight_scale f8_e4m3 [out, in / 16];
                   weight_global_scale f32 [1]: w = e2m1 * (scale / global), in this order; input_global_scale f32 [1]
  mxfp4-pack-quantized  the same codes; weight_scale u8 e8m0 [out, in / 32]; no global scale
  mxfp6-pack-quantized  weight_packed u8 [out, 3 in / 4]: e2m3, four codes in three bytes; weight_scale as mxfp4
  mxfp8-quantized  weight f8_e4m3, weight_scale u8 e8m0 [out, in / 32]
Which scheme a module has: one in `ignore` none; else the first target that matches, in the order: names that are equal, `re:` patterns (both
sorted by text), then class names ("Linear", also for lm_head: that is why it stands in ignore). A pattern matches from the start of the
name, as re.match does, and need not reach its end. Embeddings are no Linear. With "mixed-precision" each group has its own `format`; else
the top `format` holds for all, though a group may repeat it.
"""

import json
import re

import numpy as np
import torch
from compressed_tensors import __version__ as package_version
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.compressors.format import infer_module_format
from compressed_tensors.quantization import QuantizationArgs, QuantizationConfig, QuantizationScheme
from compressed_tensors.quantization.quant_scheme import preset_name_to_scheme
from compressed_tensors.utils.match import is_match, match_targets
from transformers import AutoModelForCausalLM, CompressedTensorsConfig

from quantized_maker import codes, common, ct_modules

LINEAR = torch.nn.Linear(1, 1)


def make(name, config, groups, ignore=("lm_head",), order=False, old=False, cache=False, shard_bytes=None):
    model = common.random_model(config, torch.bfloat16, name)
    state = common.state_of(model)
    settings = QuantizationConfig(
        config_groups={f"group_{i}": group for i, group in enumerate(groups)},
        ignore=list(ignore),
        quantization_status="compressed",
        kv_cache_scheme=args(8, "float", strategy="tensor") if cache else None,
    )
    targets = {target: scheme for scheme in settings.config_groups.values() for target in scheme.targets}
    own, means, formats = {}, {}, set()
    for key in [key for key in state if key.endswith(".weight") and state[key].ndim == 2 and "embed" not in key]:
        stem = key.removesuffix(".weight")
        matched = [] if is_match(stem, LINEAR, list(ignore)) else match_targets(stem, LINEAR, targets)
        if not matched:
            continue
        scheme = targets[matched[0]]
        scheme.format = scheme.format or infer_module_format(torch.nn.Linear, scheme)
        formats.add(str(getattr(scheme.format, "value", scheme.format)))
        before = ct_modules.parameters(state.pop(key), state.pop(stem + ".bias", None), scheme)
        compressor = BaseCompressor.get_value_from_registry(scheme.format)
        if order:
            packed, own[key] = ct_modules.with_order(before, scheme)
        else:
            packed = compressor.compress(before, scheme)
            own[key] = compressor.decompress(packed, scheme)["weight"].detach()
        means[key] = ct_modules.exact(packed, scheme)
        if old:
            packed = ct_modules.by_words(packed, scheme.weights.num_bits)
            half = 2 ** (scheme.weights.num_bits - 1)
            again = codes.by_word(packed["weight_packed"].numpy(), scheme.weights.num_bits, means[key].shape[1]) - half
            assert np.array_equal(again * packed["weight_scale"].float().numpy().repeat(scheme.weights.group_size, 1), means[key])
        state |= {f"{stem}.{part}": tensor.detach() for part, tensor in packed.items()}
    if cache:  # as QuantizedKVCache names what it calibrates
        state |= {f"model.layers.0.self_attn.{part}_scale": torch.tensor([0.0123]).bfloat16() for part in "kv"}
    settings.format = formats.pop() if len(formats) == 1 else "mixed-precision"
    written = {
        "version": package_version,
        "quant_method": "compressed-tensors",
        "sparsity_config": {},
        "transform_config": {},
        **json.loads(settings.model_dump_json(exclude=["quant_method"])),
    }
    for group in written["config_groups"].values():
        if order:
            group["weights"]["actorder"] = "group"
    folder = common.save(name, config, written, state, shard_bytes)
    dense = not (order or old or any(".experts." in key for key in own))
    if dense:
        read_again(folder, own, groups)
    parts = r"\.(weight_\w+|[kv]_scale|input_(scale|zero_point|global_scale))$"
    plain = {key: tensor for key, tensor in state.items() if not re.search(parts, key) and key not in own}
    common.finish(name, config, plain, own, means)


def read_again(folder, own, groups):
    """Transformers and the package on the folder give the same weights. Transformers 5.24 dequantizes dense modules as the first group alone
    says, and makes no room for packed zero points where it keeps what is packed: models of several groups with zero points it cannot read."""
    if len(groups) == 1:
        loaded = AutoModelForCausalLM.from_pretrained(
            folder, quantization_config=CompressedTensorsConfig(dequantize=True), dtype=torch.bfloat16
        )
    elif all(one.weights.symmetric for one in groups):
        loaded = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
        loaded.hf_quantizer.compressor.decompress_model(loaded)
    else:
        return
    read = dict(loaded.named_parameters())
    for key, value in own.items():
        assert torch.equal(read[key], value.to(torch.bfloat16)), key


def args(bits, kind="int", **settings):
    return QuantizationArgs(num_bits=bits, type=kind, **settings)


def group(weights, targets=("Linear",), inputs=None):
    return QuantizationScheme(targets=list(targets), weights=weights, input_activations=inputs)


def case(config, *groups, **settings):
    return lambda name: make(name, config(), groups, **settings)


def preset(name, targets=("Linear",)):
    return preset_name_to_scheme(name, list(targets))


TOKEN8 = args(8, strategy="token", dynamic=True)
STATIC8 = args(8, strategy="tensor", symmetric=False)
# 80 columns of down_proj: 3-bit codes end within a word, as do the zero points of 80 rows and of 16.
EVERY_WIDTH = [
    group(args(bits, symmetric=symmetric, group_size=size), [f"re:.*{part}_proj$"])
    for part, bits, size, symmetric in [
        ("q", 2, 32, True),
        ("k", 3, 64, False),
        ("v", 5, 32, False),
        ("o", 6, 16, True),
        ("gate", 7, 32, False),
        ("up", 3, 64, True),
        ("down", 3, -1, False),
    ]
]
CASES = {
    "ct_pack4_g128": case(common.wide_llama, preset("W4A16")),
    "ct_pack4_g32_asym": case(
        lambda: common.llama(attention_bias=True, tie_word_embeddings=True), group(args(4, symmetric=False, group_size=32))
    ),
    "ct_pack4_channel": case(common.llama, group(args(4, strategy="channel")), shard_bytes=24 * 1024),
    "ct_pack4_order": case(common.llama, group(args(4, symmetric=True, group_size=32)), order=True),
    "ct_pack8_g64": case(lambda: common.llama(intermediate_size=128), group(args(8, symmetric=True, group_size=64))),
    "ct_pack_every_width": case(lambda: common.llama(num_key_value_heads=1, intermediate_size=80), *EVERY_WIDTH),
    "ct_pack3_by_words": case(common.llama, group(args(3, group_size=32)), old=True),
    "ct_pack6_by_words": case(common.llama, group(args(6, group_size=32)), old=True),
    "ct_int8_channel": case(common.llama, preset("W8A8")),
    "ct_int8_asym_static": case(common.llama, group(args(8, strategy="channel", symmetric=False), inputs=STATIC8)),
    "ct_int8_g32": case(common.llama, group(args(8, group_size=32), inputs=TOKEN8)),
    "ct_fp8_tensor": case(lambda: common.llama(attention_bias=True), preset("FP8"), cache=True),
    "ct_fp8_channel": case(common.llama, preset("FP8_DYNAMIC")),
    # 64 rows of k_proj are half a block, 256 columns of o_proj two; columns must be whole blocks, which down_proj has not.
    "ct_fp8_block": case(
        lambda: common.llama(hidden_size=128, intermediate_size=32, num_attention_heads=8, head_dim=32, tie_word_embeddings=True),
        preset("FP8_BLOCK"),
        ignore=["lm_head", "re:.*mlp.*"],
    ),
    "ct_nvfp4": case(common.llama, preset("NVFP4")),
    "ct_nvfp4_weights_only": case(common.llama, preset("NVFP4A16")),
    "ct_mxfp4": case(common.llama, preset("MXFP4")),
    "ct_mxfp6": case(common.llama, preset("MXFP6A16")),
    "ct_mxfp8": case(common.llama, preset("MXFP8")),
    # The head is a target by its name; q_proj of layer 1 has two matching patterns, of which the first by text holds.
    "ct_mixed": case(
        lambda: common.llama(num_hidden_layers=2),
        preset("FP8_DYNAMIC", ["re:.*self_attn.*"]),
        preset("NVFP4A16", ["re:.*layers[.]1[.]self_attn[.]q_proj", "lm_head"]),
        group(args(4, group_size=32), ["re:.*mlp.*"]),
        ignore=["re:.*k_proj", "model.layers.0.mlp.up_proj"],
    ),
    "ct_experts": case(common.mixture, group(args(4, group_size=32)), ignore=["lm_head", "re:.*mlp.gate$"]),
    "ct_experts_nvfp4": case(common.mixture, preset("NVFP4"), ignore=["lm_head", "re:.*mlp.gate$", "re:.*self_attn.*"]),
}
