"""`timings` and `explain` on every route that computes: times, and what the answer's steps made of the machine."""
import pytest
from running_server import events, read_all, unchunked

CHAT, TEXT, RESPONSES, EMBED = "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings"
LONG = "The machine reads its weights once for every token. " * 20
BODIES = {
    CHAT: {"messages": [{"role": "user", "content": LONG}], "max_tokens": 24, "ignore_eos": True},
    TEXT: {"prompt": LONG, "max_tokens": 24, "ignore_eos": True},
    RESPONSES: {"input": LONG + "Go on.", "max_output_tokens": 24},
    EMBED: {"input": LONG},
}
TOLD = {"temperature": 0, "timings": True, "explain": True}


def answer(server, path, stream, more=None):
    """The object that has the times."""
    body = BODIES[path] | (TOLD if path != EMBED else {"timings": True, "explain": True}) | {"cache_salt": f"{path}{stream}"} | (more or {})
    if not stream:
        reply = server.post(path, body)
        assert reply.status == 200 and "x-ignored-params" not in reply.headers, reply
        return reply.json()
    with server.open_stream(path, body | {"stream": True}, headers=["Connection: close"]) as plug:
        said = [data for _, data in events(unchunked(read_all(plug)))]
    return said[-1]["response"] if path == RESPONSES else said[-2]


def peaks(server):
    """The measured limits, in 1e9 per second: of reading, of arithmetic. A server that is idle may measure again, and they only rise."""
    lines = server.call("GET", "/metrics").body.decode().splitlines()
    names = "millrace:peak_read_bytes_per_second{", "millrace:peak_operations_per_second{"
    return [float(next(line for line in lines if line.startswith(name)).split()[-1]) / 1e9 for name in names]


def operations(server):
    lines = server.call("GET", "/metrics").body.decode().splitlines()
    return float(next(line for line in lines if line.startswith("vllm:estimated_flops_per_gpu_total{")).split()[-1])


def is_share(share, rate, before, after):
    """`share` is `rate` over one of the limits; null where the rate exceeds the limit, which is then no limit."""
    assert 0 < before <= after
    expected = [rate / peak if rate <= peak else None for peak in (before, after)]
    return any(share is one if one is None or share is None else share == pytest.approx(one, rel=1e-3) for one in expected)


@pytest.mark.parametrize("path, stream", [(path, stream) for path in BODIES for stream in (False, True) if path != EMBED or not stream])
def test_an_answer_tells_its_times_and_what_its_steps_made_of_the_machine(server, path, stream):
    before, counted = peaks(server), operations(server)
    said = answer(server, path, stream)
    after, counted = peaks(server), operations(server) - counted
    times, causes = said["timings"], {cause["cause"]: cause for cause in said["why_slow"]}
    assert times["prompt_n"] > 100 and times["prefill_ms"] > 0
    assert 0 < before[1] <= after[1] and causes["prefill"]["prefill_mfu"] == times["prefill_mfu"]
    if times["prefill_mfu"] is None:  # faster than what was measured: all but the few tokens of the answer were prefill
        assert counted / times["prefill_ms"] / 1e6 > before[1], (times, before, after)
    else:
        assert 0 < times["prefill_mfu"] <= 1
    if path == EMBED:  # decodes nothing
        assert times["mbu"] is None and times["read_gb_s"] is None and "decode" not in causes
        return
    assert times["read_gb_s"] > 0 and is_share(times["mbu"], times["read_gb_s"], before[0], after[0]), (times, before, after)
    assert (causes["decode"]["mbu"], causes["decode"]["read_gb_s"]) == (times["mbu"], times["read_gb_s"])


def test_nothing_is_told_that_nobody_asked_for(server):
    for path, body in BODIES.items():
        assert not {"timings", "why_slow"} & set(server.post(path, body).json())


def test_bytes_read_are_those_of_the_steps(server):
    """What the answer says, times the time of its steps, is the model's weights and its keys and values for each token after the first."""
    def counters():
        lines = server.call("GET", "/metrics").body.decode().splitlines()
        return float(next(line for line in lines if line.startswith("vllm:estimated_read_bytes_per_gpu_total{")).split()[-1])

    said = {}
    before = counters()
    said = answer(server, TEXT, False, {"max_tokens": 2, "cache_salt": "bytes"})
    whole = counters() - before  # of two steps, or one more for each chunk of the prompt
    decode = next(cause for cause in said["why_slow"] if cause["cause"] == "decode")
    assert decode["read_gb_s"] * decode["ms"] * 1e6 == pytest.approx(whole / 2, rel=0.02)


def test_an_answer_of_one_token_has_decoded_nothing(server):
    times = answer(server, TEXT, False, {"max_tokens": 1})["timings"]
    assert times["mbu"] is None and times["read_gb_s"] is None and times["prefill_mfu"] is not None
