"""What a pull leaves in the cache, what it prints and what it asks the hub for."""
import json
import os
import pathlib

import pytest
from hub_server import COMMIT, git_sha1

REPOSITORY = "models--org--tiny"


@pytest.fixture
def tiny(hub, gguf_files):
    return hub.add("org/tiny", gguf_files)


def test_prints_the_path_of_the_preferred_quantization(hub, tiny, millrace, cache, gguf_files):
    outcome = millrace("pull", "org/tiny")
    path = pathlib.Path(outcome.out.rstrip("\n"))
    assert path == cache / REPOSITORY / "snapshots" / COMMIT / "tiny-Q4_K_M.gguf"
    assert path.read_bytes() == gguf_files["tiny-Q4_K_M.gguf"]
    assert {p.name for p in path.parent.iterdir()} == {"README.md", "tiny-Q4_K_M.gguf"}


def test_writes_the_layout_of_the_shared_cache(hub, tiny, millrace, cache, gguf_files):
    millrace("pull", "org/tiny:Q8_0")
    folder = cache / REPOSITORY
    etag = tiny.files["tiny-Q8_0.gguf"].etag
    assert os.readlink(folder / "snapshots" / COMMIT / "tiny-Q8_0.gguf") == f"../../blobs/{etag}"
    assert {p.name for p in (folder / "blobs").iterdir()} == {etag, git_sha1(gguf_files["README.md"])}
    assert (folder / "refs" / "main").read_text() == COMMIT
    assert (cache / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")
    assert (cache / ".locks" / REPOSITORY / f"{etag}.lock").exists()


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), 10**30, "\ud800"])
def test_what_a_model_card_says_in_pythons_json_does_not_matter(tiny, millrace, value):
    tiny.extra = {"cardData": {"model-index": [{"results": [{"metrics": [{"value": value}]}]}]}, "downloads": 10**20}
    assert millrace("pull", "org/tiny").out.endswith("/tiny-Q4_K_M.gguf\n")


@pytest.mark.parametrize("selector, file", [("Q8_0", "tiny-Q8_0.gguf"), ("q2_k", "tiny-Q2_K.gguf"), ("tiny-Q2_K.gguf", "tiny-Q2_K.gguf"),
                                            ("tiny-Q2_K", "tiny-Q2_K.gguf")])
def test_takes_a_quantization_or_a_file(tiny, millrace, selector, file):
    assert millrace("pull", f"hf://org/tiny:{selector}").out.endswith(f"/{file}\n")


def test_an_unknown_quantization_lists_what_there_is(tiny, fails):
    error = fails(3, "pull", "org/tiny:Q5_K_M")
    assert "'Q2_K' (20.0 kB), 'Q4_K_M' (200 kB), 'Q8_0' (30.0 kB)" in error and "mmproj" not in error


def test_two_files_of_one_quantization_must_be_named(hub, fails, millrace):
    hub.add("org/two", {"small-Q4_0.gguf": b"a" * 100, "large-Q4_0.gguf": b"b" * 200})
    assert "'large-Q4_0.gguf', 'small-Q4_0.gguf'" in fails(2, "pull", "org/two:Q4_0")
    assert millrace("pull", "org/two:small-Q4_0.gguf").out.endswith("small-Q4_0.gguf\n")


def test_fetches_all_shards_of_a_split_gguf(hub, millrace, fails):
    shards = {f"Q4_K_M/big-Q4_K_M-0000{i}-of-00003.gguf": bytes([i]) * 1000 for i in (1, 2, 3)}
    hub.add("org/split", shards)
    path = pathlib.Path(millrace("pull", "org/split").out.strip())
    assert path.name == "big-Q4_K_M-00001-of-00003.gguf" and path.parent.name == "Q4_K_M"
    assert sorted(p.read_bytes() for p in path.parent.iterdir()) == sorted(shards.values())
    assert os.readlink(path).startswith("../../../blobs/")
    hub.add("org/broken", dict(list(shards.items())[:2]))
    assert "of its 3 shards only 2 are there" in fails(3, "pull", "org/broken")


def test_fetches_what_a_safetensors_model_needs_and_no_more(hub, millrace, safetensors_files):
    hub.add("org/st", safetensors_files)
    folder = pathlib.Path(millrace("pull", "org/st").out.strip())
    assert folder.name == COMMIT
    unwanted = {"pytorch_model.bin", "original/consolidated.safetensors", "onnx/model.onnx", "modeling.py"}
    found = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    assert found == set(safetensors_files) - unwanted
    for name in found:
        assert (folder / name).read_bytes() == safetensors_files[name]


