"""AMD Quark 0.13 (pip install amd-quark; compiles a helper at its first import) quantizes, exports and imports again; its own modules unpack.
Models in bfloat16, and so are the scales, though they are multiplied by; weight_scale of float32 models is f32. `exclude` holds names and
patterns with *; global_quant_config.weight {dtype, qscheme, group_size, ch_axis, symmetric} holds for all else, before it
layer_quant_config {pattern: {...}} and layer_type_quant_config. Input scales lie beside: input_scale [].
  fp8_e4m3, per_tensor    weight f8_e4m3, weight_scale []
  fp8_e4m3, per_channel   weight f8_e4m3, weight_scale [out]: one dimension
  custom_mode fp8         the same tensors; config.json says quant_method fp8, activation_scheme, ignored_layers and no weight_block_size
  fp4, per_group 32, scale_format e8m0  weight u8 [out, in / 2], even columns in the low nibble; weight_scale u8 e8m0 [out, in / 32]
  uint4, per_group        AWQ's tensors by other names (pack_method reorder): weight i32 [in, out / 8] in AWQ's order, weight_scale [in / g,
                          out], weight_zero_point i32 [in / g, out / 8]; w = (q - z) * scale
"""

import torch
from quark.torch import ModelQuantizer, export_safetensors, import_model_from_safetensors
from quark.torch.quantization.config.config import (
    FP8E4M3PerChannelSpec,
    FP8E4M3PerTensorSpec,
    OCP_MXFP4Spec,
    QConfig,
    QLayerConfig,
    Uint4PerGroupSpec,
)
from transformers import AutoModelForCausalLM

from quantized_maker import awq, codes, common

PARTS = ("weight_scale", "weight_zero_point", "input_scale")


def exact_values(t, stem):
    weight, scale = t[stem + "weight"], t[stem + "weight_scale"].float().numpy()
    if weight.dtype == torch.int32:
        quantized, zeros = awq.columns(weight.numpy()), awq.columns(t[stem + "weight_zero_point"].numpy())
        size = quantized.shape[0] // scale.shape[0]
        return ((quantized - zeros.repeat(size, 0)).astype("f4") * scale.repeat(size, 0)).T
    if weight.dtype == torch.uint8:
        return codes.E2M1[codes.nibbles(weight.numpy())] * codes.over_groups(
            codes.e8m0(t[stem + "weight_scale"].numpy()), 2 * weight.shape[1]
        )
    values = codes.e4m3(weight.view(torch.uint8).numpy())
    return values * (scale[:, None] if scale.ndim else scale)


def make(name, config, layer, mode="quark", exclude=("lm_head",)):
    model = common.random_model(config, torch.bfloat16, name)
    plan = ModelQuantizer(QConfig(global_quant_config=layer(), exclude=list(exclude)))
    quantized = plan.freeze(plan.quantize_model(model, [torch.randint(0, common.VOCABULARY - 2, (1, 40)) for _ in range(2)]))
    folder = common.empty_folder(name)
    with torch.no_grad():
        export_safetensors(quantized, str(folder), custom_mode=mode)
    (folder / "generation_config.json").unlink(missing_ok=True)
    (folder / "model.safetensors").chmod(0o644)
    tensors = common.read_tensors(folder)
    keys = [key for key in tensors if key + "_scale" in tensors]
    fresh = AutoModelForCausalLM.from_config(common.plain_config(config), dtype=torch.bfloat16)
    with torch.no_grad():
        read = import_model_from_safetensors(fresh, str(folder))
        own = {}
        for key in keys:
            module = read.get_submodule(key.removesuffix(".weight"))
            own[key] = module._get_qweight(module.weight).detach().clone()
    exact = {key: exact_values(tensors, key.removesuffix("weight")) for key in keys}
    plain = {key: value for key, value in tensors.items() if key not in own and key.rsplit(".", 1)[1] not in PARTS}
    common.finish(name, config, plain, own, exact)


def fp8(dynamic=False):
    return FP8E4M3PerTensorSpec(observer_method="min_max", is_dynamic=dynamic).to_quantization_spec()


def static_fp8():
    return QLayerConfig(weight=fp8(), input_tensors=fp8())


def channel_fp8():
    return QLayerConfig(weight=FP8E4M3PerChannelSpec(is_dynamic=False, ch_axis=0).to_quantization_spec())


def mxfp4():
    return QLayerConfig(
        weight=OCP_MXFP4Spec(ch_axis=-1, is_dynamic=False).to_quantization_spec(),
        input_tensors=OCP_MXFP4Spec(ch_axis=-1, is_dynamic=True).to_quantization_spec(),
    )


def uint4():
    return QLayerConfig(weight=Uint4PerGroupSpec(ch_axis=-1, is_dynamic=False, group_size=32).to_quantization_spec())


CASES = {
    "quark_fp8": lambda name: make(name, common.llama(attention_bias=True), static_fp8, exclude=["lm_head", "*down_proj"]),
    "quark_fp8_named_fp8": lambda name: make(name, common.llama(), static_fp8, "fp8"),
    "quark_fp8_channel": lambda name: make(name, common.llama(), channel_fp8),
    "quark_mxfp4": lambda name: make(name, common.llama(), mxfp4),
    "quark_uint4": lambda name: make(name, common.llama(), uint4),
}
