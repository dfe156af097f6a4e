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
        times = metrics.raw_metrics.m_new_token_times  # ms, one a step: get_tpot() divides by the batch
        if len(times) != load["output_tokens"]:
            raise RuntimeError(f"{load['output_tokens']} tokens were asked for and {len(times)} steps taken")
        return {"prefill_ms": metrics.get_ttft().mean, "tpot_ms": (times[-1] - times[0]) / (len(times) - 1)}

    return {"peer": "openvino", "version": f"openvino-genai {genai.__version__}", "weights": "as in the file"}, run


protocol.serve(make)