def test_fetches_files_of_torch_where_there_is_nothing_else(hub, millrace, fails):
    weights = {"pytorch_model-00001-of-00002.bin": b"1" * 3000, "pytorch_model-00002-of-00002.bin": b"2" * 3000}
    index = json.dumps({"weight_map": dict(zip("ab", weights))}).encode()
    files = {"config.json": b"{}", "pytorch_model.bin.index.json": index, **weights}
    hub.add("org/torch", {**files, "training_args.bin": b"x", "optimizer.pt": b"x", "modeling.py": b"x"})
    pulled = json.loads(millrace("pull", "org/torch", "--json").out)
    assert pulled["format"] == "torch" and {p.name for p in pathlib.Path(pulled["path"]).iterdir()} == set(files)
    assert [m["format"] for m in json.loads(millrace("list", "--json").out)] == ["torch"]
    hub.add("org/medusa", {"config.json": b"{}", "medusa_lm_head.pt": b"x" * 3000})
    folder = pathlib.Path(millrace("pull", "org/medusa").out.strip())
    assert {p.name for p in folder.iterdir()} == {"config.json", "medusa_lm_head.pt"}
    assert "no model.safetensors" in fails(3, "pull", "org/torch:safetensors")


def test_never_fetches_files_that_can_hold_code(hub, fails):
    hub.add("org/pickle", {"config.json": b"{}", "model.bin": b"x", "model.onnx": b"x"})
    error = fails(3, "pull", "org/pickle")
    assert "only .bin, .onnx" in error and not hub.downloads()


def test_fetches_nothing_twice(hub, tiny, millrace):
    first = millrace("pull", "org/tiny").out
    asked = len(hub.downloads())
    assert millrace("pull", "org/tiny").out == first
    assert len(hub.downloads()) == asked


def test_a_new_commit_reuses_unchanged_files(hub, tiny, millrace, cache):
    millrace("pull", "org/tiny")
    tiny.revisions["main"] = new = "f" * 40
    asked = len(hub.downloads())
    assert f"/snapshots/{new}/" in millrace("pull", "org/tiny").out
    assert len(hub.downloads()) == asked
    assert (cache / REPOSITORY / "refs" / "main").read_text() == new


def test_follows_branches_tags_pull_requests_and_commits(hub, tiny, millrace, cache, fails):
    tiny.revisions |= {"v1.0": "a" * 40, "refs/pr/3": "b" * 40}
    assert f"/snapshots/{'a' * 40}/" in millrace("pull", "org/tiny:Q2_K@v1.0").out
    assert f"/snapshots/{'b' * 40}/" in millrace("pull", "org/tiny:Q2_K", "--revision", "refs/pr/3").out
    assert (cache / REPOSITORY / "refs" / "refs" / "pr" / "3").read_text() == "b" * 40
    assert f"/snapshots/{'a' * 40}/" in millrace("pull", f"org/tiny@{'a' * 40}").out
    assert "two revisions" in fails(2, "pull", "org/tiny@v1.0", "--revision", "main")


def test_canonical_names_have_no_organisation(hub, millrace, cache):
    hub.add("gpt2", {"config.json": b"{}", "model.safetensors": b"x" * 500})
    assert millrace("pull", "gpt2").out.startswith(str(cache / "models--gpt2"))


def test_the_token_stays_with_the_endpoint(hub, gguf_files, millrace):
    hub.add("org/private", gguf_files, token="hf_secret")
    millrace("pull", "org/private", env={"HF_TOKEN": "hf_secret"})
    at = {server: [r["headers"].get("Authorization") for r in hub.requests if r["server"] == server] for server in ("hub", "cdn")}
    assert set(at["hub"]) == {"Bearer hf_secret"}
    assert at["cdn"] and set(at["cdn"]) == {None}


def test_the_token_of_the_login_is_used(hub, gguf_files, millrace, tmp_path):
    hub.add("org/private", gguf_files, token="hf_login")
    (tmp_path / "hf").mkdir()
    (tmp_path / "hf" / "token").write_text("hf_login\n")
    millrace("pull", "org/private")


def test_prints_json(hub, tiny, millrace):
    report = json.loads(millrace("pull", "org/tiny", "--json").out)
    assert (report["repository"], report["commit"], report["format"], report["quantization"]) == ("org/tiny", COMMIT, "gguf", "Q4_K_M")
    assert report["files"][1] == {"name": "tiny-Q4_K_M.gguf", "bytes": 200_000, "present": False}
    assert report["fetched_bytes"] == report["total_bytes"]
    assert json.loads(millrace("pull", "org/tiny", "--json").out)["fetched_bytes"] == 0


def test_a_dry_run_fetches_nothing(hub, tiny, millrace, cache):
    out = millrace("pull", "org/tiny", "--dry-run").out
    assert "tiny-Q4_K_M.gguf" in out and "to download" in out
    assert not hub.downloads() and not cache.exists()


def test_include_fetches_more(hub, tiny, millrace, fails, gguf_files):
    path = pathlib.Path(millrace("pull", "--include", "mmproj-*.gguf", "org/tiny").out.strip())
    assert path.name == "tiny-Q4_K_M.gguf"
    assert (path.parent / "mmproj-tiny-f16.gguf").read_bytes() == gguf_files["mmproj-tiny-f16.gguf"]
    assert "no file is like 'nothing-*'" in fails(3, "pull", "org/tiny", "--include", "nothing-*")


