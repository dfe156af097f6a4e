"""Hugging Face Transformers, one request at a time: what vLLM's paper compared itself with."""
import pathlib
import threading

import torch
import transformers

import completions_server


def make(path, threads):
    torch.set_num_threads(threads)
    place = pathlib.Path(path)
    source = (place.parent, {"gguf_file": place.name}) if place.suffix == ".gguf" else (place, {})
    model = transformers.AutoModelForCausalLM.from_pretrained(source[0], dtype=torch.bfloat16 if source[1] else "auto", **source[1]).eval()
    turn = threading.Lock()

    @torch.inference_mode()
    def stream(ids, max_tokens, emit):
        with turn:
            out = model(input_ids=torch.tensor([ids]), use_cache=True, logits_to_keep=1)
            for step in range(max_tokens):
                token = out.logits[:, -1].argmax(-1, keepdim=True)
                emit(f" {token.item()}")
                if step + 1 < max_tokens:
                    out = model(input_ids=token, past_key_values=out.past_key_values, use_cache=True, logits_to_keep=1)

    version = f"transformers {transformers.__version__}, torch {torch.__version__}"
    return {"peer": "transformers", "version": version, "weights": str(model.dtype), "vocab_size": model.config.vocab_size}, stream


completions_server.serve(make)
