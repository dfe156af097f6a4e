"""bitsandbytes 0.50.2 through Transformers 5.24, on a processor: from_pretrained with a BitsAndBytesConfig rounds, save_pretrained writes.

4 bits: the matrix is one row of out * in values, in blocks of 64 that go over the ends of rows; for a matrix NAME.weight
  NAME.weight                   u8 [out * in / 2, 1], the even value in the HIGH nibble; with bnb_4bit_quant_storage another type, the same
                                bytes (bf16: [out * in / 4, 1])
  NAME.weight.absmax            f32 [blocks]; nested: u8 [blocks]
  NAME.weight.quant_map         f32 [16], the levels by code
  NAME.weight.quant_state.bitsandbytes__nf4 or __fp4   u8, JSON: quant_type, blocksize, dtype, shape; nested: nested_blocksize,
                                                       nested_dtype, nested_offset
  nested besides                NAME.weight.nested_absmax f32 [blocks / 256], NAME.weight.nested_quant_map f32 [256]
  w = level * absmax; nested: absmax = nested_quant_map[absmax] * nested_absmax + nested_offset
int8: NAME.weight i8 [out, in], NAME.SCB f32 [out], NAME.weight_format u8 [] (0: row major). w = q * SCB * (1 / 127 in float32), products
from the left, as int8_vectorwise_dequant has them. The columns of outliers (llm_int8_threshold) are chosen by the input and move no weight.
Trap: the kernel for processors of 0.50.2 begins a block at each row, and reads matrices wrong whose columns are no multiple of 64 (its
quantizer and the GPU's kernels do not): for these the package's generic function unpacks, and their own logits are not compared.
Skipped modules stand in llm_int8_skip_modules, for 4 bits too; where it is null the head is not quantized, nor what shares its tensor.
"""

import json
import tempfile

import bitsandbytes
import numpy as np
import torch
from bitsandbytes.backends.default.ops import _dequantize_4bit_compute
from transformers import AutoModelForCausalLM, BitsAndBytesConfig

from quantized_maker import codes, common

torch.compiler.set_stance("force_eager")


def exact_values(t, key):
    stem = key.removesuffix("weight")
    if stem + "SCB" in t:
        return t[key].numpy().astype(np.float32) * t[stem + "SCB"].numpy()[:, None] * np.float32(1 / 127)
    said = next(name for name in t if name.startswith(key + ".quant_state.bitsandbytes__"))
    state = json.loads(bytes(t[said].numpy()))
    absmax = t[key + ".absmax"].numpy()
    if "nested_blocksize" in state:
        assert state["nested_blocksize"] == 256
        outer = np.repeat(t[key + ".nested_absmax"].numpy(), 256)[: absmax.size]
        absmax = t[key + ".nested_quant_map"].numpy()[absmax] * outer + np.float32(state["nested_offset"])
    values = t[key + ".quant_map"].numpy()[codes.nibbles(t[key].view(torch.uint8).numpy().reshape(-1), low_first=False)]
    return (values * np.repeat(absmax, state["blocksize"])[: values.size]).reshape(state["shape"])


def own_values(module):
    if isinstance(module, bitsandbytes.nn.Linear8bitLt):
        return bitsandbytes.functional.int8_vectorwise_dequant(module.weight.data, module.weight.SCB)
    state = module.weight.quant_state
    if state.shape[-1] % state.blocksize == 0:
        return bitsandbytes.functional.dequantize_4bit(module.weight.data, state)
    absmax = bitsandbytes.functional.dequantize_blockwise(state.absmax, state.state2) + state.offset if state.nested else state.absmax
    return _dequantize_4bit_compute(
        module.weight.data.view(torch.uint8).reshape(-1), absmax, state.code, state.blocksize, state.shape, state.dtype
    )


def make(name, config, dtype, settings):
    with tempfile.TemporaryDirectory() as base:
        common.random_model(config, dtype, name).save_pretrained(base)
        model = AutoModelForCausalLM.from_pretrained(
            base, quantization_config=BitsAndBytesConfig(**settings), dtype=dtype, device_map="cpu"
        )
        folder = common.empty_folder(name)
        model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    (folder / "model.safetensors").chmod(0o644)
    tensors = common.read_tensors(folder)
    loaded = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, device_map="cpu")
    own = {
        key + ".weight": own_values(module)
        for key, module in loaded.named_modules()
        if isinstance(module, (bitsandbytes.nn.Linear4bit, bitsandbytes.nn.Linear8bitLt))
    }
    exact = {key: exact_values(tensors, key) for key in own}
    plain = {key: value for key, value in tensors.items() if key not in own and key.endswith((".weight", ".bias"))}

    def answers(tokens):
        with torch.inference_mode():
            return loaded(tokens[None]).logits[0]

    whole = all(value.shape[-1] % 64 == 0 for value in own.values())
    common.finish(name, config, plain, own, exact, own_logits=answers if whole else None, tolerance=0.2)


def case(config, dtype=torch.bfloat16, **settings):
    return lambda name: make(name, config(), dtype, settings)


def uneven(**changes):
    """80 columns of down_proj: blocks go over the ends of its rows."""
    return common.llama(intermediate_size=80, attention_bias=True, **changes)


CASES = {
    "bnb_nf4": case(uneven, load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16),
    "bnb_nf4_nested": case(
        lambda: common.wide_llama(tie_word_embeddings=True),
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    ),
    "bnb_nf4_in_bf16": case(
        common.llama,
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_quant_storage=torch.bfloat16,
        bnb_4bit_compute_dtype=torch.bfloat16,
    ),
    "bnb_fp4": case(common.llama, torch.float16, load_in_4bit=True, bnb_4bit_quant_type="fp4", llm_int8_skip_modules=["lm_head", "v_proj"]),
    "bnb_fp4_nested": case(uneven, torch.float32, load_in_4bit=True, bnb_4bit_quant_type="fp4", bnb_4bit_use_double_quant=True),
    "bnb_int8": case(lambda: common.llama(attention_bias=True), torch.float16, load_in_8bit=True),
}
