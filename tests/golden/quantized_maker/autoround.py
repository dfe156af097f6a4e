"""auto-round 0.16.1 (with py-cpuinfo) rounds to nearest (iters=0), packs and saves; its torch layers, or AutoAWQ's function, unpack. Models in
float16.

quant_method auto-round; packing_format says how the tensors lie, bits, group_size, sym, and extra_config {name or pattern: {bits,
group_size, sym ...}} what holds for single modules (bits 16: not quantized); block_name_to_quantize names the blocks that are quantized
("model.layers"), all else is plain. The tool chooses the packing by itself:
  auto_round:auto_gptq  (symmetric) GPTQ's tensors without g_idx; zero points less one: 4 bits 0x77777777
  auto_round:auto_awq   (4 bits with zero points) AWQ's gemm tensors
  auto_round            (2, 3 bits with zero points) GPTQ's tensors without g_idx; zero points AS THEY ARE. Files of all bits have it that
                        older versions wrote.
Asked for auto_gptq or auto_awq, it writes quant_method gptq (with g_idx, no checkpoint_format: v1) or awq.
  qweight i32 [in b / 32, out], qzeros i32 [in / g, out b / 32]: dense streams down the columns, along the rows; 3-bit codes cross words.
  scales f16 [in / g, out]. w = (q - z) * scale
"""

import tempfile
from pathlib import Path

import numpy as np
import torch
from auto_round import AutoRound
from tokenizers import Tokenizer, models
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from quantized_maker import awq, codes, common

PARTS = (".qweight", ".qzeros", ".scales", ".g_idx")


def tokenizer():
    words = {chr(32 + i): i for i in range(common.VOCABULARY - 2)} | {"<pad>": common.VOCABULARY - 2, "</s>": common.VOCABULARY - 1}
    made = Tokenizer(models.WordLevel(words, unk_token="<pad>"))
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="</s>", unk_token="<pad>")


def exact_values(t, stem, bits, less_one):
    words, zeros, scales = t[stem + ".qweight"].numpy(), t[stem + ".qzeros"].numpy(), t[stem + ".scales"].float().numpy()
    inputs = words.shape[0] * 32 // bits
    quantized = codes.stream(words.T, bits, inputs).T
    zeros = codes.stream(zeros, bits, scales.shape[1]) + less_one
    group = np.arange(inputs) // (inputs // scales.shape[0])
    return ((quantized - zeros[group]).astype(np.float32) * scales[group]).T


def bits_of(quantization, stem):
    return quantization.get("extra_config", {}).get(stem, {}).get("bits", quantization["bits"])


def make(name, config, wanted, keep_files=("config.json", "model.safetensors"), **settings):
    model = common.random_model(config, torch.float16, name)
    with tempfile.TemporaryDirectory() as place:
        rounding = AutoRound(model, tokenizer(), iters=0, device_map="cpu", disable_opt_rtn=True, **settings)
        rounding.quantize_and_save(output_dir=place, format=wanted)
        written = next(Path(place).rglob("model.safetensors")).parent
        folder = common.empty_folder(name)
        for file in keep_files:
            (folder / file).write_bytes((written / file).read_bytes())
    tensors, quantization = common.read_tensors(folder), common.read_json(folder / "config.json")["quantization_config"]
    packing = quantization.get("packing_format", quantization["quant_method"])
    stems = [key.removesuffix(".qweight") for key in tensors if key.endswith(".qweight")]
    own, exact = {}, {}
    loaded = None if "awq" in packing else AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float16, device_map="cpu")
    for stem in stems:
        if loaded is None:
            stored = {part[1:]: tensors[stem + part] for part in PARTS if stem + part in tensors}
            own[stem + ".weight"] = (
                awq.autoawq("utils.packing_utils")
                .dequantize_gemm(stored["qweight"], stored["qzeros"], stored["scales"], 4, settings["group_size"])
                .t()
            )
            exact[stem + ".weight"] = awq.unpack_gemm({key: value.numpy() for key, value in stored.items()}, "")
        else:
            layer = loaded.get_submodule(stem)
            bias, layer.bias = layer.bias, None
            with torch.inference_mode():
                own[stem + ".weight"] = layer(torch.eye(layer.infeatures, dtype=torch.float16)).t().contiguous()
            layer.bias = bias
            exact[stem + ".weight"] = exact_values(tensors, stem, bits_of(quantization, stem), 0 if packing == "auto_round" else 1)
    plain = {key: value for key, value in tensors.items() if not key.endswith(PARTS)}
    common.finish(name, config, plain, own, exact)


MIXED = {
    "model.layers.0.self_attn.k_proj": {"bits": 8},
    "model.layers.0.self_attn.v_proj": {"bits": 16},
    "model.layers.0.mlp.up_proj": {"bits": 4, "group_size": -1},
}
CASES = {
    "autoround_gptq": lambda name: make(
        name, common.llama(attention_bias=True), "auto_round", bits=4, group_size=32, sym=True, layer_config=MIXED
    ),
    "autoround_awq": lambda name: make(name, common.llama(), "auto_round", bits=4, group_size=32, sym=False),
    "autoround_own_2bit": lambda name: make(name, common.llama(), "auto_round", bits=2, group_size=32, sym=False),
    "autoround_own_3bit": lambda name: make(name, common.llama(), "auto_round", bits=3, group_size=32, sym=False),
    "autoround_gptq_3bit": lambda name: make(name, common.llama(), "auto_round", bits=3, group_size=32, sym=True),
    "autoround_as_awq": lambda name: make(name, common.llama(), "auto_awq", bits=4, group_size=32, sym=False),
}
