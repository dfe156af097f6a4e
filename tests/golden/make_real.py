#!/usr/bin/env python3
"""Makes tests/golden/real_model.json: what Hugging Face Transformers computes in float32 with the dequantized weights of the real
model (SmolLM2-135M-Instruct.Q4_1.gguf): greedy continuations with the margin of each choice, and the perplexity of a text.

Run by hand (needs torch, transformers, gguf): make_real.py MODEL.gguf
"""

import json
import math
import pathlib
import sys

import gguf
import numpy as np
import torch
import transformers as hf

HERE = pathlib.Path(__file__).parent
TEXT = HERE.parent / "data" / "licenses.txt"
WINDOW = 1024
PROMPTS = [
    "The capital of France is",
    "Once upon a time, in a small village by the sea,",
    "def fibonacci(n):\n    ",
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
    "<|im_start|>user\nWhy is the sky blue?<|im_end|>\n<|im_start|>assistant\n",
]


def field(reader, name):
    return reader.fields[name].contents()


def unpermute(weight, heads):
    shape = weight.shape
    return weight.reshape(heads, shape[0] // heads // 2, 2, *shape[1:]).swapaxes(1, 2).reshape(shape)


def load(path):
    reader = gguf.GGUFReader(path)
    heads, kv_heads = field(reader, "llama.attention.head_count"), field(reader, "llama.attention.head_count_kv")
    config = hf.LlamaConfig(
        vocab_size=len(field(reader, "tokenizer.ggml.tokens")), hidden_size=field(reader, "llama.embedding_length"),
        intermediate_size=field(reader, "llama.feed_forward_length"), num_hidden_layers=field(reader, "llama.block_count"),
        num_attention_heads=heads, num_key_value_heads=kv_heads,
        max_position_embeddings=field(reader, "llama.context_length"),
        rms_norm_eps=field(reader, "llama.attention.layer_norm_rms_epsilon"), tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": field(reader, "llama.rope.freq_base")})
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    model = hf.LlamaForCausalLM(config).eval()
    tensors = {t.name: gguf.quants.dequantize(t.data, t.tensor_type) for t in reader.tensors}
    state = {}
    for name in model.state_dict():
        if name == "lm_head.weight":
            continue
        value = tensors[names.get_name(name, try_suffixes=(".weight",))]
        if ".q_proj." in name or ".k_proj." in name:
            value = unpermute(value, heads if ".q_proj." in name else kv_heads)
        state[name] = torch.from_numpy(np.ascontiguousarray(value, dtype=np.float32))
    missing = model.load_state_dict(state, strict=False)
    assert set(missing.missing_keys) <= {"lm_head.weight"} and not missing.unexpected_keys, missing
    model.tie_weights()
    return model, reader


def tokenizer_of(reader):
    """The tokenizer of the vocabulary in the file, built with Hugging Face tokenizers: an oracle independent of ours."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    tokens, types = field(reader, "tokenizer.ggml.tokens"), field(reader, "tokenizer.ggml.token_type")
    merges = [tuple(m.split(" ")) for m in field(reader, "tokenizer.ggml.merges")]
    tokenizer = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t, k in zip(tokens, types) if k == 3])
    return tokenizer


@torch.no_grad()
def greedy(model, ids, count):
    chosen, margins = [], []
    for _ in range(count):
        logits = model(torch.tensor([ids + chosen])).logits[0, -1]
        top = torch.topk(logits, 2)
        chosen.append(int(top.indices[0]))
        margins.append(round(float(top.values[0] - top.values[1]), 4))
        if chosen[-1] in (0, 2):
            break
    return chosen, margins


@torch.no_grad()
def perplexity(model, ids):
    total, count = 0.0, 0
    for begin in range(0, len(ids) - 1, WINDOW):
        window = torch.tensor([ids[begin:begin + WINDOW]])
        if window.shape[1] < 2:
            break
        logits = model(window).logits[0, :-1].double()
        nll = torch.nn.functional.cross_entropy(logits, window[0, 1:], reduction="sum")
        total, count = total + float(nll), count + window.shape[1] - 1
    return math.exp(total / count), count


def main():
    model, reader = load(sys.argv[1])
    tokenizer = tokenizer_of(reader)
    cases = []
    for prompt in PROMPTS:
        ids = tokenizer.encode(prompt, add_special_tokens=False).ids
        chosen, margins = greedy(model, ids, 48)
        cases.append({"prompt": prompt, "prompt_ids": ids, "greedy_ids": chosen, "margins": margins,
                      "text": tokenizer.decode(chosen, skip_special_tokens=True)})
        print(cases[-1]["text"])
    ids = tokenizer.encode(TEXT.read_text(), add_special_tokens=False).ids
    value, count = perplexity(model, ids)
    print("perplexity", value, "over", count)
    (HERE / "real_model.json").write_text(
        json.dumps({"cases": cases, "perplexity": value, "perplexity_tokens": count, "window": WINDOW}, indent=1) + "\n")


if __name__ == "__main__":
    main()
