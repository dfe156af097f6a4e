"""millrace run-batch: the requests of a file, without a socket."""
import json
import subprocess

from running_server import PROGRAM, SMALL, environment

FLAGS = [word for pair in SMALL.items() for word in pair]


def request(number, url="/v1/completions", **body):
    body = {"prompt": f"Item {number} of the list is", "max_tokens": 3, "temperature": 0} if not body else body
    return json.dumps({"custom_id": f"line-{number}", "method": "POST", "url": url, "body": body})


def run(model, text, *flags, output="-"):
    done = subprocess.run([PROGRAM, "run-batch", model, "-i", "-", "-o", output, "--served-model-name", "m", *FLAGS, *flags],
                          input=text.encode(), capture_output=True, timeout=120, env=environment())
    return done, [json.loads(line) for line in done.stdout.decode().splitlines()]


def test_200_lines_are_answered_in_their_order_and_bad_ones_say_so(model):
    lines = [request(i) for i in range(200)]
    lines[17] = '{"custom_id": "line-17", '
    lines[42] = request(42, prompt=[1] * 5000, max_tokens=1)
    done, results = run(model, "\n".join(lines))
    assert done.returncode == 1, done.stderr
    assert b"200 requests" in done.stderr and b"2 failed" in done.stderr
    assert [r["custom_id"] for r in results] == [None if i == 17 else f"line-{i}" for i in range(200)]
    assert len({r["id"] for r in results}) == 200
    for i, result in enumerate(results):
        if i == 17:
            assert result["response"] is None and result["error"]["code"] == "invalid_json_line"
            continue
        assert result["error"] is None
        response = result["response"]
        assert response["request_id"]
        if i == 42:
            assert response["status_code"] == 400 and response["body"]["error"]["code"] == "context_length_exceeded"
        else:
            assert response["status_code"] == 200 and response["body"]["usage"]["completion_tokens"] == 3


def test_answers_are_those_of_the_server(model, server, tmp_path):
    talk = [{"role": "user", "content": "Name a colour."}]
    bodies = [("/v1/completions", {"prompt": ["a b c", "1 2 3"], "max_tokens": 5, "temperature": 0, "n": 2}),
              ("/v1/chat/completions", {"messages": talk, "max_tokens": 5, "temperature": 0, "model": "m"}),
              ("/v1/responses", {"input": talk, "max_output_tokens": 5, "temperature": 0}),
              ("/v1/embeddings", {"input": "a text"}),
              ("/v1/completions", {"prompt": "a", "model": "another"})]
    output = tmp_path / "out.jsonl"
    done, _ = run(model, "\n".join(request(i, url, **body) for i, (url, body) in enumerate(bodies)) + "\n", output=output)
    assert done.returncode == 1 and done.stdout == b""

    def said(url, reply):
        if url == "/v1/embeddings":
            return reply["data"]
        if url == "/v1/responses":
            return [part["text"] for item in reply["output"] for part in item["content"]]
        return reply.get("choices") or reply["error"]["code"]

    results = [json.loads(line) for line in output.read_text().splitlines()]
    for (url, body), result in zip(bodies, results, strict=True):
        alone = server.post(url, body)
        assert result["response"]["status_code"] == alone.status
        assert said(url, result["response"]["body"]) == said(url, alone.json())


def test_all_good_is_exit_code_0_and_what_cannot_be_opened_is_named(model, tmp_path):
    assert run(model, request(1))[0].returncode == 0
    assert run(model, "")[0].returncode == 0
    done = subprocess.run([PROGRAM, "run-batch", model, "-i", tmp_path / "absent", "-o", "-"], capture_output=True, env=environment())
    assert done.returncode == 3 and b"absent" in done.stderr
    done, _ = run(model, "", output=tmp_path / "no" / "folder")
    assert done.returncode == 2 and b"folder" in done.stderr
