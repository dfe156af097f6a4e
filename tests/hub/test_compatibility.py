"""One cache, two programs: Hugging Face's own client and ours find what the other has downloaded."""
import json
import os
import pathlib
import subprocess
import sys

import pytest
from hub_server import COMMIT, Fault

huggingface_hub = pytest.importorskip("huggingface_hub")
SHARED = "ab" * 32


@pytest.fixture
def theirs(environment):
    """Runs a text in a new process: the client reads its environment once."""

    def run(text, **env):
        environment_ = {k: v for k, v in environment.items() if k != "HF_HUB_DISABLE_PROGRESS_BARS"} | env
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, env=environment_, timeout=60)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    return run


DOWNLOAD = """
import json, huggingface_hub
print(json.dumps([huggingface_hub.hf_hub_download({0!r}, name) for name in {1!r}]))
"""
SCAN = """
import json, huggingface_hub
info = huggingface_hub.scan_cache_dir()
print(json.dumps({"warnings": [str(w) for w in info.warnings], "repos": [
    {"id": r.repo_id, "size": r.size_on_disk, "revisions": {v.commit_hash: [sorted(v.refs), sorted(f.file_name for f in v.files)]
     for v in r.revisions}} for r in info.repos]}))
"""


def test_we_find_what_they_downloaded(hub, gguf_files, millrace, theirs):
    hub.add("org/tiny", gguf_files)
    [path] = theirs(DOWNLOAD.format("org/tiny", ["tiny-Q8_0.gguf"]))
    asked = len(hub.requests)
    assert millrace("pull", "org/tiny", "--offline").out.strip() == path
    [row] = json.loads(millrace("list", "--json").out)
    assert (row["name"], row["refs"], row["complete"]) == ("org/tiny:Q8_0", ["main"], True)
    assert json.loads(millrace("show", "org/tiny", "--json").out)["path"] == path
    assert len(hub.requests) == asked
    report = json.loads(millrace("pull", "org/tiny:Q8_0", "--json").out)
    assert {f["name"]: f["present"] for f in report["files"]} == {"README.md": False, "tiny-Q8_0.gguf": True}


def test_they_find_what_we_downloaded(hub, gguf_files, safetensors_files, millrace, theirs):
    hub.add("org/tiny", gguf_files)
    hub.add("org/st", safetensors_files)
    path = millrace("pull", "org/tiny").out.strip()
    folder = pathlib.Path(millrace("pull", "org/st").out.strip())
    scan = theirs(SCAN)
    assert scan["warnings"] == []
    tiny, st = sorted(scan["repos"], key=lambda repo: repo["id"], reverse=True)
    assert tiny["revisions"] == {COMMIT: [["main"], ["README.md", "tiny-Q4_K_M.gguf"]]}
    assert tiny["size"] == sum(len(gguf_files[n]) for n in ("README.md", "tiny-Q4_K_M.gguf"))
    assert set(st["revisions"][COMMIT][1]) == {p.name for p in folder.rglob("*") if p.is_file()}
    asked = len(hub.requests)
    assert theirs(DOWNLOAD.format("org/tiny", ["tiny-Q4_K_M.gguf"]), HF_HUB_OFFLINE="1") == [path]
    assert len(hub.requests) == asked
    theirs(DOWNLOAD.format("org/st", ["config.json", "model-00001-of-00002.safetensors"]))
    assert not [r for r in hub.requests[asked:] if r["method"] == "GET" and "/resolve/" in r["path"]]


def test_they_clean_up_after_a_failed_pull_of_ours(hub, gguf_files, millrace, fails, theirs):
    repository = hub.add("org/tiny", gguf_files)
    hub.faults = [Fault(where=repository.files["tiny-Q4_K_M.gguf"].etag, cut_at=1000), Fault(where="cdn/", status=403)]
    fails(3, "pull", "org/tiny")
    [path] = theirs(DOWNLOAD.format("org/tiny", ["tiny-Q4_K_M.gguf"]))
    assert pathlib.Path(path).read_bytes() == gguf_files["tiny-Q4_K_M.gguf"]
    assert millrace("pull", "org/tiny").out.strip() == path


@pytest.fixture
def shared(hub, gguf_files, millrace, cache):
    """A blob moved into the store that repositories share, as their client leaves it (hub 2.0)."""
    repository = hub.add("org/tiny", gguf_files)
    path = pathlib.Path(millrace("pull", "org/tiny:Q8_0").out.strip())
    blob = cache / "models--org--tiny" / "blobs" / repository.files["tiny-Q8_0.gguf"].etag
    store = cache / "blobs" / SHARED[:2]
    store.mkdir(parents=True)
    (cache / "blobs" / ".huggingface-shared-blobs").write_text("1\n")
    blob.rename(store / SHARED)
    blob.symlink_to(os.path.relpath(store / SHARED, blob.parent))
    (store / f"{SHARED}.refs").write_text(f"{blob.relative_to(cache)}\n")
    return path, store / SHARED, blob


def test_the_shared_store_is_read(hub, shared, millrace, theirs):
    path, payload, _ = shared
    asked = len(hub.downloads())
    assert millrace("pull", "org/tiny:Q8_0").out.strip() == str(path)
    assert len(hub.downloads()) == asked
    [row] = json.loads(millrace("list", "--json").out)
    assert (row["name"], row["bytes"]) == ("org/tiny:Q8_0", 30_000)
    assert theirs(SCAN)["warnings"] == []


def test_rm_empties_the_shared_store_of_what_nothing_else_links_to(shared, millrace):
    path, payload, _ = shared
    assert "freed 30.0 kB" in millrace("rm", "org/tiny", "--yes").out
    assert not payload.exists() and not payload.with_name(f"{SHARED}.refs").exists()


def test_rm_leaves_a_shared_file_that_another_repository_links_to(shared, millrace, cache):
    path, payload, blob = shared
    other = cache / "models--org--other" / "blobs" / blob.name
    other.parent.mkdir(parents=True)
    other.symlink_to(os.path.relpath(payload, other.parent))
    with open(payload.with_name(f"{SHARED}.refs"), "a") as manifest:
        manifest.write(f"{other.relative_to(cache)}\n")
    assert "freed 38 B" in millrace("rm", "org/tiny", "--yes").out
    assert other.read_bytes() == payload.read_bytes()


def test_rm_leaves_a_shared_file_whose_links_nobody_listed(shared, millrace):
    path, payload, _ = shared
    payload.with_name(f"{SHARED}.refs").unlink()
    millrace("rm", "org/tiny", "--yes")
    assert payload.exists()
