"""OpenVINO GenAI with its continuous batching: requests join at any step, one thread steps for all."""
import threading

import numpy as np
import openvino
import openvino_genai as genai

import completions_server


def make(path, threads):
    scheduler = genai.SchedulerConfig()
    scheduler.enable_prefix_caching = False
    scheduler.cache_size = 2  # GB
    pipe = genai.ContinuousBatchingPipeline(path, scheduler, "CPU", {"INFERENCE_NUM_THREADS": threads})
    vocabulary = len(pipe.get_tokenizer().get_vocab())
    changed = threading.Condition()
    numbers = iter(range(1 << 60))
    steps = 0

    def work():
        nonlocal steps
        while True:
            with changed:
                changed.wait_for(pipe.has_non_finished_requests)
            pipe.step()
            with changed:
                steps += 1
                changed.notify_all()

    threading.Thread(target=work, daemon=True).start()

    def stream(ids, max_tokens, emit):
        config = genai.GenerationConfig(max_new_tokens=max_tokens, ignore_eos=True, do_sample=False)
        with changed:
            handle = pipe.add_request(next(numbers), openvino.Tensor(np.array([ids], dtype=np.int64)), config)
            changed.notify_all()
        seen, at = 0, 0
        while seen < max_tokens:
            with changed:
                changed.wait_for(lambda: steps != at or handle.can_read())
                at = steps
            while handle.can_read():
                for output in handle.read().values():
                    for token in output.generated_ids:
                        seen += 1
                        emit(f" {token}")

    return {"peer": "openvino", "version": f"openvino-genai {genai.__version__}", "weights": "as in the file", "vocab_size": vocabulary}, stream


completions_server.serve(make)
