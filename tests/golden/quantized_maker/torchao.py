"""torchao 0.18 through Transformers 5.24: from_pretrained with a TorchAoConfig rounds, save_pretrained flattens the tensors. Models in
bfloat16.

A matrix NAME.weight lies as NAME._weight_qdata, NAME._weight_scale, NAME._weight_zero_point; the file's __metadata__ says under
NAME.weight, as JSON in a string, {_type, _data {block_size [1, g], dtype, ...}, _tensor_data_names}; plain tensors {"_type": "Tensor"};
tensor_names lists all. config.json: quant_method torchao, quant_type {"default": {_type, _data}}.
  Int8Tensor                qdata i8 [out, in], scale f32 [out, in / g], zero_point i8 alike, all 0 where symmetric; w = (q - z) * scale
  Float8Tensor              qdata f8_e4m3, scale f32 [out, 1] (or [1, 1]), no zero point
  IntxUnpackedToInt8Tensor  qdata i8, one code a byte however many bits (target_dtype), scale of the model's type [out, in / g], zero_point
                            i8
  Int4Tensor                qdata i8 [out, in / 2], signed nibbles, the even column in the LOW one; scale, zero_point bf16 [in / g, OUT]: w
                            = q * scale + zero_point, a value and not a code. The package needs a GPU's library (mslk) to make these; they
                            are written by hand here, as its int4_row_quantize_zp and pack_int4 do it, and flattened by torchao.
Not made: Int4TilePackedTo4dTensor and Int4PlainInt32Tensor hold the order of a GPU's kernels.
"""

import tempfile

import numpy as np
import torch
from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict
from torchao.quantization import (
    Float8WeightOnlyConfig,
    Int4Tensor,
    Int4WeightOnlyConfig,
    Int8DynamicActivationInt8WeightConfig,
    Int8WeightOnlyConfig,
    IntxWeightOnlyConfig,
    PerGroup,
)
from torchao.quantization.quant_primitives import MappingType
from transformers import AutoModelForCausalLM, TorchAoConfig

from quantized_maker import codes, common, spoil


def numbers(tensor):
    return tensor.view(torch.uint8).numpy() if tensor.dtype == torch.float8_e4m3fn else tensor.float().numpy()


def exact_values(t, stem):
    data, scale = t[stem + "_weight_qdata"], numbers(t[stem + "_weight_scale"])
    values = codes.e4m3(numbers(data)) if data.dtype == torch.float8_e4m3fn else numbers(data)
    if stem + "_weight_zero_point" in t:
        zeros = numbers(t[stem + "_weight_zero_point"])
        values = values - codes.over_groups(zeros, values.shape[1])
    return values * (codes.over_groups(scale, values.shape[1]))


def make(name, config, quantization, **settings):
    with tempfile.TemporaryDirectory() as base:
        common.random_model(config, torch.bfloat16, name).save_pretrained(base)
        model = AutoModelForCausalLM.from_pretrained(
            base, quantization_config=TorchAoConfig(quantization, **settings), dtype=torch.bfloat16, device_map="cpu"
        )
    folder = common.empty_folder(name)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    in_order(folder)
    tensors = common.read_tensors(folder)
    loaded = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16, device_map="cpu")
    own = {key: value.detach().dequantize() for key, value in loaded.state_dict().items() if hasattr(value, "qdata")}
    exact = {key: exact_values(tensors, key.removesuffix("weight")) for key in own}
    common.finish(name, config, plain(tensors), own, exact)


def in_order(folder):
    """safetensors writes metadata in another order each time: written once more, in that of the alphabet."""
    state = spoil.read(folder)
    state["metadata"] = dict(sorted(state["metadata"].items()))
    (folder / "model.safetensors").write_bytes(spoil.written(state))
    (folder / "model.safetensors").chmod(0o644)


def plain(tensors):
    return {key: value for key, value in tensors.items() if "._weight_" not in key}


def int4(name):
    """w = q * scale + zero, scale and zero rounded to bf16 after the codes were found."""
    group_size = 32
    config = common.llama(attention_bias=True)
    state, own, exact = common.state_of(common.random_model(config, torch.bfloat16, name)), {}, {}
    for key in common.quantized_linears(state):
        parts = state[key].float().reshape(state[key].shape[0], -1, group_size)
        low, high = parts.amin(-1, keepdim=True), parts.amax(-1, keepdim=True)
        scale = (high - low).clamp(min=1e-6) / 15
        quantized = ((parts - low) / scale).round().clamp(0, 15).reshape(state[key].shape).to(torch.int8) - 8
        zero = (low + scale * 8)[..., 0].to(torch.bfloat16)
        scale = scale[..., 0].to(torch.bfloat16)
        data = (quantized[:, ::2] & 15) | (quantized[:, 1::2] << 4)
        over = [torch.from_numpy(codes.over_groups(x.float().numpy(), state[key].shape[1])) for x in (scale, zero)]
        own[key] = quantized.float() * over[0] + over[1]
        nibbles = codes.nibbles(data.view(torch.uint8).numpy()).astype(np.int64)
        signed = np.where(nibbles > 7, nibbles - 16, nibbles).astype(np.float32)
        exact[key] = signed * over[0].numpy() + over[1].numpy()
        state[key] = Int4Tensor(data.contiguous(), scale.t().contiguous(), zero.t().contiguous(), [1, group_size], state[key].shape)
    tensors, metadata = flatten_tensor_state_dict(state)
    settings = TorchAoConfig(Int4WeightOnlyConfig(group_size=group_size)).to_dict()
    in_order(common.save(name, config, settings, tensors, metadata=metadata))
    common.finish(name, config, plain(tensors), own, exact)


CASES = {
    "torchao_int8": lambda name: make(
        name, common.llama(attention_bias=True), Int8WeightOnlyConfig(), modules_to_not_convert=["lm_head", "v_proj"]
    ),
    "torchao_int8_g32": lambda name: make(name, common.llama(), Int8WeightOnlyConfig(granularity=PerGroup(32))),
    "torchao_int8_dynamic": lambda name: make(name, common.llama(), Int8DynamicActivationInt8WeightConfig()),
    "torchao_float8": lambda name: make(name, common.llama(), Float8WeightOnlyConfig()),
    "torchao_int4_bytes": lambda name: make(
        name, common.llama(), IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32), mapping_type=MappingType.ASYMMETRIC)
    ),
    "torchao_int4": int4,
}
