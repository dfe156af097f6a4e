"""Which checkpoints are spoilt how, and what the message must name: tests/golden/quantized_bad.json, in the language of spoil.py. Each is
tried here: what is spoilt must differ from its base, and where a value is spoilt it stands where it is meant to (said()).

A reader that sees through the whole folder may name any tensor of the module; those of up_proj of layer 0 are what most recipes spoil."""
import struct

from quantized_maker import common, spoil

U = "model.layers.0.mlp.up_proj."
Q = "/quantization_config/"
CT = Q + "config_groups/group_0/"


def f16(value):
    return struct.pack("<e", value).hex()


def bf16(value):
    return struct.pack("<f", value)[2:].hex()


def f32(value):
    return struct.pack("<f", value).hex()


def i32(value):
    return struct.pack("<i", value).hex()


NAN, INF = float("nan"), float("inf")


def config(pointer, value):
    return {"set_config": {Q + pointer: value}}


def put(tensor, value, offset=0):
    return {"set_bytes": {"tensor": U + tensor, "offset": offset, "hex": value}}


def formats(value):
    return [{"set_config": {Q + "format": value, CT + "format": value}}]


def size(tensor, *shape):
    return {"resize": {"tensor": U + tensor, "shape": list(shape)}}


def without(tensor):
    return {"remove_tensor": U + tensor}


def named(tensor, *more):
    return [U + tensor, *more]


REFUSED = ["aqlm", "vptq", "higgs", "spqr", "fp_quant", "eetq", "quanto", "sinq", "fouroversix", "quip", "qtip", "exl2", "exl3", "no_such_method"]
METHODS = [(f"method_{one}", "awq_gemm_g32", [config("quant_method", one)], [one]) for one in REFUSED]
AWQ = [("awq_" + name, "awq_gemm_g32", edit, expect) for name, edit, expect in [
    ("unknown_version", [config("version", "gemm_v9")], ["version", "gemm_v9"]),
    ("3_bits", [config("bits", 3)], ["bits", "3"]),
    ("group_that_does_not_divide", [config("group_size", 48)], ["group_size", "48"]),
    ("group_of_zero", [config("group_size", 0)], ["group_size", "0"]),
    ("scales_of_one_group_less", [size("scales", 1, 96)], named("scales")),
    ("scales_narrower", [size("scales", 2, 88)], named("scales")),
    ("zero_points_narrower", [size("qzeros", 2, 11)], named("qzeros")),
    ("no_zero_points", [without("qzeros")], named("qzeros")),
    ("no_scales", [without("scales")], named("scales")),
    ("codes_of_fewer_rows", [size("qweight", 63, 12)], named("qweight")),
    ("codes_in_bytes", [{"set_dtype": {"tensor": U + "qweight", "dtype": "U8"}}], named("qweight")),
    ("scales_in_whole_numbers", [{"set_dtype": {"tensor": U + "scales", "dtype": "I16"}}], named("scales")),
    ("scale_not_a_number", [put("scales", f16(NAN), 10)], named("scales")),
    ("scale_infinite", [put("scales", f16(INF), 380)], named("scales")),
    ("scale_zero_under_codes", [put("scales", f16(0.0))], named("scales")),
    ("codes_beside_a_weight", [{"add_tensor": {"tensor": U + "weight", "dtype": "F16", "shape": [96, 64]}}], named("weight")),
    ("cut_in_scales", [{"truncate_file": {"tensor": U + "scales", "bytes": 100}}], ["model.safetensors"]),
]] + [("awq_gemv_scales_of_fewer_rows", "awq_gemv_g64", [size("scales", 191, 16)], named("scales")),
      ("awq_gemv_zero_points_of_fewer_rows", "awq_gemv_g64", [size("qzeros", 191, 2)], named("qzeros")),
      ("awq_gemv_fast_scale_not_a_number", "awq_gemv_fast_g64", [put("scales", f16(NAN))], named("scales"))]
