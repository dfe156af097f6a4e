"""Loaded by schemathesis: what is generated stays small, and nothing else is changed. See test_openapi.py."""
import schemathesis

LONGEST = {"max_tokens": 4, "max_completion_tokens": 4, "max_output_tokens": 4, "n": 2, "best_of": 2}


@schemathesis.hook
def before_call(context, case, kwargs):
    """Answers are short: it is the reading of requests that is looked at."""
    body = case.body
    if not isinstance(body, dict):
        return
    for name, most in LONGEST.items():
        value = body.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and most < value <= 1 << 31:
            body[name] = most
    if isinstance(body.get("timeout"), float) and 0 < body["timeout"] < 10:
        body["timeout"] = 10.0  # 504 would be right, and is no failure of the server
    # Where none is named a whole context would be made.
    if case.operation.path in ("/v1/chat/completions", "/v1/responses") and not any(name in body for name in LONGEST if name.startswith("max")):
        body["max_output_tokens" if case.operation.path == "/v1/responses" else "max_tokens"] = 4
