"""Who reads metrics can see which requests are running, and nothing of what they say."""
SECRET = "a-prompt-of-somebody"


def test_a_running_request_is_listed_until_it_ends(server):
    with server.open_stream("/v1/completions", {"prompt": SECRET, "max_tokens": 3000, "stream": True, "ignore_eos": True}, headers=["X-Request-Id: listed"]) as plug:
        while b"data: " not in plug.recv(1 << 12):
            pass
        reply = server.call("GET", "/v1/requests")
        (mine,) = [one for one in reply.json()["data"] if one["id"] == "listed"]
        assert (mine["route"], mine["model"], mine["state"], mine["object"]) == ("/v1/completions", "m", "answering", "request")
        assert mine["prompt_tokens"] > 0 and mine["output_tokens"] > 0 and mine["age_ms"] > 0 and SECRET.encode() not in reply.body
    server._wait_for(lambda: "listed" not in [one["id"] for one in server.call("GET", "/v1/requests").json()["data"]], 20)


def test_its_access_is_that_of_metrics(start, tmp_path):
    (tmp_path / "keys").write_text("watch-key-000 scopes=metrics\ninfer-key-000 scopes=infer\n")
    with start("--api-key-file", tmp_path / "keys") as server:
        statuses = [server.call("GET", "/v1/requests", headers=headers).status
                    for headers in ({}, {"X-Api-Key": "infer-key-000"}, {"X-Api-Key": "watch-key-000"})]
        assert statuses == [401, 403, 200]
