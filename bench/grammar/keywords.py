#!/usr/bin/env python3
"""How millrace, xgrammar and llguidance take each file of the official JSON Schema test suite.

    keywords.py [SUITE/tests/draft2020-12]

A schema is right where every case of it is, wrong where a text is taken that should not be or the other way round, refused where
the schema is not taken at all, and broken where the library crashed or thought for ten seconds.
"""

import argparse
import collections
import json
import multiprocessing
import pathlib
import sys

from peers import LLGuidance, XGrammar

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/oracle"))
from schema_oracle import SchemaGrammars, first_text_of, texts_of  # noqa: E402

BYTES = {"tokens": [f"{byte:02x}" for byte in range(256)] + [""], "ends": [256]}
SECONDS = 10
ASSERTED = {"format", "vocabulary"}  # the suite wants no assertion of formats, and metaschemas read


class Millrace:
    def __init__(self):
        self.grammars = SchemaGrammars()

    def fitting(self, schema, texts):
        answer = self.grammars.ask(schema, texts, reference=False)
        if "error" not in answer:
            return answer["accepted"]
        if answer["code"] == "unsupported":
            raise ValueError(answer["error"])
        return [False] * len(texts)  # nothing fits


class OfBytes:
    """A peer of peers.py, asked for whole texts."""

    def __init__(self):
        super().__init__(BYTES, 1)

    def fitting(self, schema, texts):
        self.compile(json.dumps(schema))
        return [self.takes(text) for text in texts]


class OfXGrammar(OfBytes, XGrammar):
    def takes(self, text):
        self.matcher.reset()
        return self.matcher.accept_string(text) and self.matcher.is_completed()


class OfLLGuidance(OfBytes, LLGuidance):
    def takes(self, text):
        matcher = self.matcher.deep_copy()
        return matcher.consume_tokens(list(text.encode())) and matcher.is_accepting()


def serve(kind, pipe):
    peer = kind()
    while True:
        schema, texts = pipe.recv()
        try:
            pipe.send(peer.fitting(schema, texts))
        except (Exception, KeyboardInterrupt):
            pipe.send(None)


class Worker:
    """A process of its own: some schemas end it."""

    def __init__(self, kind):
        self.kind, self.process = kind, None

    def fitting(self, schema, texts):
        if self.process is None:
            self.pipe, other = multiprocessing.Pipe()
            self.process = multiprocessing.Process(target=serve, args=(self.kind, other), daemon=True)
            self.process.start()
            other.close()
        self.pipe.send((schema, texts))
        try:
            if self.pipe.poll(SECONDS):
                return self.pipe.recv()
        except EOFError:
            pass
        self.process.kill()
        self.process = None
        return "broken"


def judge(worker, group):
    schema = group["schema"]
    if isinstance(schema, dict) and "$schema" not in schema:
        schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    texts, ends = [], []
    for case in group["tests"]:
        texts += texts_of(case["data"]) or [first_text_of(case["data"])]
        ends.append(len(texts))
    fits = worker.fitting(schema, texts)
    if fits is None:
        return "refused"
    if fits == "broken":
        return fits
    begins = [0, *ends[:-1]]
    verdicts = {(any(fits[begin:end]), case["valid"]) for begin, end, case in zip(begins, ends, group["tests"])}
    return "wrong" if (True, False) in verdicts or (False, True) in verdicts else "right"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", nargs="?", default="/usr/share/json-schema-test-suite/tests/draft7", type=pathlib.Path)
    args = parser.parse_args()
    workers = {"millrace": Worker(Millrace), "xgrammar": Worker(OfXGrammar), "llguidance": Worker(OfLLGuidance)}
    total = {name: collections.Counter() for name in workers}
    print("| keyword | schemas | " + " | ".join(workers) + " |\n|---|---|" + "---|" * len(workers))
    for file in sorted(args.suite.glob("*.json")):
        if file.stem in ASSERTED:
            continue
        groups = json.loads(file.read_text())
        counts = {name: collections.Counter(judge(worker, group) for group in groups) for name, worker in workers.items()}
        for name, one in counts.items():
            total[name].update(one)
        print(f"| {file.stem} | {len(groups)} | " + " | ".join(told(one) for one in counts.values()) + " |", flush=True)
    print(f"| all | {total['millrace'].total()} | " + " | ".join(told(one) for one in total.values()) + " |")


def told(counts):
    return ", ".join(f"{counts[kind]} {kind}" for kind in ("right", "refused", "wrong", "broken") if counts[kind])


if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    main()
