"""Adapters over HTTP: named as models, blended, mixed in a batch, loaded and forgotten while others are answered."""
import concurrent.futures
import json
import re
import subprocess

import pytest
from adapter_files import ASK, LAYERS, LOAD, RANK, TEXT, UNLOAD, adapted, folder, names, text_of, write_adapter  # adapted and folder are fixtures
from running_server import PROGRAM, RunningServer, environment


def test_adapters_are_listed_behind_their_model(adapted, folder):
    cards = names(adapted)
    assert [(name, card["parent"]) for name, card in cards.items()][:3] == [("m", None), ("a", "m"), ("b", "m")]
    assert cards["a"]["root"] == str(folder / "a") and cards["a"]["meta"]["rank"] == RANK and cards["a"]["meta"]["modules"] == 2 * LAYERS
    assert adapted.call("GET", "/v1/models/a").json()["id"] == "a"


def test_an_adapter_is_named_like_a_model(adapted):
    base, a, b = (text_of(adapted, model=name) for name in ("m", "a", "b"))
    assert len({base, a, b}) == 3
    assert text_of(adapted, model="m:a") == a and text_of(adapted) == base
    assert adapted.post(TEXT, ASK | {"model": "a"}).json()["model"] == "a"
    chat = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4, "model": "b"}
    assert adapted.post("/v1/chat/completions", chat).json()["model"] == "b"


def test_answers_do_not_depend_on_what_others_ask_for(adapted):
    asked = [{"model": name, "seed": i, "temperature": i % 3 / 2} for i, name in enumerate(["m", "a", "b", "m:a"] * 4)]
    asked += [{"lora": [{"name": "a", "scale": 0.5}, {"name": "b", "scale": -1}], "seed": i} for i in range(4)]
    alone = [text_of(adapted, cache_salt=f"alone {i}", **fields) for i, fields in enumerate(asked)]
    with concurrent.futures.ThreadPoolExecutor(len(asked)) as pool:
        together = list(pool.map(lambda one: text_of(adapted, cache_salt=f"together {one[0]}", **one[1]), enumerate(asked)))
    assert together == alone


def test_blends(adapted):
    a = text_of(adapted, model="a")
    assert text_of(adapted, lora=[{"name": "a"}]) == a == text_of(adapted, lora=[{"name": "a", "scale": 1}, {"name": "b", "scale": 0}])
    assert text_of(adapted, lora=[{"name": "a", "scale": 0}]) == text_of(adapted, lora=[]) == text_of(adapted, lora=None)


@pytest.mark.parametrize(
    "fields, status, param, told",
    [
        ({"model": "m:z"}, 404, "model", "adapter"),
        ({"model": "z"}, 404, "model", "/v1/models"),
        ({"lora": [{"name": "z"}]}, 404, "lora", "adapter"),
        ({"lora": [{"name": "a"}] * 5}, 400, "lora", "limit is 4"),
        ({"lora": [{"name": "a"}, {"name": "a"}]}, 400, "lora", "twice"),
        ({"lora": [{"name": "a", "scale": 101}]}, 400, "lora", "-100 to 100"),
        ({"lora": [{"name": "a", "scale": "1"}]}, 400, "lora", "scale"),
        ({"lora": [{"name": "a", "weight": 1}]}, 400, "lora", "scale"),
        ({"lora": [{"scale": 1}]}, 400, "lora", "name"),
        ({"lora": "a"}, 400, "lora", "list"),
        ({"model": "a", "lora": [{"name": "b"}]}, 400, "lora", "model"),
    ],
)
def test_wrong_adapters_are_refused_by_name(adapted, fields, status, param, told):
    reply = adapted.post(TEXT, ASK | fields)
    assert reply.status == status and reply.error["param"] == param and told in reply.error["message"], reply