COMPRESSED = [("ct_" + name, base, edit, expect) for name, base, edit, expect in [
    ("unknown_format", "ct_pack4_g32_asym", formats("pack-in-boxes"), ["format", "pack-in-boxes"]),
    ("sparse_24", "ct_fp8_channel", formats("sparse-24-bitmask"), ["sparse-24-bitmask"]),
    ("marlin_24", "ct_pack4_g32_asym", formats("marlin-24"), ["marlin-24"]),
    ("transform", "ct_pack4_g32_asym", [config("transform_config", {"config_groups": {"R3": {"type": "hadamard", "apply": []}}})], ["transform_config"]),
    ("9_bits", "ct_pack4_g32_asym", [{"set_config": {CT + "weights/num_bits": 9}}], ["num_bits", "9"]),
    ("unknown_type", "ct_pack4_g32_asym", [{"set_config": {CT + "weights/type": "ternary"}}], ["type", "ternary"]),
    ("unknown_strategy", "ct_pack4_g32_asym", [{"set_config": {CT + "weights/strategy": "diagonal"}}], ["strategy", "diagonal"]),
    ("group_that_does_not_divide", "ct_pack4_g32_asym", [{"set_config": {CT + "weights/group_size": 24}}], ["group_size", "24"]),
    ("bad_pattern", "ct_mixed", [{"set_config": {CT + "targets": ["re:.*(self_attn"]}}], ["re:.*(self_attn"]),
    ("module_named_by_two_groups", "ct_mixed", [{"set_config": {Q + "config_groups/group_2/targets": ["re:.*mlp.*", "lm_head"]}}], ["lm_head"]),
    ("scales_of_one_group_less", "ct_pack4_g32_asym", [size("weight_scale", 96, 1)], named("weight_scale")),
    ("scales_of_fewer_rows", "ct_pack4_g32_asym", [size("weight_scale", 95, 2)], named("weight_scale")),
    ("no_config_groups", "ct_pack4_g32_asym", [{"remove_config": Q + "config_groups"}], ["config_groups"]),
    ("no_scales", "ct_pack4_g32_asym", [without("weight_scale")], named("weight_scale")),
    ("no_zero_points", "ct_pack4_g32_asym", [without("weight_zero_point")], named("weight_zero_point")),
    ("zero_points_not_packed", "ct_pack4_g32_asym", [size("weight_zero_point", 96, 2)], named("weight_zero_point")),
    ("shape_of_other_columns", "ct_pack4_g32_asym", [put("weight_shape", struct.pack("<q", 65).hex(), 8)], named("weight_shape", "65")),
    ("width_of_neither_packing", "ct_pack3_by_words", [size("weight_packed", 96, 8)], named("weight_packed", "8")),
    ("scale_not_a_number", "ct_pack4_g32_asym", [put("weight_scale", bf16(NAN), 6)], named("weight_scale")),
    ("scale_infinite", "ct_pack4_g32_asym", [put("weight_scale", bf16(-INF), 382)], named("weight_scale")),
    ("scale_zero_under_codes", "ct_int8_channel", [put("weight_scale", bf16(0.0), 2)], named("weight_scale")),
    ("order_without_indices", "ct_pack4_order", [without("weight_g_idx")], named("weight_g_idx")),
    ("order_with_an_index_too_large", "ct_pack4_order", [put("weight_g_idx", i32(2), 28)], named("weight_g_idx", "2")),
    ("order_with_an_index_below_zero", "ct_pack4_order", [put("weight_g_idx", i32(-2), 252)], named("weight_g_idx", "-2")),
    ("order_of_fewer_columns", "ct_pack4_order", [size("weight_g_idx", 63)], named("weight_g_idx")),
    ("int8_zero_points_of_fewer_rows", "ct_int8_asym_static", [size("weight_zero_point", 95, 1)], named("weight_zero_point")),
    ("fp8_scales_of_fewer_blocks", "ct_fp8_block", [{"resize": {"tensor": "model.layers.0.self_attn.q_proj.weight_scale", "shape": [1, 1]}}],
     ["model.layers.0.self_attn.q_proj.weight_scale"]),
    ("fp8_scale_not_a_number", "ct_fp8_tensor", [put("weight_scale", bf16(NAN))], named("weight_scale")),
    ("nvfp4_no_global_scale", "ct_nvfp4", [without("weight_global_scale")], named("weight_global_scale")),
    ("nvfp4_global_scale_zero", "ct_nvfp4", [put("weight_global_scale", f32(0.0))], named("weight_global_scale", "0")),
    ("nvfp4_global_scale_infinite", "ct_nvfp4", [put("weight_global_scale", f32(INF))], named("weight_global_scale")),
    ("nvfp4_scale_not_a_number", "ct_nvfp4", [put("weight_scale", "7f", 11)], named("weight_scale")),
    ("nvfp4_scales_of_other_groups", "ct_nvfp4", [size("weight_scale", 96, 2)], named("weight_scale")),
    ("mxfp4_scale_not_a_number", "ct_mxfp4", [put("weight_scale", "ff", 191)], named("weight_scale", "255")),
    ("mxfp8_scale_not_a_number", "ct_mxfp8", [put("weight_scale", "ff")], named("weight_scale", "255")),
    ("cut_in_scales", "ct_pack4_g32_asym", [{"truncate_file": {"tensor": U + "weight_scale", "bytes": 7}}], ["model.safetensors"]),
]]
EIGHT = [
    ("fp8_scales_of_more_blocks", "fp8_blocks", [size("weight_scale_inv", 2, 1)], named("weight_scale_inv")),
    ("fp8_no_scales", "fp8_blocks", [without("weight_scale_inv")], named("weight_scale_inv")),
    ("fp8_scale_not_a_number", "fp8_blocks", [put("weight_scale_inv", f32(NAN))], named("weight_scale_inv")),
    ("fp8_scale_infinite", "fp8_tensor_static", [put("weight_scale", f32(INF))], named("weight_scale")),
    ("fp8_block_of_zero", "fp8_blocks", [config("weight_block_size", [128, 0])], ["weight_block_size", "0"]),
    ("fp8_block_of_one_number", "fp8_blocks", [config("weight_block_size", [128])], ["weight_block_size"]),
    ("fp8_blocks_of_other_size", "fp8_blocks", [config("weight_block_size", [64, 64])], ["weight_scale_inv"]),
    ("fp8_unknown_activation_scheme", "fp8_blocks", [config("activation_scheme", "sometimes")], ["activation_scheme", "sometimes"]),
    ("fp8_e5m2", "fp8_blocks", [config("fmt", "e5m2")], ["fmt", "e5m2"]),
    ("fp8_unknown_scale_fmt", "fp8_ue8m0", [config("scale_fmt", "ue9m0")], ["scale_fmt", "ue9m0"]),
    ("fp8_exponent_not_a_number", "fp8_ue8m0", [put("weight_scale_inv", "ff")], named("weight_scale_inv", "255")),
    ("fp8_experts_without_one_scale", "fp8_experts", [{"remove_tensor": "model.layers.0.mlp.experts.2.up_proj.weight_scale_inv"}],
     ["model.layers.0.mlp.experts.2.up_proj.weight_scale_inv"]),
    ("fp8_fbgemm_scales_of_fewer_rows", "fp8_fbgemm", [size("weight_scale", 95, 1)], named("weight_scale")),
    ("modelopt_unknown_algorithm", "modelopt_nvfp4", [config("quant_algo", "NVFP3")], ["quant_algo", "NVFP3"]),
    ("modelopt_no_second_scale", "modelopt_nvfp4", [without("weight_scale_2")], named("weight_scale_2")),
    ("modelopt_second_scale_infinite", "modelopt_nvfp4", [put("weight_scale_2", f32(INF))], named("weight_scale_2")),
    ("modelopt_scales_of_other_groups", "modelopt_nvfp4", [size("weight_scale", 96, 3)], named("weight_scale")),
    ("modelopt_scale_not_a_number", "modelopt_nvfp4", [put("weight_scale", "ff", 100)], named("weight_scale")),
    ("modelopt_fp8_scale_not_a_number", "modelopt_fp8", [put("weight_scale", f32(NAN))], named("weight_scale")),
    ("quark_unknown_dtype", "quark_fp8", [config("global_quant_config/weight/dtype", "int5")], ["dtype", "int5"]),
    ("quark_unknown_scheme", "quark_fp8", [config("global_quant_config/weight/qscheme", "per_thread")], ["qscheme", "per_thread"]),
    ("quark_no_zero_points", "quark_uint4", [without("weight_zero_point")], named("weight_zero_point")),
    ("quark_scale_not_a_number", "quark_fp8_channel", [put("weight_scale", bf16(NAN), 4)], named("weight_scale")),
]
NESTED, PLAIN = U + "weight.quant_state.bitsandbytes__fp4", U + "weight.quant_state.bitsandbytes__nf4"


