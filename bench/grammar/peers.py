#!/usr/bin/env python3
"""xgrammar and llguidance on what mask_bench measures: compile, first mask, and each mask of the same tokens.

    mask_bench --tokenizer MODEL --schemas lines.jsonl --dump work.json
    peers.py work.json [--threads N]
"""

import argparse
import collections
import importlib.metadata
import json
import statistics
import time


def figures(name, values, unit):
    values = sorted(values)
    if not values:
        return
    at = lambda share: values[int(share * (len(values) - 1))]
    print(f"{name:<34} {statistics.median(values):9.2f} {at(0.9):9.2f} {at(0.99):9.2f} {at(1):9.2f} {unit}  ({len(values)} values)")


class XGrammar:
    def __init__(self, work, threads):
        import xgrammar
        self.xgrammar, self.name = xgrammar, "xgrammar " + importlib.metadata.version("xgrammar")
        tokens = [bytes.fromhex(one) for one in work["tokens"]]
        info = xgrammar.TokenizerInfo(tokens, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=work["ends"])
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=threads, cache_enabled=False)
        self.mask = xgrammar.allocate_token_bitmask(1, info.vocab_size)

    def compile(self, schema):
        self.matcher = self.xgrammar.GrammarMatcher(self.compiler.compile_json_schema(schema, strict_mode=False))

    def fill(self):
        self.matcher.fill_next_token_bitmask(self.mask)

    def fits(self, token):
        return bool(int(self.mask[0, token // 32]) >> (token % 32) & 1)

    def accept(self, token):
        return self.matcher.accept_token(token)


class LLGuidance:
    def __init__(self, work, threads):
        import llguidance
        import llguidance.numpy
        self.llguidance, self.name = llguidance, "llguidance " + importlib.metadata.version("llguidance")

        class Tokens:
            eos_token_id, bos_token_id = work["ends"][0], None
            tokens = [bytes.fromhex(one) for one in work["tokens"]]
            special_token_ids = [i for i, one in enumerate(work["tokens"]) if not one]
            numbers = {one: i for i, one in reversed(list(enumerate(tokens))) if one}
            longest = max(map(len, tokens))

            def __call__(self, text):  # the longest token each time
                text, out = text.encode() if isinstance(text, str) else text, []
                while text:
                    size = next(n for n in range(min(len(text), self.longest), 0, -1) if text[:n] in self.numbers)
                    out.append(self.numbers[text[:size]])
                    text = text[size:]
                return out

        self.tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Tokens()))
        self.mask = llguidance.numpy.allocate_token_bitmask(1, self.tokenizer.vocab_size)

    def compile(self, schema):
        grammar = self.llguidance.LLMatcher.grammar_from_json_schema(schema)
        self.matcher = self.llguidance.LLMatcher(self.tokenizer, grammar, log_level=0)
        if self.matcher.get_error():
            raise ValueError(self.matcher.get_error())

    def fill(self):
        self.llguidance.numpy.fill_next_token_bitmask(self.matcher, self.mask)

    def fits(self, token):
        return bool(int(self.mask[0, token // 32]) >> (token % 32) & 1)

    def accept(self, token):
        return self.matcher.consume_token(token)


def measure(peer, work):
    compiled, masks, outcome = [], [], collections.Counter()
    for sample in work["samples"]:
        start = time.perf_counter()
        try:
            peer.compile(sample["schema"])
            peer.fill()
        except Exception as error:
            outcome["refused"] += 1
            continue
        compiled.append(1e3 * (time.perf_counter() - start))
        for i, token in enumerate(sample["tokens"]):
            start = time.perf_counter()
            peer.fill()
            masks.append(1e6 * (time.perf_counter() - start))
            if not peer.fits(token) or not peer.accept(token):
                outcome["texts that did not fit"] += 1
                break
    figures(peer.name + ": first mask", compiled, "ms")
    figures(peer.name + ": mask", masks, "us")
    print(dict(outcome), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--count", type=int, help="only the first so many schemas")
    args = parser.parse_args()
    work = json.load(open(args.work))
    work["samples"] = work["samples"][: args.count]
    print(f"{len(work['tokens'])} tokens; {'':14} {'median':>15} {'p90':>9} {'p99':>9} {'largest':>9}")
    for kind in (LLGuidance, XGrammar):
        measure(kind(work, args.threads), work)


if __name__ == "__main__":
    main()
