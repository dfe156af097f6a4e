#!/usr/bin/env python3
"""Asks a running server for answers that fit schemas, at temperature 1, until so many came to their end, and validates each with
jsonschema. An answer that max_tokens cut is no JSON and is counted by itself.

    make_schemas.py --bounded > lines.jsonl
    valid_answers.py --url http://127.0.0.1:8000 --schemas lines.jsonl --count 1000
"""

import argparse
import collections
import concurrent.futures
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import jsonschema


CUT = "cut by max_tokens"


def ask(url, sample, seed, max_tokens):
    """White space as the model likes it in one answer of two."""
    body = {"messages": [{"role": "user", "content": "Answer with an example of a record."}], "temperature": 1.0,
            "seed": seed, "max_tokens": max_tokens}
    if seed % 2:
        body["structured_outputs"] = {"json": sample["schema"], "disable_any_whitespace": True}
    else:
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "record", "schema": sample["schema"], "strict": True}}
    request = urllib.request.Request(url + "/v1/chat/completions", json.dumps(body).encode(),
                                     {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=600) as reply:
            answer = json.load(reply)
    except urllib.error.HTTPError as error:
        return "refused: " + error.read().decode()[:200], 0
    choice, tokens = answer["choices"][0], answer["usage"]["completion_tokens"]
    text = choice["message"]["content"]
    if choice["finish_reason"] == "length":
        return CUT, tokens
    try:
        jsonschema.validate(json.loads(text), sample["schema"], format_checker=jsonschema.FormatChecker())
    except (ValueError, jsonschema.ValidationError) as error:
        return f"INVALID: {sample['name']} {text[:200]!r}: {str(error)[:200]}", tokens
    return "valid", tokens


def wait_until_ready(url):
    for _ in range(600):
        try:
            urllib.request.urlopen(url + "/ready", timeout=5)
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    sys.exit("the server did not become ready")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="")
    parser.add_argument("--spawn", nargs=2, metavar=("PROGRAM", "MODEL"), help="start the server, and end it afterwards")
    parser.add_argument("--schemas", required=True)
    parser.add_argument("--count", type=int, default=1000, help="answers that came to their end")
    parser.add_argument("--max-tokens", type=int, default=400)
    parser.add_argument("--concurrency", type=int, default=16)
    args = parser.parse_args()
    server = None
    if args.spawn:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        args.url = f"http://127.0.0.1:{port}"
        server = subprocess.Popen([args.spawn[0], "serve", args.spawn[1], "--port", str(port)], stderr=subprocess.DEVNULL)
        wait_until_ready(args.url)
    samples = [json.loads(line) for line in open(args.schemas)]
    start, outcome, tokens = time.time(), collections.Counter(), 0
    with concurrent.futures.ThreadPoolExecutor(args.concurrency) as pool:
        waiting, seed = set(), 0
        while outcome.total() - outcome[CUT] < args.count and outcome[CUT] < 2 * args.count:
            while len(waiting) < args.concurrency:
                # Every schema is asked for both ways.
                waiting.add(pool.submit(ask, args.url, samples[seed // 2 % len(samples)], seed, args.max_tokens))
                seed += 1
            ended, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            for one in ended:
                result, n = one.result()
                outcome[result] += 1
                tokens += n
    if server:
        server.terminate()
        server.wait()
    for result, n in outcome.most_common():
        print(f"{n:6} {result}")
    print(f"{outcome.total()} answers over {len(samples)} schemas, {tokens} tokens, {time.time() - start:.0f} s")
    sys.exit(0 if set(outcome) <= {"valid", CUT} else 1)


if __name__ == "__main__":
    main()
