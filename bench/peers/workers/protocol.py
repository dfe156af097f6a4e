"""The worker's side of bench/peers/compare: one JSON line for each load read from stdin, one JSON line with its times on stdout.

A worker is started as `python WORKER MODEL THREADS` by the peer's own Python. What the peer's library prints goes to stderr.
"""
import json
import os
import random
import sys


def prompt(load, sequence, vocabulary):
    """Random token ids, another prompt for each sequence and seed."""
    numbers = random.Random(f"{load['seed']}/{sequence}")
    return [numbers.randrange(vocabulary) for _ in range(load["prompt_tokens"])]


def serve(make):
    """make(model, threads) -> (description, run); run(load) -> {"prefill_ms", "tpot_ms"}.

    load: batch, prompt_tokens, output_tokens, seed. prefill_ms: until the first token of the last sequence; tpot_ms: of a step that
    decodes one token of each sequence.
    """
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def answer(value):
        answers.write(json.dumps(value) + "\n")

    try:
        description, run = make(sys.argv[1], int(sys.argv[2]))
        answer(description)
        for line in sys.stdin:
            answer(run(json.loads(line)))
    except Exception as error:
        answer({"error": f"{type(error).__name__}: {error}"})
        raise