def state(values, tensor=NESTED):
    return {"set_json": {"tensor": tensor, "values": values}}


BITS_AND_BYTES = [("bnb_" + name, base, edit, expect) for name, base, edit, expect in [
    ("no_state", "bnb_nf4", [{"remove_tensor": PLAIN}], named("weight")),
    ("state_of_no_json", "bnb_nf4", [{"set_text": {"tensor": PLAIN, "text": "{\"quant_type\": \"nf4\", \"blocksize\""}}], [PLAIN]),
    ("state_of_other_type", "bnb_nf4", [state({"/quant_type": "nf3"}, PLAIN)], ["nf3"]),
    ("state_of_other_shape", "bnb_nf4", [state({"/shape": [80, 65]}, PLAIN)], named("weight")),
    ("state_of_other_blocks", "bnb_nf4", [state({"/blocksize": 128}, PLAIN)], named("weight")),
    ("state_of_blocks_of_zero", "bnb_nf4", [state({"/blocksize": 0}, PLAIN)], named("weight", "blocksize")),
    ("nested_state_of_other_blocks", "bnb_fp4_nested", [state({"/nested_blocksize": 64})], named("weight")),
    ("nested_state_of_blocks_of_zero", "bnb_fp4_nested", [state({"/nested_blocksize": 0})], named("weight", "nested_blocksize")),
    ("nested_without_outer_scales", "bnb_fp4_nested", [without("weight.nested_absmax")], named("weight.nested_absmax")),
    ("nested_without_map", "bnb_fp4_nested", [without("weight.nested_quant_map")], named("weight.nested_quant_map")),
    ("nested_map_of_fewer_levels", "bnb_fp4_nested", [size("weight.nested_quant_map", 255)], named("weight.nested_quant_map", "255")),
    ("nested_outer_scale_not_a_number", "bnb_fp4_nested", [put("weight.nested_absmax", f32(NAN))], named("weight.nested_absmax")),
    ("map_of_fewer_levels", "bnb_nf4", [size("weight.quant_map", 15)], named("weight.quant_map", "15")),
    ("level_not_a_number", "bnb_nf4", [put("weight.quant_map", f32(NAN), 8)], named("weight.quant_map")),
    ("scales_of_fewer_blocks", "bnb_nf4", [size("weight.absmax", 79)], named("weight.absmax")),
    ("scale_infinite", "bnb_nf4", [put("weight.absmax", f32(INF), 40)], named("weight.absmax")),
    ("codes_of_fewer_bytes", "bnb_nf4", [size("weight", 2559, 1)], named("weight")),
    ("int8_no_scales", "bnb_int8", [without("SCB")], named("SCB")),
    ("int8_scales_of_fewer_rows", "bnb_int8", [size("SCB", 95)], named("SCB")),
    ("int8_scale_not_a_number", "bnb_int8", [put("SCB", f32(NAN), 100)], named("SCB")),
    ("int8_in_another_order", "bnb_int8", [put("weight_format", "02")], named("weight_format", "2")),
    ("cut_in_scales", "bnb_nf4", [{"truncate_file": {"tensor": U + "weight.absmax", "bytes": 10}}], ["model.safetensors"]),
]]