def test_progress_is_a_line_a_file_and_can_be_silenced(tiny, millrace, hub):
    assert "tiny-Q4_K_M.gguf  200 kB" in millrace("pull", "org/tiny").err
    assert millrace("pull", "org/tiny:Q8_0", "--no-progress").err == ""
    assert millrace("pull", "org/tiny:Q2_K", env={"HF_HUB_DISABLE_PROGRESS_BARS": "1"}).err == ""


def test_listings_without_sizes_are_completed_by_asking_for_each_file(hub, tiny, millrace, cache):
    hub.short_listing = True
    path = pathlib.Path(millrace("pull", "org/tiny:Q8_0").out.strip())
    assert path.resolve().name == tiny.files["tiny-Q8_0.gguf"].etag
    assert any(r["method"] == "HEAD" and "tiny-Q8_0" in r["path"] for r in hub.requests)


@pytest.mark.parametrize("name", ["../../../evil.gguf", "/etc/evil.gguf", "a/../../evil.gguf", "a\x00b.gguf", "./evil.gguf", "a//b.gguf",
                                  "x" * 600 + ".gguf", "a/b/c/d/e/f/g/h/i.gguf"])
def test_file_names_that_leave_the_snapshot_refuse_the_repository(hub, fails, cache, tmp_path, name):
    hub.add("org/evil", {name: b"x" * 100})
    assert "refused" in fails(3, "pull", "org/evil")
    assert not hub.downloads() and not list(tmp_path.rglob("*evil*"))


@pytest.mark.parametrize("reference", ["", "a/b/c", "org/..", "org/x:", "org/x@", "org/x:a:b", "org--x/y"])
def test_broken_references_are_usage(hub, fails, reference):
    fails(2, "pull", reference)
    assert not hub.requests


@pytest.mark.parametrize("address", ["hf.co/org/tiny:Q2_K", "huggingface.co/org/tiny:Q2_K@main", "https://huggingface.co/org/tiny/blob/main/tiny-Q2_K.gguf",
                                     "https://huggingface.co/org/tiny/resolve/refs%2Fpr%2F3/tiny-Q2_K.gguf?download=true"])
def test_addresses_of_the_hub_are_names_too(hub, tiny, millrace, address):
    tiny.revisions |= {"refs/pr/3": "b" * 40}
    path = millrace("pull", address).out
    assert path.endswith("tiny-Q2_K.gguf\n")
    assert millrace("pull", "org/tiny:Q2_K@refs/pr/3" if "pr" in address else "org/tiny:Q2_K").out == path


@pytest.mark.parametrize("name, instead", [("ollama://llama3", "org/name[:quantization]"), ("docker.io/ai/x", "no registry of containers"),
                                           ("s3://bucket/x", "copy the model"), ("llama3.2:1b", "huggingface.co/models?search=llama3.2"),
                                           ("https://example.com/m.gguf", "only addresses of huggingface.co")])
def test_names_of_other_libraries_are_answered_without_asking_the_hub(hub, fails, name, instead):
    for arguments in (("pull", name), ("run", name), ("run", name, "Hi"), ("inspect", name)):
        assert instead in fails(3, *arguments)
    assert not hub.requests


def test_the_hub_can_be_asked_for_such_a_name_all_the_same(hub, millrace, gguf_files):
    hub.add("llama3.2", gguf_files)
    path = millrace("pull", "hf://llama3.2:Q2_K").out
    assert path.endswith("tiny-Q2_K.gguf\n") and millrace("show", "llama3.2:Q2_K", "--json").code == 0


def test_links_out_of_the_cache_are_not_followed(hub, tiny, fails, cache, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (cache / REPOSITORY).mkdir(parents=True)
    (cache / REPOSITORY / "blobs").symlink_to(outside)
    assert "a link out of the cache" in fails(1, "pull", "org/tiny")
    assert not list(outside.iterdir())


def test_an_adapter_is_fetched_when_a_flag_names_it(hub, millrace, cache):
    golden = pathlib.Path(__file__).resolve().parents[1] / "golden"
    folder = golden / "adapters" / "llama_q_v"
    base = golden / (folder / "base").read_text().strip()
    wanted = {name: (folder / name).read_bytes() for name in ("adapter_config.json", "adapter_model.safetensors")}
    hub.add("org/q_v", wanted | {"optimizer.pt": b"x", "README.md": b"# An adapter\n"})
    small = ("--prompt-tokens", 4, "--output-tokens", 2, "--runs", 1, "--warmup", 0)
    for options in ((), ("--offline",)):
        millrace("bench", "latency", base, "--lora", "x=org/q_v", *small, *options)
    snapshot = cache / "models--org--q_v" / "snapshots" / COMMIT
    assert {p.name for p in snapshot.iterdir()} == {*wanted, "README.md"}
    assert millrace("pull", "org/q_v:adapter").out == f"{snapshot}\n"


def test_what_is_no_adapter_is_not_fetched_as_one(hub, tiny, fails):
    base = pathlib.Path(__file__).resolve().parents[1] / "golden" / "tiny" / "llama"
    assert "no PEFT adapter" in fails(3, "bench", "latency", base, "--lora", "x=org/tiny")
    assert not hub.downloads(".gguf")
