"""/openapi.json is what the server does: schemathesis makes requests from it, good and bad ones, and looks at the replies."""
import json
import os
import pathlib
import subprocess
import sys

import jsonschema
import pytest

HERE = pathlib.Path(__file__).parent
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,negative_data_rejection"
CASES_AT_LEAST = 2000


def test_generated_requests_get_replies_that_the_document_announces(server, tmp_path):
    report = tmp_path / "report.ndjson"
    # One worker: in Python 3.11.2 ast.parse, by which hypothesis describes strategies, fails now and then in two threads (CPython issue 106905).
    flags = ["--checks", CHECKS, "--phases", "examples,coverage,fuzzing", "--max-examples", "60", "--seed", "1", "--no-shrink", "--workers", "1",
             "--continue-on-failure", "--generation-allow-x00", "true", "--generation-database", "none", "--request-timeout", "30",
             "--suppress-health-check", "all", "--warnings", "off", "--report", "ndjson", "--report-ndjson-path", str(report), "--no-color"]
    done = subprocess.run([pathlib.Path(sys.executable).with_name("st"), "run", server.url + "/openapi.json", *flags], capture_output=True, text=True,
                          cwd=tmp_path, timeout=300, env=os.environ | {"SCHEMATHESIS_HOOKS": "openapi_hooks", "PYTHONPATH": str(HERE)})
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    happened = [json.loads(line) for line in report.read_text().splitlines()]
    cases = sum(len(one["ScenarioFinished"]["recorder"].get("cases", ())) for one in happened if "ScenarioFinished" in one)
    assert cases >= CASES_AT_LEAST


def test_the_document_is_a_schema_of_schemas(server):
    document = server.call("GET", "/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    for path, operations in document["paths"].items():
        for operation in operations.values():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            if body:
                jsonschema.Draft202012Validator.check_schema(body)
            assert operation["summary"], path


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses", "/v1/embeddings"])
def test_what_the_tests_call_bad_the_document_calls_bad(server, path):
    """Of the values that this server refuses those are left out that only a vocabulary or another field makes bad."""
    from test_bad_values import GOOD, TABLE
    document = server.call("GET", "/openapi.json").json()
    schema = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(GOOD[path])
    only_the_server_knows = {"suffix", "best_of", "top_logprobs", "response_format", "structured_outputs", "grammar", "guided_json", "guided_regex",
                             "chat_template_kwargs", "dimensions", "tool_choice", "text", "reasoning"}
    wrong = [(field, str(value)[:80]) for field, values in TABLE[path].items() for value in values
             if field not in only_the_server_knows and "49152" not in str(value) and value not in ("", 0, None) and validator.is_valid(GOOD[path] | {field: value})]
    assert not wrong
