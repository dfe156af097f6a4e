"""What a server says it takes, and what it leaves room for."""
import re


def bytes_of(server, kind):
    text = server.call("GET", "/metrics").body.decode()
    return float(re.search(rf'^millrace:memory_bytes{{.*kind="{kind}".*}} (\S+)$', text, re.M)[1])


def test_a_draft_models_pages_share_the_memory_of_the_cache(start, model):
    flags = ["--kv-cache-memory-bytes", "32MB", "--max-model-len", "256"]
    with start(*flags) as alone, start(*flags, "--spec-method", "draft-model", "--spec-model", model) as drafting:
        assert bytes_of(alone, "drafting") == 0 and bytes_of(drafting, "drafting") > bytes_of(alone, "weights")
        assert bytes_of(drafting, "weights") == bytes_of(alone, "weights")
        # The draft model is the model itself: its pages are as large.
        assert 31e6 < bytes_of(alone, "kv_cache") <= 32 * 2**20
        assert 0.48 < bytes_of(drafting, "kv_cache") / bytes_of(alone, "kv_cache") <= 0.5
        assert re.search(r"of weights, .* of keys and values for \d+ tokens, .* of drafting; .* available", drafting.text())
