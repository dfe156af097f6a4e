"""FP8 checkpoints of quant_method fp8 (DeepSeek's blocks, one scale a tensor) and fbgemm_fp8, rounded by Transformers 5.24's own Fp8Quantize
where it can, and unpacked by its Fp8Dequantize. Models in bfloat16, weights f8_e4m3; multiply by the scale, whatever its name.

  fp8, blocks     weight_scale_inv f32 [ceil(out / 128), ceil(in / 128)], config weight_block_size [128, 128]. At the end of a matrix blocks
                  are smaller. Transformers refuses those or, where rows are divisible by the number of blocks, takes other blocks than were
                  meant (192 rows, two scales: 96 each): for them the truth is DeepSeek's definition, block = 128.
  scale_fmt ue8m0 weight_scale_inv F8_E8M0 2^(e - 127); MXFP8 files hold the same byte as U8. DeepSeek V3.1 says ue8m0 and stores f32.
                  DeepSeek V4 calls the tensor NAME.scale, no "weight" in it.
  expert_dtype fp4  (DeepSeek V4) experts' weight I8 [out, in / 2], e2m1, even columns in the low nibble, scale e8m0 [out, in / 32]
  fp8, no blocks  weight_block_size null or absent. AutoFP8: weight_scale and, activation_scheme static, input_scale, f32 scalars of shape
                  [] or [1]; Transformers (Ministral 3): weight_scale_inv [] and activation_scale []. Skipped modules stand in
                  ignored_layers or modules_to_not_convert.
  fbgemm_fp8      weight_scale f32 [out, 1], input_scale_ub f32 [1]; the layers in modules_to_not_convert (all attention in Meta's) are
                  plain
The experts of a mixture have a scale tensor each. All values are exact products of two float32 numbers, rounded once.
"""

import types

import torch
from transformers import AutoModelForCausalLM, FineGrainedFP8Config
from transformers.integrations.finegrained_fp8 import Fp8Dequantize, Fp8Quantize

from quantized_maker import codes, common

LARGEST = 448.0
PARTS = ("weight_scale", "weight_scale_inv", "input_scale", "activation_scale", "input_scale_ub", "scale")


def quantizer(block, scale_fmt="float"):
    settings = types.SimpleNamespace(weight_block_size=block, scale_fmt=scale_fmt)
    return types.SimpleNamespace(quantization_config=settings)


def by_blocks(weight, block, scale_fmt):
    """weight, weight_scale_inv. Where blocks end beyond the matrix it is filled up with zeros, which move no largest value."""
    rows, columns = weight.shape
    padded = torch.nn.functional.pad(weight.float(), (0, -columns % block[1], 0, -rows % block[0]))
    made = Fp8Quantize(quantizer(block, scale_fmt))._quantize_one("weight", padded)
    scales = next(value for key, value in made.items() if key != "weight")
    return made["weight"][:rows, :columns].contiguous(), scales


def exact_blocks(weight, scales, block):
    values = codes.e4m3(weight.view(torch.uint8).numpy())
    scales = codes.e8m0(scales.view(torch.uint8).numpy()) if scales.dtype in (torch.float8_e8m0fnu, torch.uint8) else scales.numpy()
    return values * codes.over_blocks(scales, block, values.shape)


def own_blocks(weight, scales, block, shape):
    """What Transformers unpacks, of whole blocks."""
    rows, columns = (scales.shape[0] * block[0], scales.shape[1] * block[1])
    padded = torch.nn.functional.pad(weight.view(torch.uint8), (0, columns - shape[1], 0, rows - shape[0])).view(torch.float8_e4m3fn)
    return Fp8Dequantize(quantizer(block))._dequantize_one(padded, scales, torch.float32)[: shape[0], : shape[1]].contiguous()


def blocks(name, config, scale_fmt="float", stored=None, ignored=(), keys=None, shard_bytes=None, fp4=False, scale_name="weight_scale_inv"):
    block = (128, 128)
    state = common.state_of(common.random_model(config, torch.bfloat16, name))
    own, exact, whole = {}, {}, True
    for key in common.quantized_linears(state, ignored):
        if fp4 and ".experts." in key:
            continue
        weight, scales = by_blocks(state[key], block, scale_fmt)
        own[key] = own_blocks(weight, scales, block, weight.shape)
        exact[key] = exact_blocks(weight, scales, block)
        whole = whole and not any(n % min(b, n) for n, b in zip(weight.shape, block))
        state |= {key: weight, key.removesuffix("weight") + scale_name: scales if stored is None else stored(scales)}
    for key in [key for key in common.quantized_linears(state) if fp4 and ".experts." in key]:
        packed, scales = e2m1_rows(state[key])
        own[key] = Fp8Dequantize(quantizer(block))._dequantize_one(packed, scales, torch.float32)
        exact[key] = codes.E2M1[codes.nibbles(packed.view(torch.uint8).numpy())] * codes.over_groups(
            codes.e8m0(scales.view(torch.uint8).numpy()), 2 * packed.shape[1]
        )
        state |= {key: packed, key.removesuffix("weight") + scale_name: scales}
    settings = dict(activation_scheme="dynamic", fmt="e4m3", quant_method="fp8", weight_block_size=list(block)) | (keys or {})
    if ignored:
        settings["modules_to_not_convert"] = [*ignored, "lm_head"]
    folder = common.save(name, config, settings, state, shard_bytes)
    if whole:
        read_again(folder, own)
    common.finish(name, config, plain(state, own), own, exact)


