"""A model in several GGUF files, written by the PyPI package gguf, answers as the whole one does."""
import json

import pytest


@pytest.fixture(scope="module")
def parts(real_model, tmp_path_factory):
    gguf = pytest.importorskip("gguf")
    directory = tmp_path_factory.mktemp("split")
    reader = gguf.GGUFReader(real_model)
    architecture = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(directory / "m.gguf", architecture, split_max_tensors=100)
    for field in reader.fields.values():
        if not field.name.startswith("GGUF.") and field.name != "general.architecture":
            sub_type = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], sub_type=sub_type)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    paths = sorted(directory.glob("*.gguf"))
    assert len(paths) > 1 and paths[0].name.startswith("m-00001-of-")
    return paths


def test_it_answers_as_the_whole_model_does(millrace, real_model, parts):
    flags = ["The sky is", "--temperature", "0", "-n", "8"]
    assert millrace("run", parts[0], *flags).out == millrace("run", real_model, *flags).out


def test_its_directory_stands_for_it(millrace, parts):
    def facts(model):
        out = json.loads(millrace("inspect", model, "--json").out)
        del out["memory"]["available"]  # changes from moment to moment
        return out

    assert facts(parts[0].parent) == facts(parts[0])


def test_a_part_that_is_not_the_first_is_refused(millrace, parts):
    outcome = millrace("inspect", parts[1], ok=False)
    assert outcome.code == 3 and "part 1 of" in outcome.err


def test_a_missing_part_is_named(millrace, parts, tmp_path):
    for path in parts[:-1]:
        (tmp_path / path.name).symlink_to(path)
    outcome = millrace("inspect", tmp_path / parts[0].name, ok=False)
    assert outcome.code == 3 and parts[-1].name in outcome.err


def test_a_part_of_another_place_is_refused(millrace, parts, tmp_path):
    (tmp_path / parts[0].name).symlink_to(parts[0])
    for path in parts[1:]:
        (tmp_path / path.name).symlink_to(parts[0])
    outcome = millrace("inspect", tmp_path / parts[0].name, ok=False)
    assert outcome.code == 3 and "part 2 of" in outcome.err