def test_adapters_come_and_go_while_the_server_runs(adapted, folder):
    assert adapted.post(TEXT, ASK | {"model": "new"}).status == 404
    said = adapted.post(LOAD, {"lora_name": "new", "lora_path": "c"})
    assert said.status == 200 and said.body.decode() == "Success: LoRA adapter 'new' added successfully."  # as vLLM says it
    assert said.headers["content-type"].startswith("text/plain") and said.headers["x-lora-generation"] == "1"
    c = text_of(adapted, model="new")
    assert adapted.post(LOAD, {"lora_name": "new", "lora_path": "c"}).error["param"] == "lora_name"
    said = adapted.post(LOAD, {"lora_name": "m:new", "lora_path": str(folder / "d"), "load_inplace": True})
    assert said.status == 200 and said.headers["x-lora-generation"] == "2" == str(names(adapted)["new"]["meta"]["generation"])
    reply = adapted.post(TEXT, ASK | {"model": "new"})
    d = reply.json()["choices"][0]["text"]
    assert d != c, "the prefix of what was replaced must not be used"
    assert reply.headers["x-lora-generation"] == "2"
    said = adapted.post(UNLOAD, {"lora_name": "new", "lora_int_id": 7})
    assert said.status == 200 and said.body.decode() == "Success: LoRA adapter 'new' removed successfully."
    assert said.headers["x-ignored-params"] == "lora_int_id"
    assert adapted.post(TEXT, ASK | {"model": "new"}).status == 404 and adapted.post(UNLOAD, {"lora_name": "new"}).status == 404
    said = adapted.post(LOAD, {"lora_name": "new", "lora_path": "c"})
    assert said.headers["x-lora-generation"] == "3" and text_of(adapted, model="new") == c
    assert adapted.post(UNLOAD, {"lora_name": "new"}).status == 200


@pytest.mark.parametrize(
    "fields, status, told",
    [
        ({"lora_name": "x", "lora_path": "../.."}, 400, "--lora-dir"),
        ({"lora_name": "x", "lora_path": "/etc"}, 400, "--lora-dir"),
        ({"lora_name": "x", "lora_path": "escape"}, 400, "--lora-dir"),
        ({"lora_name": "x", "lora_path": "."}, 400, "--lora-dir"),
        ({"lora_name": "x", "lora_path": "nothing"}, 404, "--lora-dir"),
        ({"lora_name": "x", "lora_path": "a\0b"}, 400, "--lora-dir"),
        ({"lora_name": "x", "lora_path": "dora"}, 400, "use_dora"),
        ({"lora_name": "m", "lora_path": "a"}, 400, "name of a model"),
    ],
)
def test_what_cannot_be_loaded_changes_nothing(adapted, fields, status, told):
    before = names(adapted)
    reply = adapted.post(LOAD, fields)
    assert reply.status == status and told in reply.error["message"], reply
    assert names(adapted) == before


def test_nothing_is_loaded_without_a_directory(server, folder):
    reply = server.post(LOAD, {"lora_name": "a", "lora_path": str(folder / "a")})
    assert reply.status == 400 and reply.error["code"] == "unsupported" and "--lora-dir" in reply.error["message"]


def test_streams_go_on_while_their_adapter_is_unloaded(adapted):
    assert adapted.post(LOAD, {"lora_name": "s", "lora_path": "d"}).status == 200
    expected = text_of(adapted, model="s", max_tokens=300, cache_salt="1")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(text_of, adapted, model="s", max_tokens=300, cache_salt="2")
        while not adapted.call("GET", "/v1/requests").json()["data"]:
            assert not running.done()
        assert adapted.post(UNLOAD, {"lora_name": "s"}).status == 200
        assert running.result() == expected


def test_a_server_does_not_start_with_an_adapter_that_does_not_fit(model, logs, folder):
    wrong = write_adapter(folder / "wrong", 3, r=5)
    with RunningServer(model, logs(), "--lora", f"w={wrong}", wait=False) as server:
        assert server.process.wait(60) == 3
        assert re.search(r"q_proj\.lora_A\.weight.*rank 5 expected", server.text())


def test_several_models_have_adapters_of_their_own(start, model, folder):
    with start("--lora", f"a={folder / 'a'}", "--model", f"n={model}") as server:
        base, a = text_of(server, model="m"), text_of(server, model="m:a")
        assert a != base and text_of(server, model="n") == base


