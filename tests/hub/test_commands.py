"""list, show, rm and the commands that take a model's name."""
import json
import os
import pathlib
import pty
import struct
import subprocess

import pytest
from hub_server import COMMIT, Fault

NEW = "f" * 40


@pytest.fixture
def tiny(hub, gguf_files):
    return hub.add("org/tiny", gguf_files)


def rows(millrace):
    return {row["name"]: row for row in json.loads(millrace("list", "--json").out)}


def test_list_names_every_model_as_one_types_it(hub, tiny, millrace, safetensors_files):
    hub.add("org/st", safetensors_files)
    tiny.revisions["v1"] = NEW
    for reference in ("org/tiny:Q4_K_M", "org/tiny:Q8_0", "org/tiny:Q2_K@v1", "org/st"):
        millrace("pull", reference)
    found = rows(millrace)
    assert set(found) == {"org/tiny:Q4_K_M", "org/tiny:Q8_0", "org/tiny:Q2_K@v1", "org/st"}
    row = found["org/tiny:Q8_0"]
    assert (row["format"], row["quantization"], row["bytes"], row["commit"]) == ("gguf", "Q8_0", 30_000, COMMIT)
    assert row["refs"] == ["main"] and row["complete"] and row["path"].endswith("tiny-Q8_0.gguf")
    assert found["org/st"]["format"] == "safetensors" and found["org/st"]["bytes"] > 130_000
    table = millrace("list").out
    assert table.startswith("name") and "org/tiny:Q2_K@v1" in table and "30.0 kB" in table and "safetensors" in table
    for name in found:  # each leads somewhere
        assert pathlib.Path(millrace("pull", name, "--offline").out.strip()).exists()


def test_list_shows_the_default_model_and_an_empty_cache(millrace, tmp_path):
    assert json.loads(millrace("list", "--json").out) == []
    path = tmp_path / "cache" / "millrace" / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x" * 1000)
    row = rows(millrace)["default"]
    assert (row["bytes"], row["quantization"], row["path"]) == (1000, "Q4_1", str(path))


def test_list_marks_what_cannot_be_loaded(hub, millrace, safetensors_files, cache):
    hub.add("org/st", safetensors_files)
    folder = pathlib.Path(millrace("pull", "org/st").out.strip())
    (folder / "model-00002-of-00002.safetensors").unlink()
    assert rows(millrace)["org/st"]["complete"] is False
    assert "incomplete" in millrace("list").out


def test_show_tells_files_formats_and_licence(hub, millrace, gguf_files, tiny_gguf):
    gguf_files["tiny-Q4_0.gguf"] = tiny_gguf.read_bytes()
    hub.add("org/tiny", gguf_files)
    millrace("pull", "org/tiny:Q4_0")
    report = json.loads(millrace("show", "org/tiny", "--json").out)
    assert (report["licence"], report["architecture"], report["commit"]) == ("apache-2.0", "llama", COMMIT)
    assert report["parameters"] > 0 and "q4_0" in report["formats"]
    assert {f["name"]: f["bytes"] for f in report["files"]} == {n: len(gguf_files[n]) for n in ("README.md", "tiny-Q4_0.gguf")}
    text = millrace("show", "org/tiny:Q4_0").out
    assert "apache-2.0" in text and "tiny-Q4_0.gguf" in text
    assert report["kv_cache_dtype"] == "bf16" and "kv cache bf16" in " ".join(text.split())
    assert json.loads(millrace("show", tiny_gguf, "--json").out)["architecture"] == "llama"


def with_licence(gguf, licence):
    """The bytes of a .gguf file with one more key. What follows must stay aligned to 32 bytes."""
    key = b"general.license"
    entry = struct.pack("<Q", len(key)) + key + struct.pack("<IQ", 8, len(licence)) + licence
    assert len(entry) % 32 == 0
    count = struct.unpack_from("<Q", gguf, 16)[0]
    return gguf[:16] + struct.pack("<Q", count + 1) + entry + gguf[24:]


def test_show_tells_the_licence_that_the_file_itself_states(millrace, tiny_gguf, tmp_path):
    assert json.loads(millrace("show", tiny_gguf, "--json").out)["licence"] is None
    assert "licence not stated in the files" in " ".join(millrace("show", tiny_gguf).out.split())
    licence = "a-licence-of-29-letters-xxxxx"
    path = tmp_path / "licensed.gguf"
    path.write_bytes(with_licence(tiny_gguf.read_bytes(), licence.encode()))
    assert json.loads(millrace("show", path, "--json").out)["licence"] == licence
    (tmp_path / "README.md").write_text("---\nlicense: mit\n---\n")
    assert json.loads(millrace("show", path, "--json").out)["licence"] == "mit"


def test_show_of_what_is_no_model_says_why(tiny, millrace, fails):
    millrace("pull", "org/tiny")
    assert "GGUF" in json.loads(millrace("show", "org/tiny", "--json").out)["warning"]
    assert "not in the Hugging Face cache" in fails(3, "show", "org/other")


def test_rm_removes_everything_of_a_repository(tiny, millrace, cache):
    millrace("pull", "org/tiny")
    outcome = millrace("rm", "org/tiny", "--yes")
    assert outcome.out == "removed org/tiny, freed 200 kB\n"
    assert not list(cache.glob("models--*")) and not list((cache / ".locks").iterdir())


