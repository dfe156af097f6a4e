"""Hugging Face Transformers on the CPU: a directory of safetensors in the type they have, or a .gguf unpacked to bf16."""
import pathlib
import time

import torch
import transformers

import protocol


def make(path, threads):
    torch.set_num_threads(threads)
    place = pathlib.Path(path)
    source = (place.parent, {"gguf_file": place.name}) if place.suffix == ".gguf" else (place, {})
    model = transformers.AutoModelForCausalLM.from_pretrained(source[0], dtype=torch.bfloat16 if source[1] else "auto", **source[1]).eval()

    @torch.inference_mode()
    def run(load):
        prompts = [protocol.prompt(load, s, model.config.vocab_size) for s in range(load["batch"])]
        tokens = torch.tensor(prompts)
        start = time.perf_counter()
        out = model(input_ids=tokens, use_cache=True, logits_to_keep=1)
        token = out.logits[:, -1].argmax(-1, keepdim=True)
        first = time.perf_counter()
        for _ in range(load["output_tokens"] - 1):
            out = model(input_ids=token, past_key_values=out.past_key_values, use_cache=True, logits_to_keep=1)
            token = out.logits[:, -1].argmax(-1, keepdim=True)
        end = time.perf_counter()
        return {"prefill_ms": 1000 * (first - start), "tpot_ms": 1000 * (end - first) / (load["output_tokens"] - 1)}

    version = f"transformers {transformers.__version__}, torch {torch.__version__}"
    return {"peer": "transformers", "version": version, "weights": str(model.dtype)}, run


protocol.serve(make)
