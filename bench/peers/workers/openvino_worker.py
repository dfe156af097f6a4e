"""OpenVINO GenAI on the CPU: a .gguf, which it converts itself, or a directory with OpenVINO's own files."""
import numpy as np
import openvino
import openvino_genai as genai

import protocol


def make(path, threads):
    pipe = genai.LLMPipeline(path, "CPU", INFERENCE_NUM_THREADS=threads, PERFORMANCE_HINT="LATENCY")
    vocabulary = len(pipe.get_tokenizer().get_vocab())

    def run(load):
        ids = np.array([protocol.prompt(load, s, vocabulary) for s in range(load["batch"])], dtype=np.int64)
        inputs = genai.TokenizedInputs(openvino.Tensor(ids), openvino.Tensor(np.ones_like(ids)))
        config = genai.GenerationConfig(max_new_tokens=load["output_tokens"], ignore_eos=True, do_sample=False)
        metrics = pipe.generate(inputs, config).perf_metrics
        return {"prefill_ms": metrics.get_ttft().mean, "tpot_ms": metrics.get_tpot().mean}

    return {"peer": "openvino", "version": f"openvino-genai {genai.__version__}", "weights": "as in the file"}, run


protocol.serve(make)