def test_an_activated_adapter_shares_the_base_up_to_its_invocation(start, folder, tmp_path):
    words = "one two three four five six seven eight nine ten " * 12
    activated = tmp_path / "activated"
    with start("--lora-dir", tmp_path) as server:
        tokens = server.post("/tokenize", {"prompt": " And now:", "add_special_tokens": False}).json()["tokens"]
        write_adapter(activated, 0, alora_invocation_tokens=tokens)
        plain, invoked = words, words + " And now:"

        def ask(model, prompt):
            body = server.post(TEXT, ASK | {"model": model, "prompt": prompt}).json()
            return body["choices"][0]["text"], body["usage"]["prompt_tokens_details"]["cached_tokens"]

        base, none = ask("m", invoked)
        text, cached = ask("activated", invoked)
        assert none == 0 and cached >= 64 and text != base
        assert ask("activated", invoked)[0] == text
        assert ask("activated", plain)[0] == ask("m", plain)[0]
        assert names(server)["activated"]["meta"]["invocation_tokens"] == tokens


def test_the_time_limit_counts_waiting_for_an_adapter(start, folder):
    with start("--lora-dir", folder, "--max-loras", 1) as server, stream(server, model="a"):
        for fields in ({}, {"stream": True}, {"model": "m:b"}):
            reply = server.post(TEXT, ASK | {"model": "b", "timeout": 0.3} | fields)
            assert reply.status == 504 and reply.error["code"] == "timeout" and reply.error["param"] == "timeout", reply
        assert server.post(TEXT, ASK | {"model": "a", "timeout": 60}).status == 200


def test_other_routes_take_blends_too(adapted):
    lora = [{"name": "a"}, {"name": "b", "scale": 0.5}]
    asked = {
        "/v1/responses": {"input": "Hello", "max_output_tokens": 12, "temperature": 0},
        "/v1/messages": {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 12, "temperature": 0},
        "/v1/chat/completions": {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 12, "temperature": 0},
    }
    texts = {}
    for path, body in asked.items():
        reply = adapted.post(path, body | {"lora": lora})
        assert reply.status == 200 and reply.headers["x-lora-generation"] == "1, 1", reply
        answer = reply.json()
        texts[path] = (answer["output"][0]["content"][0]["text"] if "output" in answer else answer["content"][0]["text"] if "content" in answer
                       else answer["choices"][0]["message"]["content"])
        assert adapted.post(path, body | {"lora": [{"name": "z"}]}).status == 404
    assert len(set(texts.values())) == 1


def metric(server, name, **labels):
    """The value and labels of the one series of that name that has these labels."""
    text = server.call("GET", "/metrics").body.decode()
    series = [(dict(re.findall(r'(\w+)="([^"]*)"', labels)), float(value)) for labels, value in re.findall(rf"(?m)^{name}\{{(.*)\}} (\S+)$", text)]
    found = [one for one in series if labels.items() <= one[0].items()]
    assert len(found) == 1, (name, series)
    return found[0]


def test_few_are_in_memory_and_all_are_served(start, folder):
    with start("--lora", f"a={folder / 'a'}", "--lora-dir", folder, "--max-loras", 2) as server:
        alone = {name: text_of(server, model=name, cache_salt=name) for name in "abcd"}
        assert len(set(alone.values())) == 4
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            asked = [name for _ in range(6) for name in "abcd"]
            assert list(pool.map(lambda one: text_of(server, model=one[1], cache_salt=str(one[0])), enumerate(asked))) == [alone[name] for name in asked]
        cards = names(server)
        assert [cards[name]["meta"]["resident"] for name in "abcd"].count(True) == 2 and cards["a"]["meta"] | {"resident": True, "pinned": True} == cards["a"]["meta"]
        loads, hits, misses, evictions = (metric(server, f"millrace:adapter_{kind}_total")[1] for kind in ("loads", "hits", "misses", "evictions"))
        assert hits + misses == 28 and loads == evictions + 2 and metric(server, "millrace:adapters_resident")[1] == 2
        assert metric(server, "millrace:memory_bytes", kind="adapters")[1] == 2 * cards["a"]["meta"]["size"]