def e2m1_rows(weight):
    """Rounded to the nearest level under the power of two that brings the largest of 32 to 6 at most."""
    parts = weight.float().reshape(weight.shape[0], -1, 32)
    exponents = torch.ceil(torch.log2(parts.abs().amax(-1) / 6)).clamp(-127, 127)
    scaled = (parts / torch.exp2(exponents)[..., None]).reshape(weight.shape)
    code = (scaled.abs()[..., None] - torch.from_numpy(codes.E2M1[:8])).abs().argmin(-1) + 8 * (scaled < 0)
    packed = (code[:, ::2] | (code[:, 1::2] << 4)).to(torch.uint8).view(torch.int8)
    return packed, (exponents + 127).to(torch.uint8).view(torch.float8_e8m0fnu)


def plain(state, own):
    return {key: value for key, value in state.items() if key not in own and key.rsplit(".", 1)[1] not in PARTS}


def read_again(folder, own):
    loaded = AutoModelForCausalLM.from_pretrained(folder, quantization_config=FineGrainedFP8Config(dequantize=True), dtype=torch.float32)
    read = common.split_experts(dict(loaded.state_dict()))
    for key, value in own.items():
        assert torch.equal(read[key], value), key


def tensors(name, config, scale, activation, shape, settings, ignored=()):
    """One scale a matrix."""
    state = common.state_of(common.random_model(config, torch.bfloat16, name))
    own, exact = {}, {}
    for key in common.quantized_linears(state, ignored):
        value = (state[key].float().abs().max() / LARGEST).reshape(shape)
        weight = (state[key].float() / value).clamp(-LARGEST, LARGEST).to(torch.float8_e4m3fn)
        own[key] = weight.float() * value
        exact[key] = codes.e4m3(weight.view(torch.uint8).numpy()) * value.numpy()
        stem = key.removesuffix("weight")
        state |= {key: weight, stem + scale: value}
        if activation:
            state[stem + activation] = (0.02 + 0.01 * torch.rand(1)).reshape(shape)
    folder = common.save(name, config, dict(quant_method="fp8") | settings, state)
    if scale == "weight_scale_inv":
        read_again(folder, own)
    common.finish(name, config, plain(state, own), own, exact)


def fbgemm(name):
    config = common.llama(num_hidden_layers=2)
    state = common.state_of(common.random_model(config, torch.bfloat16, name))
    ignored = ["lm_head", "model.layers.1"] + ["model.layers.0.self_attn"]
    own, exact = {}, {}
    for key in common.quantized_linears(state, ignored):
        scales = state[key].float().abs().amax(1, keepdim=True) / LARGEST
        weight = (state[key].float() / scales).clamp(-LARGEST, LARGEST).to(torch.float8_e4m3fn)
        own[key] = weight.float() * scales
        exact[key] = codes.e4m3(weight.view(torch.uint8).numpy()) * scales.numpy()
        stem = key.removesuffix("weight")
        state |= {key: weight, stem + "weight_scale": scales, stem + "input_scale_ub": torch.tensor([1200.0])}
    common.save(name, config, dict(activation_scale_ub=1200.0, modules_to_not_convert=ignored, quant_method="fbgemm_fp8"), state)
    common.finish(name, config, plain(state, own), own, exact)


def narrow():
    return common.llama(hidden_size=128, intermediate_size=128, tie_word_embeddings=True)


def wide_mixture():
    return common.mixture(hidden_size=128, tie_word_embeddings=True)


CASES = {
    "fp8_blocks": lambda name: blocks(name, narrow()),
    "fp8_blocks_partial": lambda name: blocks(
        name, common.llama(hidden_size=128, intermediate_size=192, tie_word_embeddings=True), shard_bytes=64 * 1024
    ),
    "fp8_experts": lambda name: blocks(name, wide_mixture(), ignored=["model.layers.0.self_attn.k_proj", "model.layers.0.mlp.gate"]),
    "fp8_ue8m0": lambda name: blocks(name, narrow(), "ue8m0", keys=dict(scale_fmt="ue8m0")),
    "fp8_ue8m0_in_float": lambda name: blocks(name, narrow(), "ue8m0", stored=lambda s: s.float(), keys=dict(scale_fmt="ue8m0")),
    "fp8_experts_fp4": lambda name: blocks(
        name, wide_mixture(), "ue8m0", keys=dict(scale_fmt="ue8m0", expert_dtype="fp4"), fp4=True, scale_name="scale"
    ),
    "fp8_tensor_static": lambda name: tensors(
        name,
        common.llama(attention_bias=True),
        "weight_scale",
        "input_scale",
        [1],
        dict(activation_scheme="static", ignored_layers=["lm_head", "model.layers.0.mlp.down_proj"]),
        ["mlp.down_proj"],
    ),
    "fp8_tensor_dynamic": lambda name: tensors(name, common.llama(), "weight_scale", None, [], dict(activation_scheme="dynamic")),
    "fp8_tensor_inverse": lambda name: tensors(
        name,
        common.llama(),
        "weight_scale_inv",
        "activation_scale",
        [],
        dict(activation_scheme="static", weight_block_size=None, modules_to_not_convert=["lm_head"]),
    ),
    "fp8_fbgemm": fbgemm,
}
