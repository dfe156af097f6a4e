"""NVIDIA ModelOpt 0.47.0 (pip install nvidia-modelopt) calibrates, rounds and exports the whole folder: config.json with quantization_config
(quant_method modelopt, quant_algo) and hf_quant_config.json, which says the same in other words and in older files alone. ModelOpt's own
tensor classes unpack. Models in bfloat16; its key `ignore` (exclude_modules in the other file) holds names and patterns with *.

quant_algo                   tensors of a module
  FP8                        weight f8_e4m3, weight_scale f32 [], input_scale f32 []; with an FP8 cache k_proj.k_scale, v_proj.v_scale f32
                             []
  FP8_PER_CHANNEL_PER_TOKEN  weight f8_e4m3, weight_scale f32 [out]: one dimension
  fp8_pb_wo                  weight f8_e4m3, weight_scale f32 [out / 128, 1, in / 128, 1]; a scalar [] where one block is the whole matrix
  NVFP4, W4A16_NVFP4         weight u8 [out, in / 2], even columns in the low nibble, e2m1; weight_scale f8_e4m3 [out, in / 16],
                             weight_scale_2 f32 []: w = e2m1 * (weight_scale * weight_scale_2): MULTIPLIED, where compressed-tensors
                             divides; input_scale f32 [] not in W4A16
  MXFP8, mxfp4               weight f8_e4m3 or u8 as NVFP4; weight_scale u8 e8m0 [out, in / 32]
Other quant_algo's (W4A16_AWQ, NVFP4_AWQ, W8A8_SQ_PER_CHANNEL, NVFP4_SVD) may leave a pre_quant_scale [in] beside matrices whose inputs no
norm precedes: the input is multiplied by it, so that reading the weight alone is wrong.
"""

import copy

import modelopt.torch.quantization as mtq
import torch
from modelopt.torch.export import export_hf_checkpoint
from modelopt.torch.quantization.qtensor import FP8QTensor, MXFP4QTensor, MXFP8QTensor, NVFP4QTensor

from quantized_maker import codes, common

PARTS = ("weight_scale", "weight_scale_2", "input_scale", "k_scale", "v_scale")


def own_values(weight, scale, whole, shape, algorithm):
    """By the tool's tensor classes, in float32."""
    if algorithm in ("NVFP4", "W4A16_NVFP4"):
        return NVFP4QTensor(shape, torch.float32, weight).dequantize(torch.float32, scale=scale, double_scale=whole, block_sizes={-1: 16})
    if algorithm == "mxfp4":
        return MXFP4QTensor(shape, torch.float32, weight).dequantize(torch.float32, scale=scale, block_sizes={-1: 32})
    if algorithm == "MXFP8":
        return MXFP8QTensor(shape, torch.float32, weight).dequantize(torch.float32, scale=scale)
    if algorithm == "fp8_pb_wo" and scale.ndim == 4:
        return FP8QTensor(shape, torch.float32, weight).dequantize(torch.float32, scale=scale[:, 0, :, 0], block_sizes={0: 128, 1: 128})
    return FP8QTensor(shape, torch.float32, weight).dequantize(torch.float32, scale=scale[:, None] if scale.ndim == 1 else scale)


def exact_values(weight, scale, whole):
    octets, scale = weight.view(torch.uint8).numpy(), scale.view(torch.uint8) if scale.dtype == torch.float8_e4m3fn else scale
    scale = scale.numpy()
    if weight.dtype == torch.uint8:
        values = codes.E2M1[codes.nibbles(octets)]
        scale = codes.e8m0(scale) if whole is None else codes.e4m3(scale) * whole.numpy()
    else:
        values = codes.e4m3(octets)
        scale = codes.e8m0(scale) if scale.dtype == "u1" else scale
    if scale.ndim == 4:
        scale = codes.over_blocks(scale[:, 0, :, 0], (128, 128), values.shape)
    elif scale.ndim == 2:
        scale = codes.over_groups(scale, values.shape[1])
    elif scale.ndim == 1:
        scale = scale[:, None]
    return values * scale


def make(name, config, settings, older=False):
    model = common.random_model(config, torch.bfloat16, name)
    settings = {"algorithm": "max"} | {"quant_cfg": [rule for one in settings for rule in copy.deepcopy(getattr(mtq, one)["quant_cfg"])]}

    def calibrate(quantized):
        for _ in range(2):
            quantized(torch.randint(0, common.VOCABULARY - 2, (1, 40)))

    with torch.inference_mode():
        mtq.quantize(model, settings, calibrate)
        folder = common.empty_folder(name)
        export_hf_checkpoint(model, export_dir=folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    (folder / "model.safetensors").chmod(0o644)
    tensors, algorithm = common.read_tensors(folder), common.read_json(folder / "config.json")["quantization_config"]["quant_algo"]
    own, exact = {}, {}
    for key in [key for key in tensors if key + "_scale" in tensors]:
        weight, scale, whole = tensors[key], tensors[key + "_scale"], tensors.get(key + "_scale_2")
        shape = torch.Size((weight.shape[0], weight.shape[1] * (2 if weight.dtype == torch.uint8 else 1)))
        own[key] = own_values(weight, scale, whole, shape, algorithm)
        exact[key] = exact_values(weight, scale, whole)
    if older:
        common.write_json(
            folder / "config.json",
            {key: value for key, value in common.read_json(folder / "config.json").items() if key != "quantization_config"},
        )
    plain = {key: value for key, value in tensors.items() if key not in own and key.rsplit(".", 1)[1] not in PARTS}
    common.finish(name, config, plain, own, exact)


def case(config, *settings, **more):
    return lambda name: make(name, config(), settings, **more)


CASES = {
    "modelopt_fp8": case(lambda: common.llama(attention_bias=True), "FP8_DEFAULT_CFG", "FP8_KV_CFG"),
    "modelopt_fp8_older": case(common.llama, "FP8_DEFAULT_CFG", older=True),  # only hf_quant_config.json says it
    "modelopt_fp8_channel": case(common.llama, "FP8_PER_CHANNEL_PER_TOKEN_CFG"),
    "modelopt_fp8_blocks": case(
        lambda: common.llama(hidden_size=128, intermediate_size=192, tie_word_embeddings=True), "FP8_2D_BLOCKWISE_WEIGHT_ONLY_CFG"
    ),
    "modelopt_nvfp4": case(common.llama, "NVFP4_DEFAULT_CFG"),
    "modelopt_nvfp4_weights_only": case(lambda: common.llama(num_hidden_layers=2), "W4A16_NVFP4_CFG"),
    "modelopt_nvfp4_experts": case(common.mixture, "NVFP4_DEFAULT_CFG"),
    "modelopt_mxfp8": case(common.llama, "MXFP8_DEFAULT_CFG"),
    "modelopt_mxfp4": case(common.llama, "MXFP4_DEFAULT_CFG"),
}
