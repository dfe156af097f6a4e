"""lm-evaluation-harness against the server. Its packages weigh hundreds of megabytes, so ./dev setup leaves them out:

    pip install 'lm-eval[api]==0.4.13' pytest && pytest tests/clients/test_lm_eval.py
"""
import pytest

pytest.importorskip("lm_eval", reason="lm_eval is not installed: pip install 'lm-eval[api]'")

from lm_eval.api.instance import Instance  # noqa: E402
from lm_eval.models.openai_completions import LocalCompletionsAPI  # noqa: E402

PAIRS = [("The capital of France is", " Paris"), ("The capital of France is", " a potato"), ("Water is made of hydrogen and", " oxygen"),
         ("One, two, three,", " four, five")]


@pytest.fixture(scope="module")
def harness(guarded, key):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", key)
        yield LocalCompletionsAPI(base_url=guarded.url + "/v1/completions", model="m", tokenizer_backend="remote", num_concurrent=1,
                                  max_retries=2, max_length=2048, auth_token=key, eos_string="<|im_end|>")


def of(kind, arguments):
    return [Instance(request_type=kind, doc={}, arguments=one, idx=i) for i, one in enumerate(arguments)]


def test_likelihoods_are_what_the_server_says_of_the_same_tokens(harness, guarded, key):
    for (context, continuation), (sum_, greedy) in zip(PAIRS, harness.loglikelihood(of("loglikelihood", PAIRS)), strict=True):
        headers = {"Authorization": f"Bearer {key}"}
        head, tail = (guarded.post("/tokenize", {"prompt": text, "add_special_tokens": False}, headers).json()["tokens"]
                      for text in (context, context + continuation))
        assert tail[:len(head)] == head
        body = {"model": "m", "prompt": tail, "max_tokens": 0, "echo": True, "logprobs": 1}
        scored = guarded.post("/v1/completions", body, headers).json()["choices"][0]["logprobs"]
        mine = scored["token_logprobs"][len(head):]
        assert sum_ == pytest.approx(sum(mine), abs=1e-3)
        best = [max(top.values()) for top in scored["top_logprobs"][len(head):]]
        assert greedy == all(value == top for value, top in zip(mine, best))


def test_the_true_continuation_is_the_likelier(harness):
    true, false = harness.loglikelihood(of("loglikelihood", PAIRS[:2]))
    assert true[0] > false[0] and true[1] and not false[1]


def test_text_is_generated_until_its_stop(harness):
    text, = harness.generate_until(of("generate_until", [("The capital of France is", {"until": ["."], "max_gen_toks": 16, "temperature": 0})]))
    assert "Paris" in text and "." not in text


def test_rolling_likelihoods_score_whole_texts(harness):
    plain, odd = harness.loglikelihood_rolling(of("loglikelihood_rolling", [("The cat sat on the mat.",), ("Mat the on sat cat the.",)]))
    assert odd < plain < 0