def test_an_adapter_too_large_or_one_too_many_is_no_start(model, logs, folder):
    loras = ("--lora", f"a={folder / 'a'}", "--lora", f"b={folder / 'b'}")
    ended = subprocess.run([PROGRAM, "serve", model, "--port", "0", *loras, "--max-loras", "1"], capture_output=True, text=True, env=environment())
    assert ended.returncode == 2 and "max-loras is 1" in ended.stderr
    with RunningServer(model, logs(), *loras, "--lora-memory", "500kB", wait=False) as server:
        assert server.process.wait(60) == 2
        assert "--lora-memory" in server.text()


def stream(server, **fields):
    """A stream whose first token has come."""
    reply = server.open_stream(TEXT, ASK | {"stream": True, "max_tokens": 3000} | fields)
    reply.recv(1)
    return reply


def test_full_memory_rejects_or_queues(start, folder):
    with start("--lora-dir", folder, "--max-loras", 1, "--lora-full", "reject") as server:
        with stream(server, model="a"):
            for reply in (server.post(TEXT, ASK | {"model": "b"}), server.post(LOAD, {"lora_name": "x", "lora_path": "b"})):
                assert reply.status == 409 and reply.error["code"] == "adapters_full" and "--max-loras 1" in reply.error["message"], reply
            assert metric(server, "vllm:lora_requests_info")[0] | {"max_lora": "1", "running_lora_adapters": "a", "waiting_lora_adapters": ""} == metric(server, "vllm:lora_requests_info")[0]
            assert text_of(server, model="a")
        assert server.post(TEXT, ASK | {"lora": [{"name": "a"}, {"name": "b"}]}).status == 409
    with start("--lora-dir", folder, "--max-loras", 1) as server:
        b = text_of(server, model="b")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            with stream(server, model="a"):
                waiting = pool.submit(text_of, server, model="b")
                while metric(server, "vllm:lora_requests_info")[0]["waiting_lora_adapters"] != "b":
                    assert not waiting.done()
            assert waiting.result() == b


@pytest.mark.parametrize("waiting", ["finish", "reject"])
def test_requests_that_wait_while_their_adapter_is_unloaded(start, folder, waiting):
    flags = ("--lora-dir", folder, "--max-num-seqs", 1, "--lora-unload-waiting", waiting)
    with start(*flags) as server, concurrent.futures.ThreadPoolExecutor(3) as pool:
        assert server.post(LOAD, {"lora_name": "x", "lora_path": "a"}).status == 200
        expected = text_of(server, model="x")
        with stream(server, model="x") as running:
            asked = [pool.submit(server.post, TEXT, ASK | {"model": "x"} | more) for more in ({}, {"stream": True})]
            other = pool.submit(server.post, TEXT, ASK)
            while len(server.call("GET", "/v1/requests").json()["data"]) < 4:
                assert not any(one.done() for one in asked)
            assert server.post(UNLOAD, {"lora_name": "x"}).status == 200
            if waiting == "reject":
                for one in asked:
                    assert one.result().status == 404 and "unloaded" in one.result().error["message"]
                assert not other.done() and running.recv(1), "what has begun goes on, and so do others"
        if waiting == "finish":
            assert asked[0].result().json()["choices"][0]["text"] == expected
            assert asked[1].result().status == 200
        assert other.result().status == 200


def test_a_stream_stays_exact_whatever_becomes_of_adapters(start, folder):
    with start("--lora-dir", folder, "--max-loras", 2, "--lora", f"canary={folder / 'd'}") as server:
        alone = {name: text_of(server, model=name, max_tokens=200, cache_salt="0") for name in ("canary", "m")}
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for round in range(3):
                singing = [pool.submit(text_of, server, model=name, max_tokens=200, cache_salt=f"{round}") for name in alone]
                done = 0
                while not all(one.done() for one in singing) or done < 5:
                    assert server.post(LOAD, {"lora_name": "x", "lora_path": "abc"[done % 3], "load_inplace": True}).status == 200
                    text_of(server, model="bc"[done % 2], max_tokens=1)
                    if done % 2:
                        assert server.post(UNLOAD, {"lora_name": "x"}).status == 200
                    done += 1
                assert [one.result() for one in singing] == list(alone.values())


