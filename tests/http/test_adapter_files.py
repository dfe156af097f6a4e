"""Adapters over HTTP by their files: those of other tools, and which names stand for which of a directory's."""
import pytest
from adapter_files import ASK, LAYERS, LOAD, TEXT, UNLOAD, adapted, folder, names, text_of, write_adapter, write_gguf, write_kohya, write_single  # adapted and folder are fixtures


def test_files_without_a_directory_are_the_adapter_that_they_hold(start, folder):
    write_gguf(folder / "a", folder / "alone.gguf")
    write_single(folder / "a", folder / "alone.safetensors")
    with start("--lora", f"dir={folder / 'a'}", "--lora", f"gguf={folder / 'alone.gguf'}", "--lora-dir", folder) as server:
        server.post(LOAD, {"lora_name": "loose", "lora_path": "alone.safetensors"})
        server.post(LOAD, {"lora_name": "weights", "lora_path": "a/adapter_model.safetensors"})
        texts = {text_of(server, model=name, cache_salt=name) for name in ("dir", "gguf", "loose", "weights")}
        assert len(texts) == 1 and texts != {text_of(server)}


def test_files_of_other_tools_are_the_same_adapter(adapted, folder):
    expected = text_of(adapted, model="a")
    write_kohya(folder / "a", folder / "kohya.safetensors")
    write_gguf(folder / "a", folder / "converted.gguf")
    for name in ("kohya.safetensors", "converted.gguf"):
        assert text_of(adapted, model=name) == expected
    assert names(adapted)["converted.gguf"]["meta"]["modules"] == 2 * LAYERS
    write_kohya(folder / "b", folder / "other.safetensors")
    assert text_of(adapted, model="other.safetensors") == text_of(adapted, model="b") != expected
    assert adapted.post(LOAD, {"lora_name": "loaded", "lora_path": "converted.gguf"}).status == 200
    assert text_of(adapted, model="loaded") == expected


def test_names_are_looked_up_in_the_directory(adapted, folder):
    assert "found" not in names(adapted)
    found = text_of(adapted, model="found")
    assert text_of(adapted, model="m:found") == found != text_of(adapted)
    assert names(adapted)["found"]["root"] == str(folder / "found") and names(adapted)["found"]["meta"]["generation"] == 1
    assert text_of(adapted, lora=[{"name": "group/inner"}]) == text_of(adapted, model="group/inner") != found
    reply = adapted.post(TEXT, ASK | {"model": "dora"})
    assert reply.status == 400 and reply.error["param"] == "model" and "use_dora" in reply.error["message"]
    assert str(folder) not in reply.error["message"] and "dora" not in names(adapted)


def test_single_files_of_the_directory_have_names_too(start, tmp_path):
    source = write_adapter(tmp_path / "dir", 0)
    write_gguf(source, tmp_path / "one.gguf")
    write_single(source, tmp_path / "two.safetensors")
    (tmp_path / "two.gguf").write_bytes(b"GGUF")
    with start("--lora-dir", tmp_path) as server:
        assert text_of(server, model="one") == text_of(server, model="dir") != text_of(server)
        reply = server.post(TEXT, ASK | {"model": "two"})
        assert reply.status == 400 and reply.error["param"] == "model" and "two.gguf and two.safetensors" in reply.error["message"]
        (tmp_path / "two.gguf").unlink()
        assert text_of(server, model="two") == text_of(server, model="one")


def test_an_unloaded_name_stays_unloaded_until_it_is_loaded(start, folder):
    with start("--lora-dir", folder) as server:
        a = text_of(server, model="a")
        assert server.post(UNLOAD, {"lora_name": "a"}).status == 200
        for fields in ({"model": "a"}, {"model": "m:a"}, {"lora": [{"name": "a"}]}):
            assert server.post(TEXT, ASK | fields).status == 404
        assert "a" not in names(server) and text_of(server, model="b") != a
        assert server.post(LOAD, {"lora_name": "a", "lora_path": "a"}).headers["x-lora-generation"] == "2"
        assert text_of(server, model="a") == a
    with start("--lora-dir", folder) as server:
        assert text_of(server, model="a") == a


@pytest.mark.parametrize("name", ["../a", "a/../b", "./a", "a/", "group", "escape", "/etc", "none", "a\0", "."])
def test_no_name_leads_out_of_the_directory(adapted, name):
    reply = adapted.post(TEXT, ASK | {"model": name})
    assert reply.status == 404 and reply.error["code"] == "model_not_found", reply