def test_rm_of_one_quantization_leaves_the_others(tiny, millrace, cache, fails):
    for q in ("Q4_K_M", "Q8_0"):
        millrace("pull", f"org/tiny:{q}")
    assert json.loads(millrace("rm", "org/tiny:Q4_K_M", "--yes", "--json").out)["freed_bytes"] == 200_000
    assert set(rows(millrace)) == {"org/tiny:Q8_0"}
    assert not (cache / "models--org--tiny" / "blobs" / tiny.files["tiny-Q4_K_M.gguf"].etag).exists()
    assert "no quantization or file 'Q4_K_M'" in fails(3, "rm", "org/tiny:Q4_K_M", "--yes")
    millrace("rm", "org/tiny:Q8_0", "--yes")
    assert not (cache / "models--org--tiny").exists()


def test_rm_of_a_revision_keeps_blobs_that_another_needs(tiny, millrace, cache):
    tiny.revisions["v1"] = NEW
    millrace("pull", "org/tiny")
    millrace("pull", "org/tiny@v1")
    assert json.loads(millrace("rm", "org/tiny@v1", "--yes", "--json").out)["freed_bytes"] == 0
    assert not (cache / "models--org--tiny" / "refs" / "v1").exists()
    assert not (cache / "models--org--tiny" / "snapshots" / NEW).exists()
    assert millrace("pull", "org/tiny", "--offline").out.strip().endswith("tiny-Q4_K_M.gguf")


def test_rm_asks_on_a_terminal_and_refuses_without(tiny, millrace, fails, program, environment, cache):
    millrace("pull", "org/tiny")
    assert "--yes" in fails(2, "rm", "org/tiny")
    for answer, left in ((b"n\n", True), (b"y\n", False)):
        master, slave = pty.openpty()
        os.write(master, answer)
        done = subprocess.run([program, "rm", "org/tiny"], stdin=slave, capture_output=True, env=environment, timeout=30)
        os.close(master), os.close(slave)
        assert b"frees 200 kB" in done.stderr and done.returncode == (1 if left else 0)
        assert (cache / "models--org--tiny").exists() == left


def test_rm_never_leaves_the_cache(tiny, millrace, fails, cache, tmp_path):
    outside = tmp_path / "precious.gguf"
    outside.write_bytes(b"precious")
    for reference in (str(outside), "default", "../hub"):
        fails(2, "rm", reference, "--yes")
    path = pathlib.Path(millrace("pull", "org/tiny").out.strip())
    (path.parent / "linked.gguf").symlink_to(outside)
    (path.parent / "folder").symlink_to(tmp_path)
    millrace("rm", "org/tiny", "--yes")
    assert outside.read_bytes() == b"precious"
    (cache / "models--org--moved").symlink_to(tmp_path)
    assert "remove it by hand" in fails(2, "rm", "org/moved", "--yes")
    assert outside.exists()


def test_rm_leaves_a_running_download_alone(hub, tiny, millrace, fails, program, environment, cache):
    millrace("pull", "org/tiny:Q2_K")
    etag = tiny.files["tiny-Q8_0.gguf"].etag
    hub.faults = [Fault(where=etag, stall_at=1000)]
    pull = subprocess.Popen([program, "pull", "org/tiny:Q8_0"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    part = cache / "models--org--tiny" / "blobs" / f"{etag}.incomplete"
    while not part.exists():
        assert pull.poll() is None
    assert "another process downloads it" in fails(1, "rm", "org/tiny", "--yes")
    pull.kill()
    pull.communicate()
    assert (cache / "models--org--tiny" / "snapshots" / COMMIT / "tiny-Q2_K.gguf").exists()


def test_names_of_models_are_downloaded_once_by_every_command(hub, millrace, tiny_gguf):
    hub.add("org/random", {"tiny-Q4_0.gguf": tiny_gguf.read_bytes()})
    outcome = millrace("inspect", "org/random", "--json")
    assert json.loads(outcome.out)["architecture"] == "llama"
    assert f"org/random is not in the cache: asking {hub.url}" in outcome.err
    asked = len(hub.requests)
    millrace("inspect", "org/random:Q4_0")
    assert len(hub.requests) == asked


def test_what_another_program_fetched_in_part_is_completed(hub, millrace, fails, tiny_gguf, cache):
    hub.add("org/random", {"config.json": b"{}", "tiny-Q4_0.gguf": tiny_gguf.read_bytes()})
    snapshot = cache / "models--org--random" / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_bytes(b"{}")
    (cache / "models--org--random" / "refs").mkdir()
    (cache / "models--org--random" / "refs" / "main").write_text(COMMIT)
    assert "no .gguf" in fails(3, "inspect", "org/random", "--offline")
    millrace("inspect", "org/random")


def test_run_takes_a_name(hub, millrace):
    path = os.environ.get("MILLRACE_TEST_MODEL", "")
    if not path:
        pytest.skip("MILLRACE_TEST_MODEL is not set")
    hub.add("org/smol", {"smol.Q4_1.gguf": pathlib.Path(path).read_bytes()})
    arguments = ("run", "org/smol", "What is gravity?", "--temperature", "0", "--max-tokens", "8")
    first = millrace(*arguments)
    assert first.out.strip() and "smol.Q4_1.gguf" in first.err
    assert millrace(*arguments, "--offline").out == first.out