def mlx(values, pointer=""):
    return {"set_config": {"/" + key + "/" + pointer + name: value for key in ("quantization", "quantization_config") for name, value in values.items()}}


MLX = [("mlx_" + name, base, edit, expect) for name, base, edit, expect in [
    ("7_bits", "mlx_4bit", [mlx({"bits": 7})], ["bits", "7"]),
    ("unknown_mode", "mlx_4bit", [mlx({"mode": "mxfp5"})], ["mode", "mxfp5"]),
    ("group_that_does_not_divide", "mlx_4bit", [mlx({"group_size": 48})], ["group_size", "48"]),
    ("no_biases", "mlx_4bit", [without("biases")], named("biases")),
    ("biases_of_other_shape", "mlx_4bit", [size("biases", 127, 1)], named("biases")),
    ("scales_of_more_groups", "mlx_4bit", [size("scales", 128, 2)], named("scales")),
    ("codes_of_other_width", "mlx_4bit", [size("weight", 128, 7)], named("weight")),
    ("module_of_other_bits", "mlx_every_width", [mlx({"bits": 5}, "model.layers.0.self_attn.k_proj/")], ["model.layers.0.self_attn.k_proj"]),
    ("module_said_not_to_be_quantized", "mlx_4bit", [mlx({"model.layers.0.mlp.up_proj": False})], ["model.layers.0.mlp.up_proj"]),
    ("scale_not_a_number", "mlx_4bit", [put("scales", bf16(NAN), 12)], named("scales")),
    ("bias_infinite", "mlx_4bit", [put("biases", bf16(INF), 14)], named("biases")),
    ("mxfp4_scale_not_a_number", "mlx_mxfp4", [put("scales", "ff", 3)], named("scales", "255")),
    ("nvfp4_scale_not_a_number", "mlx_nvfp4", [put("scales", "7f", 3)], named("scales")),
    ("cut_in_scales", "mlx_4bit", [{"truncate_file": {"tensor": U + "scales", "bytes": 11}}], ["model.safetensors"]),
]]


