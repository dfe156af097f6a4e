#!/usr/bin/env python3
"""Makes the checkpoints of tests/golden/gptqmodel with GPTQModel itself: it quantizes, packs and saves a tiny Llama, reads it again, and
says what its weights mean and which logits follow.

Run by hand when a case is added; the results are committed. Needs gptqmodel (7.7.0 was used, with torch 2.14.1 and transformers 5.24.0)
on a processor, no GPU:
  python tests/golden/make_gptqmodel.py [CASE...]
A case is a folder as the tool wrote it, and beside that:
  expected.json         tokens, and of each quantized matrix the SHA-256 of the values that the tool unpacks: float32 [out, in], in a row
  expected.safetensors  the logits that Transformers gives in float32 for the twin: the same model with those values
The tool's own forward pass, in float16, has to give nearly the same logits.
"""
import hashlib
import json
import os
import pathlib
import shutil
import sys
import tempfile

os.environ |= {"CUDA_VISIBLE_DEVICES": "", "GPTQMODEL_CPU_WORKERS": "2"}

import torch
from gptqmodel import BACKEND, GPTQModel, QuantizeConfig
from safetensors.torch import save_file
from tokenizers import Tokenizer, models
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

HERE = pathlib.Path(__file__).parent
VOCABULARY = 96
SHARD_BYTES = 48 * 1024
CASES = {  # what the model is like, and the settings of the tool
    # What `dynamic` mixes in one layer: 8 bits, no quantization, and columns in order beside ones that are not. A quantized head.
    "dynamic": (dict(attention_bias=True),
                dict(bits=4, group_size=32, desc_act=True, sym=True, lm_head=True, format="gptq",
                     dynamic={r"-:.*layers\.0\.self_attn\.v_proj": {}, r"+:.*layers\.1\.self_attn\.k_proj": {"bits": 8},
                              r"+:.*layers\.1\.self_attn\.q_proj": {"desc_act": False}, r"-:.*layers\.1\.mlp\.gate_proj": {}})),
    # The tool's defaults for the order; 160 columns of down_proj are two groups and a half.
    "v2_asym": (dict(intermediate_size=160, num_hidden_layers=1), dict(bits=4, group_size=64, sym=False, format="gptq_v2")),
    # Zero points of 0, which the older format cannot say but by borrowing from their neighbours.
    "v1_asym": (dict(num_hidden_layers=1), dict(bits=4, group_size=32, desc_act=True, sym=False, format="gptq")),
    # The usual size of groups, with 4 bits and 8, zero points and none.
    "groups_of_128": (dict(hidden_size=128, intermediate_size=256, num_hidden_layers=1, num_attention_heads=8),
                      dict(bits=4, group_size=128, desc_act=True, sym=True, format="gptq_v2",
                           dynamic={r"+:.*(q|up)_proj": {"sym": False}, r"+:.*k_proj": {"bits": 8}, r"+:.*v_proj": {"bits": 8, "sym": False}})),
    # 3 bits, which cross words, beside 2 and 8; one group a row where columns are in order.
    "bits3": (dict(num_hidden_layers=1),
              dict(bits=3, group_size=32, desc_act=True, sym=False, format="gptq",
                   dynamic={r"+:.*k_proj": {"bits": 2}, r"+:.*v_proj": {"bits": 8}, r"+:.*o_proj": {"group_size": -1, "desc_act": False},
                            r"+:.*down_proj": {"sym": True}, r"+:.*gate_proj": {"bits": 2, "sym": True}})),
}


def make_base(folder, changes):
    """A model of random weights, large enough to be worth rounding, and a tokenizer, without which the tool reads none."""
    config = LlamaConfig(**dict(vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
                                num_key_value_heads=2, head_dim=16, max_position_embeddings=128, tie_word_embeddings=False) | changes)
    model = LlamaForCausalLM(config).half()
    with torch.no_grad():
        for parameter in model.parameters():
            scale = 0.2 if parameter.ndim == 1 else 1.5 / parameter.shape[1]**0.5
            parameter.copy_(scale * torch.randn(parameter.shape) + (1.0 if parameter.ndim == 1 else 0.0))
        for name, parameter in model.named_parameters():
            if "_proj.weight" in name:
                parameter[3:6].abs_()  # their zero points are 0
    model.save_pretrained(folder)
    words = {chr(32 + i): i for i in range(VOCABULARY - 2)} | {"<pad>": VOCABULARY - 2, "</s>": VOCABULARY - 1}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<pad>"))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<pad>").save_pretrained(folder)


def quantize(base, folder, settings):
    model = GPTQModel.load(str(base), QuantizeConfig(offload_to_disk=False, **settings), device="cpu", dtype=torch.float16)
    texts = [{"input_ids": torch.randint(0, VOCABULARY - 2, (1, 64)), "attention_mask": torch.ones(1, 64, dtype=torch.long)} for _ in range(8)]
    model.quantize(texts, batch_size=1)
    model.save(str(folder), max_shard_size=SHARD_BYTES)
    (folder / "quant_log.csv").unlink(missing_ok=True)


def twin_of(loaded):
    """The weights of a checkpoint as the tool reads and unpacks them, in float32, and which of them are quantized."""
    weights, quantized = {}, []
    for name, module in loaded.model.named_modules():
        if not hasattr(module, "dequantize_weight"):
            continue
        kept, module.scales = module.scales, module.scales.float()  # it unpacks in the type of the scales
        weights[name + ".weight"] = module.dequantize_weight().T.float().contiguous()
        module.scales = kept
        quantized.append(name + ".weight")
    for name, tensor in loaded.model.state_dict().items():
        if name.endswith((".weight", ".bias")) and name not in weights:
            weights[name] = tensor.float().contiguous()
    return weights, quantized


def make(name):
    torch.manual_seed(sum(map(ord, name)))
    changes, settings = CASES[name]
    folder = HERE / "gptqmodel" / name
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as base:
        make_base(base, changes)
        quantize(pathlib.Path(base), folder, settings)
        config = LlamaConfig.from_pretrained(base)
    loaded = GPTQModel.load(str(folder), backend=BACKEND.TORCH, device="cpu", dtype=torch.float16)
    weights, quantized = twin_of(loaded)
    twin = LlamaForCausalLM(config).float().eval()
    twin.load_state_dict(weights)
    tokens = torch.randint(0, VOCABULARY - 2, (48,))
    with torch.inference_mode():
        logits, own = twin(tokens[None]).logits[0], loaded.model(tokens[None]).logits[0].float()
    save_file({"logits": logits}, folder / "expected.safetensors")
    hashes = {key: hashlib.sha256(weights[key].numpy().tobytes()).hexdigest() for key in quantized}
    (folder / "expected.json").write_text(json.dumps({"tokens": tokens.tolist(), "weights": hashes}, indent=1) + "\n")
    difference = (logits - own).abs().max().item()
    print(f"{name}: the tool's own logits are within {difference:.4f} of the twin's, whose largest is {logits.abs().max().item():.2f}")
    assert difference < 0.05, difference


if __name__ == "__main__":
    for case in sys.argv[1:] or CASES:
        make(case)
