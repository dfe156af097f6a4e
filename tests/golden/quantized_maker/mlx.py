"""MLX 0.32.4 and mlx-lm 0.32.2 (pip install "mlx[cpu]" mlx_lm) read the model of Transformers, quantize it and save it; they read it again and
unpack.

config.json says `quantization` {group_size, bits, mode} and the same again as `quantization_config`, with no quant_method; a module's own
settings stand in it under its name, a whole {group_size, bits, mode} (older files: no mode, which is affine) or false. Without an entry a
module is quantized as the file shows: it has NAME.scales. Embedding, head and the router of a mixture are quantized too; a tied head has no
tensors.
  affine        weight u32 [out, in b / 32]: a dense stream of b-bit codes (2 3 4 5 6 8), the lowest bits first, 3, 5 and 6 cross words;
                scales, biases of the model's type [out, in / g], g 32, 64 or 128: w = q * scale + bias. `biases` is not the `bias` of the
                linear, which lies beside
  mxfp4, mxfp8  weight u32 [out, in b / 32], 8 e2m1 or 4 e4m3 codes to a word, the lowest bits first; scales u8 e8m0 [out, in / 32]
  nvfp4         weight as mxfp4; scales u8 that hold e4m3 [out, in / 16]; no second scale
The experts of a mixture are one tensor: mlp.switch_mlp.{gate,up,down}_proj.weight u32 [experts, out, in b / 32], scales and biases alike.
In 16 bits MLX rounds product and sum. What is hashed here is unpacked by mx.dequantize from scales and biases widened to float32: on a processor
it rounds the product, then the sum (no fused multiply-add), as `exact` does.
"""

import json
import tempfile
from pathlib import Path

import mlx.core as mx
import numpy as np
import torch
from mlx_lm.utils import load_model, quantize_model, save_config, save_model

from quantized_maker import codes, common

mx.set_default_device(mx.cpu)


def settings_of(quantization, stem):
    own = quantization.get(stem)
    return own if isinstance(own, dict) else quantization


def own_values(t, stem, bits, group_size, mode):
    weight = mx.array(t[stem + ".weight"])
    if mode == "affine":
        return np.array(mx.dequantize(weight, mx.array(t[stem + ".scales"]), mx.array(t[stem + ".biases"]), group_size, bits))
    return np.array(mx.dequantize(weight, mx.array(t[stem + ".scales"]), None, group_size, bits, mode=mode, dtype=mx.float32))


def exact_values(t, stem, bits, group_size, mode):
    words, scales = t[stem + ".weight"], t[stem + ".scales"]
    rows, inputs = words.reshape(-1, words.shape[-1]), scales.shape[-1] * group_size
    scales = scales.reshape(rows.shape[0], -1)
    quantized = codes.stream(rows, bits, inputs)
    if mode == "affine":
        biases = t[stem + ".biases"].reshape(scales.shape)
        values = quantized.astype(np.float32) * codes.over_groups(scales, inputs) + codes.over_groups(biases, inputs)
    else:
        levels = codes.e4m3(quantized.astype(np.uint8)) if mode == "mxfp8" else codes.E2M1[quantized]
        values = levels * codes.over_groups(codes.e4m3(scales) if mode == "nvfp4" else codes.e8m0(scales), inputs)
    return values.reshape(*words.shape[:-1], inputs)


def numbers(tensor):
    return tensor.float().numpy() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor.numpy()


def expert_names(values):
    """The matrices of switch_mlp by the names that experts have elsewhere."""
    named = {}
    for key, value in values.items():
        if ".switch_mlp." not in key:
            named[key] = value
            continue
        named |= {key.replace(".switch_mlp.", f".experts.{expert}."): matrix for expert, matrix in enumerate(value)}
    return named


def make(name, config, bits, group_size, mode="affine", dtype=torch.bfloat16, overrides=None):
    with tempfile.TemporaryDirectory() as base:
        model = common.random_model(config, dtype, name)
        model.save_pretrained(base)
        older = common.read_json(Path(base) / "config.json")  # as uploads before Transformers 5 say it, which mlx-lm asks of mixtures
        if "num_local_experts" in older:
            common.write_json(Path(base) / "config.json", older | dict(num_experts=older["num_local_experts"], rope_theta=10000.0))
        loaded, settings = load_model(Path(base))
    predicate = None
    if overrides:

        def predicate(path, module):
            return next((value for part, value in overrides.items() if part in path), True)

    quantized, settings = quantize_model(loaded, settings, group_size, bits, mode=mode, quant_predicate=predicate)
    folder = common.empty_folder(name)
    save_model(folder, quantized)
    (folder / "model.safetensors.index.json").unlink(missing_ok=True) if (folder / "model.safetensors").exists() else None
    for part, value in (overrides or {}).items():
        if value is False:
            settings["quantization"] |= {key: False for key, _ in quantized.named_modules() if part in key and key.endswith("_proj")}
    save_config(settings, folder / "config.json")
    again, _ = load_model(folder)
    again.set_dtype(mx.float32)
    tensors = common.read_tensors(folder)
    stored = {key: numbers(value) for key, value in tensors.items()}
    quantization = json.loads((folder / "config.json").read_text())["quantization"]
    own, exact = {}, {}
    for stem in [key.removesuffix(".scales") for key in tensors if key.endswith(".scales")]:
        one = settings_of(quantization, stem)
        how = (one["bits"], one["group_size"], one.get("mode", "affine"))
        own[stem + ".weight"] = torch.from_numpy(own_values(stored, stem, *how))
        exact[stem + ".weight"] = torch.from_numpy(exact_values(stored, stem, *how))
    plain = {key: value for key, value in tensors.items() if key not in own and not key.endswith((".scales", ".biases"))}

    def answers(tokens):
        return torch.from_numpy(np.array(again(mx.array(tokens[None].numpy())).astype(mx.float32)))[0]

    common.finish(name, config, plain, expert_names(own), expert_names(exact), own_logits=answers, tolerance=0.001)


def case(config, *settings, **more):
    return lambda name: make(name, config(), *settings, **more)


def affine(bits, group_size):
    return {"bits": bits, "group_size": group_size, "mode": "affine"}


CASES = {
    "mlx_4bit": case(lambda: common.llama(attention_bias=True, num_hidden_layers=2, intermediate_size=128), 4, 64),
    "mlx_3bit_tied": case(lambda: common.llama(tie_word_embeddings=True), 3, 32, dtype=torch.float16),
    "mlx_every_width": case(
        lambda: common.wide_llama(intermediate_size=128),
        4,
        64,
        overrides={
            "q_proj": affine(2, 128),
            "k_proj": affine(3, 64),
            "v_proj": affine(5, 32),
            "o_proj": affine(6, 64),
            "gate_proj": affine(8, 128),
            "up_proj": False,
            "embed_tokens": affine(6, 32),
            "lm_head": affine(8, 32),
        },
    ),
    "mlx_mxfp4": case(common.llama, 4, 32, "mxfp4"),
    "mlx_nvfp4": case(common.llama, 4, 16, "nvfp4"),
    "mlx_mxfp8": case(common.llama, 8, 32, "mxfp8"),
    "mlx_experts": case(common.mixture, 4, 32),
}