def tensor_type(kind, base="torchao_int8"):
    """The entry of up_proj's weight in the metadata, with another type."""
    was = spoil.read(common.ROOT / base)["metadata"][U + "weight"]
    return {"set_metadata": {U + "weight": was.replace('"Int8Tensor"', f'"{kind}"')}}


def others():
    return [
        ("torchao_unknown_tensor", "torchao_int8", [tensor_type("Int7Tensor")], ["Int7Tensor"]),
        ("torchao_tiles_of_a_gpu", "torchao_int8", [tensor_type("Int4TilePackedTo4dTensor")], ["Int4TilePackedTo4dTensor"]),
        ("torchao_metadata_of_no_json", "torchao_int8", [{"set_metadata": {U + "weight": "{\"_type\": "}}], [U + "weight"]),
        ("torchao_without_metadata", "torchao_int8", [{"remove_metadata": U + "weight"}], [U + "weight"]),
        ("torchao_no_codes", "torchao_int8", [without("_weight_qdata")], named("_weight_qdata")),
        ("torchao_scales_of_fewer_rows", "torchao_int8", [size("_weight_scale", 95, 1)], named("_weight_scale")),
        ("torchao_scale_not_a_number", "torchao_int8", [put("_weight_scale", f32(NAN), 8)], named("_weight_scale")),
        ("torchao_int4_scales_not_transposed", "torchao_int4", [size("_weight_scale", 96, 2)], named("_weight_scale")),
        ("autoround_unknown_packing", "autoround_gptq", [config("packing_format", "auto_round:marlin")], ["packing_format", "auto_round:marlin"]),
        ("autoround_module_of_other_bits", "autoround_gptq", [{"set_config": {Q + "extra_config/model.layers.0.self_attn.k_proj/bits": 2}}],
         ["model.layers.0.self_attn.k_proj"]),
        ("bitnet_unknown_class", "bitnet_autobitlinear", [config("linear_class", "trilinear")], ["linear_class", "trilinear"]),
        ("bitnet_no_scale", "bitnet_bitlinear", [without("weight_scale")], named("weight_scale")),
        ("bitnet_divided_by_zero", "bitnet_bitlinear", [put("weight_scale", bf16(0.0))], named("weight_scale", "0")),
        ("bitnet_fourth_value", "bitnet_bitlinear", [put("weight", "ff", 70)], named("weight", "3")),
        ("bitnet_of_fewer_rows", "bitnet_bitlinear", [size("weight", 23, 64)], named("weight")),
        ("gemma_3_bits", "gemma_4bit", [config("num_bits", 3)], ["num_bits", "3"]),
        ("gemma_scales_of_fewer_rows", "gemma_4bit", [size("weight_scale", 95, 1)], named("weight_scale")),
        ("gemma_scale_not_a_number", "gemma_4bit", [put("weight_scale", f32(NAN), 4)], named("weight_scale")),
    ]


def recipes():
    rows = METHODS + AWQ + COMPRESSED + EIGHT + BITS_AND_BYTES + MLX + others()
    return [{"name": name, "base": base, "edit": edit, "expect": expect} for name, base, edit, expect in rows]


def said(recipe, raw, base):
    """What is written over a tensor's bytes differs from what stood there."""
    for edit in recipe["edit"]:
        what = edit.get("set_bytes")
        if what:
            one = base["tensors"][what["tensor"]]
            new = bytes.fromhex(what["hex"])
            assert len(new) % spoil.BYTES[one["dtype"]] == 0 and what["offset"] % len(new) == 0, recipe["name"]
            assert one["bytes"][what["offset"]:what["offset"] + len(new)] != new, recipe["name"]


def make(name):
    made = recipes()
    assert len({one["name"] for one in made}) == len(made)
    for recipe in made:
        folder = common.ROOT / recipe["base"]
        base = spoil.read(folder)
        settings, raw = spoil.spoilt(folder, recipe)
        assert settings != base["config"] or raw != spoil.written(base), recipe["name"]
        said(recipe, raw, base)
    lines = ",\n".join(common.json.dumps(one) for one in made)
    (common.ROOT.parent / "quantized_bad.json").write_text(f"[\n{lines}\n]\n")
    print(f"{name}: {len(made)} recipes of {len({one['base'] for one in made})} folders")


CASES = {"bad": make}
