"""Gemma's checkpoints of quantization-aware training as Transformers 5.24 reads them (quant_method gemma), here of a Llama, packed by hand
after its unpacking functions and unpacked by its QuantizedLinear and QuantizedEmbedding. config.json: num_bits, module_quant_configs {a
pattern found anywhere in the name: {num_bits}}, the first that matches, quantize_embeddings, modules_to_not_convert.

  NAME.weight  u8 [out, ceil(in / 4)] 2 bits, u8 [out, ceil(in / 2)] 4 bits, the first value in the low bits, stored as value + 2 or + 8; i8
               [out, in] 8 bits
  NAME.weight_scale f32 [out, 1], multiplied by; input_activation_scale, output_activation_scale f32 [], 0: the activation is not rounded
  embeddings   embed_tokens.embedding_quantized as weight, embed_tokens.embedding_scale f32 [rows, 1]; no tensor is called weight.
               Transformers multiplies them in the model's type, the linears' in the activations': exact is the product in float32.
"""

import numpy as np
import torch
from transformers import AutoModelForCausalLM
from transformers.integrations.gemma_quant import QuantizedEmbedding, QuantizedLinear

from quantized_maker import common

PARTS = ("weight_scale", "input_activation_scale", "output_activation_scale", "embedding_quantized", "embedding_scale")


def pack(values, bits):
    """Signed values [rows, n] -> bytes, the first in the low bits."""
    if bits == 8:
        return values.to(torch.int8)
    each = 8 // bits
    values = torch.nn.functional.pad((values + 2 ** (bits - 1)).to(torch.uint8), (0, -values.shape[1] % each)).reshape(
        values.shape[0], -1, each
    )
    return sum(values[..., i] << (bits * i) for i in range(each)).to(torch.uint8)


def exact_values(packed, scale, bits, columns):
    octets = packed.numpy()
    if bits < 8:
        each = 8 // bits
        octets = ((octets[..., None] >> (bits * np.arange(each, dtype=np.uint8))) & (2**bits - 1)).reshape(octets.shape[0], -1)[
            :, :columns
        ].astype(np.int64) - 2 ** (bits - 1)
    return octets.astype(np.float32) * np.repeat(scale.numpy(), columns // scale.shape[1], 1)


def rounded(weight, bits, blocks=1):
    parts = weight.float().reshape(weight.shape[0], blocks, -1)
    scale = parts.abs().amax(-1) / (1 if bits == 2 else 2 ** (bits - 1) - 1)
    return pack((parts / scale[..., None]).round().reshape(weight.shape), bits), scale


def make(name, config, bits_of, settings, embedding_blocks=0):
    state, exact = common.state_of(common.random_model(config, torch.bfloat16, name)), {}
    for key in common.quantized_linears(state, settings.get("modules_to_not_convert") or ()):
        bits, columns, stem = bits_of(key), state[key].shape[1], key.removesuffix("weight")
        state[key], state[stem + "weight_scale"] = rounded(state[key], bits)
        state |= {stem + part: torch.zeros(()) for part in ("input_activation_scale", "output_activation_scale")}
        exact[key] = exact_values(state[key], state[stem + "weight_scale"], bits, columns)
    if embedding_blocks:
        weight, stem = state.pop("model.embed_tokens.weight"), "model.embed_tokens."
        state[stem + "embedding_quantized"], state[stem + "embedding_scale"] = rounded(weight, settings["num_bits"], embedding_blocks)
        exact[stem + "weight"] = exact_values(
            state[stem + "embedding_quantized"], state[stem + "embedding_scale"], settings["num_bits"], weight.shape[1]
        )
    folder = common.save(name, config, {"quant_method": "gemma"} | settings, state)
    loaded = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
    own = {}
    for module_name, module in loaded.named_modules():
        if isinstance(module, QuantizedLinear):
            own[module_name + ".weight"] = module._dequantize_weights().detach()
        elif isinstance(module, QuantizedEmbedding):
            module.output_dtype = torch.float32
            own[module_name + ".weight"] = module.weight.detach()
            module.output_dtype = torch.bfloat16

    def answers(tokens):
        with torch.inference_mode():
            return loaded(tokens[None]).logits[0]

    plain = {key: value for key, value in state.items() if key not in own and key.rsplit(".", 1)[1] not in PARTS}
    common.finish(name, config, plain, own, exact, own_logits=answers, tolerance=0.5)


CASES = {
    "gemma_4bit": lambda name: make(
        name,
        common.llama(),
        lambda key: 8 if "down_proj" in key else 2 if "k_proj" in key else 4,
        dict(
            num_bits=4,
            quantize_embeddings=False,
            module_quant_configs={"down_proj": {"num_bits": 8}, "self_attn[.]k": {"num_bits": 2}},
            modules_to_not_convert=["lm_head"],
        ),
    ),
    "gemma_embedding": lambda name: make(
        name,
        common.llama(intermediate_size=90),
        lambda key: 4,
        dict(num_bits=4, quantize_embeddings=True, modules_to_not_convert=["lm_head", "v_proj"]),
        1,
    ),
}
