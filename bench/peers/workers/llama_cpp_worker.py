"""llama.cpp through its C API, as llama-bench and llama-batched-bench drive it: random tokens, no sampling."""
import ctypes
import time

import llama_cpp
from llama_cpp import llama_cpp as api

import protocol

STEP_TOKENS = 2048  # n_batch, the default of llama-bench
MICRO_TOKENS = 512  # n_ubatch


class Batch:
    """A llama_batch filled token by token."""

    def __init__(self, capacity):
        self.batch = api.llama_batch_init(capacity, 0, 1)
        self.batch.n_tokens = 0

    def add(self, token, position, sequence, wants_logits):
        i = self.batch.n_tokens
        self.batch.token[i] = token
        self.batch.pos[i] = position
        self.batch.n_seq_id[i] = 1
        self.batch.seq_id[i][0] = sequence
        self.batch.logits[i] = wants_logits
        self.batch.n_tokens += 1

    def decode(self, context):
        if self.batch.n_tokens == 0:
            return
        if status := api.llama_decode(context, self.batch):
            raise RuntimeError(f"llama_decode returned {status}")
        self.batch.n_tokens = 0

    def full(self):
        return self.batch.n_tokens == STEP_TOKENS


def new_context(model, load, threads):
    params = api.llama_context_default_params()
    params.n_ctx = load["batch"] * ((load["prompt_tokens"] + load["output_tokens"] + 255) // 256 * 256)
    params.n_batch, params.n_ubatch, params.n_seq_max = STEP_TOKENS, MICRO_TOKENS, load["batch"]
    params.n_threads = params.n_threads_batch = threads
    params.no_perf = True
    context = api.llama_init_from_model(model, params)
    if not context:
        raise RuntimeError("llama_init_from_model failed")
    return context


def make(path, threads):
    quiet = api.llama_log_callback(lambda level, text, data: None)
    api.llama_log_set(quiet, ctypes.c_void_p(0))
    api.llama_backend_init()
    model = api.llama_model_load_from_file(path.encode(), api.llama_model_default_params())
    if not model:
        raise RuntimeError(f"{path}: llama.cpp cannot load it")
    vocabulary = api.llama_vocab_n_tokens(api.llama_model_get_vocab(model))
    name = ctypes.create_string_buffer(200)
    api.llama_model_desc(model, name, len(name))
    contexts = {}

    def run(load):
        size = (load["batch"], load["prompt_tokens"] + load["output_tokens"])
        if size not in contexts:
            for old in contexts.values():
                api.llama_free(old)
            contexts.clear()
            contexts[size] = new_context(model, load, threads)
        context = contexts[size]
        api.llama_memory_clear(api.llama_get_memory(context), False)
        sequences, length = range(load["batch"]), load["prompt_tokens"]
        prompts = [protocol.prompt(load, s, vocabulary) for s in sequences]
        batch = Batch(STEP_TOKENS)
        start = time.perf_counter()
        for s in sequences:
            for i, token in enumerate(prompts[s]):
                batch.add(token, i, s, i + 1 == length)
                if batch.full():
                    batch.decode(context)
        batch.decode(context)
        api.llama_synchronize(context)
        first = time.perf_counter()
        steps = load["output_tokens"] - 1
        for step in range(steps):
            for s in sequences:
                batch.add(prompts[s][step % length], length + step, s, True)
            batch.decode(context)
            api.llama_synchronize(context)
        end = time.perf_counter()
        api.llama_batch_free(batch.batch)
        return {"prefill_ms": 1000 * (first - start), "tpot_ms": 1000 * (end - first) / steps}

    make.keep = quiet  # the library calls it as long as it lives
    return {"peer": "llama.cpp", "version": f"llama-cpp-python {llama_cpp.__version__}", "weights": name.value.decode()}, run


protocol.serve(make)
