"""vLLM on the CPU: a directory of safetensors."""
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = sys.argv[2]
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "2")  # GiB
os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")

import vllm

import protocol


def make(path, threads):
    llm = vllm.LLM(model=path, skip_tokenizer_init=True, enable_prefix_caching=False, max_model_len=4096)
    vocabulary = llm.llm_engine.model_config.get_vocab_size()

    def seconds(load, output_tokens):
        prompts = [{"prompt_token_ids": protocol.prompt(load, s, vocabulary)} for s in range(load["batch"])]
        params = vllm.SamplingParams(temperature=0, max_tokens=output_tokens, ignore_eos=True, detokenize=False)
        start = time.perf_counter()
        llm.generate(prompts, params, use_tqdm=False)
        return time.perf_counter() - start

    def run(load):
        first = seconds(load, 1)
        whole = seconds({**load, "seed": load["seed"] + 1000003}, load["output_tokens"])
        return {"prefill_ms": 1000 * first, "tpot_ms": 1000 * (whole - first) / (load["output_tokens"] - 1)}

    return {"peer": "vllm", "version": f"vllm {vllm.__version__}", "weights": "as in the files"}, run


protocol.serve(make)