def test_keys_open_the_adapters_they_name(start, folder, tmp_path):
    (tmp_path / "keys").write_text("key-of-a-00 adapters=a\nkey-of-ab-0 adapters=a,b\nkey-of-none adapters=\nkey-of-all0\n")
    flags = ("--api-key-file", tmp_path / "keys", "--lora", f"a={folder / 'a'}", "--lora", f"b={folder / 'b'}", "--lora-dir", folder)
    with start(*flags, env={"MILLRACE_API_KEY": "master-key-00"}, wait=False) as server:
        def key(name):
            return {"X-Api-Key": name}

        server._wait_for(lambda: server.call("GET", "/ready").status == 200, 120)
        opened = {"key-of-a-00": {"a"}, "key-of-ab-0": {"a", "b"}, "key-of-none": set(), "key-of-all0": {"a", "b", "c"}}
        for name, adapters in opened.items():
            for adapter in "abc":
                for fields in ({"model": adapter}, {"model": f"m:{adapter}"}, {"lora": [{"name": adapter}]}):
                    assert server.post(TEXT, ASK | fields | {"max_tokens": 1}, key(name)).status == (200 if adapter in adapters else 404), (name, fields)
            listed = {card["id"] for card in server.call("GET", "/v1/models", headers=key(name)).json()["data"]}
            assert listed <= adapters | {"m"} and {"a"} & adapters <= listed
            assert server.call("GET", "/v1/models/b", headers=key(name)).status == (200 if "b" in adapters else 404)
        forbidden, unknown = (server.post(TEXT, ASK | {"model": name}, key("key-of-a-00")) for name in ("b", "zzz"))
        assert forbidden.body == unknown.body
        counted = {"messages": [{"role": "user", "content": "Hi"}], "model": "b"}
        assert server.post("/v1/messages/count_tokens", counted, key("key-of-a-00")).status == 404


def test_adapters_of_further_models(start, model, folder):
    with start("--lora", f"a={folder / 'a'}", "--model", f"n={model}", "--lora", f"n:b={folder / 'b'}", "--lora", f"m:c={folder / 'c'}") as server:
        base, a, b, c = (text_of(server, model=name) for name in ("m", "m:a", "n:b", "m:c"))
        assert len({base, a, b, c}) == 4
        assert text_of(server, model="b") == b and text_of(server, model="n", lora=[{"name": "b"}]) == b
        assert server.post(TEXT, ASK | {"model": "n:a"}).status == 404 and names(server)["b"]["parent"] == "n"


def test_templates_and_tokens_of_adapters(start, folder, tmp_path):
    template = write_adapter(tmp_path / "template", 11)
    (template / "chat_template.jinja").write_text("{% for m in messages %}[{{ m.content }}]{% endfor %}")
    tokens = write_adapter(tmp_path / "tokens", 0)
    (tokens / "added_tokens.json").write_text(json.dumps({"<new>": 49152}))
    chat = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8, "temperature": 0}

    def prompt_tokens(server, **fields):
        return server.post("/v1/chat/completions", chat | fields).json()["usage"]["prompt_tokens"]

    with start("--lora-dir", tmp_path, "--lora", f"a={folder / 'a'}") as server:
        of_model, of_adapter = prompt_tokens(server), prompt_tokens(server, model="template")
        assert of_adapter == 3 < of_model == prompt_tokens(server, model="a")
        assert prompt_tokens(server, lora=[{"name": "template"}, {"name": "a"}]) == of_model
        assert server.post("/v1/messages/count_tokens", {"messages": chat["messages"], "model": "template"}).json()["input_tokens"] == 3
        reply = server.post(TEXT, ASK | {"model": "tokens"})
        assert reply.status == 400 and "added_tokens.json" in reply.error["message"] and "49152" in reply.error["message"]
    with start("--lora-dir", tmp_path, "--lora-ignore-template") as server:
        assert prompt_tokens(server, model="template") == of_model
        assert text_of(server, model="tokens")


def test_drafts_are_counted_by_adapter(start, folder):
    with start("--lora", f"a={folder / 'a'}", "--spec-method", "ngram") as server:
        text_of(server, model="a", prompt="one two three one two three one two three one", max_tokens=40)
        assert metric(server, "millrace:adapter_draft_tokens_total", adapter="a")[1] > 0
        assert metric(server, "millrace:adapter_accepted_tokens_total", adapter="a")[1] >= 0
