"""Saves tokenizers as Transformers 4 does, and says what its own Python tokenizers make of texts.

Run by saved_tokenizers.py in a process of its own, with the packages of tests/requirements-transformers4.txt first in PYTHONPATH.
On stdin: {"texts": [...], "models": {name: path of a tokenizer.model}, "files": {name: path of a tokenizer.json}, "to": folder}.
On stdout: {name: {"trusted", "untrusted": [[ids]...]} for a Python tokenizer, {} for one of the library tokenizers}.
"""

import json
import sys

import transformers

CHAT = ["<|im_start|>", "<|im_end|>"]


def python_tokenizer(tokenizer, texts):
    tokenizer.add_special_tokens({"additional_special_tokens": CHAT})
    return tokenizer, {"trusted": [tokenizer.encode(t, add_special_tokens=False) for t in texts],
                       "untrusted": [tokenizer.encode(t, add_special_tokens=False, split_special_tokens=True) for t in texts]}


def fast(name, file, **options):
    return getattr(transformers, name)(tokenizer_file=file, **options), {}


MAKERS = {
    "Llama, Python, legacy": lambda job: python_tokenizer(transformers.LlamaTokenizer(job["models"]["llama"], legacy=True), job["texts"]),
    "Llama, Python": lambda job: python_tokenizer(transformers.LlamaTokenizer(job["models"]["llama"], legacy=False), job["texts"]),
    "Gemma, Python": lambda job: python_tokenizer(transformers.GemmaTokenizer(job["models"]["gemma"]), job["texts"]),
    "Gemma, Python, names of another": lambda job: python_tokenizer(transformers.GemmaTokenizer(job["models"]["llama"]), job["texts"]),
    "Llama": lambda job: fast("LlamaTokenizerFast", job["files"]["llama"], pad_token="<unk>"),
    "Llama, legacy": lambda job: fast("LlamaTokenizerFast", job["files"]["llama legacy"]),
    "T5": lambda job: fast("T5TokenizerFast", job["files"]["unigram"], extra_ids=3),
    "XLM-R": lambda job: fast("XLMRobertaTokenizerFast", job["files"]["unigram"]),
    "BERT": lambda job: fast("BertTokenizerFast", job["files"]["bert"], do_lower_case=False),
    "GPT-2, pad !": lambda job: fast("GPT2TokenizerFast", job["files"]["gpt2"], pad_token="!"),
    "Qwen2": lambda job: fast("Qwen2TokenizerFast", job["files"]["qwen2"], eos_token="<|im_end|>"),
    "any": lambda job: fast("PreTrainedTokenizerFast", job["files"]["gpt2"], eos_token="<|endoftext|>", pad_token="<pad>", additional_special_tokens=CHAT),
}


def main():
    job = json.load(sys.stdin)
    answers = {}
    for name, make in MAKERS.items():
        tokenizer, answers[name] = make(job)
        tokenizer.save_pretrained(job["to"] + "/" + name)
    assert transformers.__version__.startswith("4.5")
    json.dump(answers, sys.stdout)


main()
