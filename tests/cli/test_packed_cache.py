"""Packed weights kept from one start to the next change nothing but the time a start takes."""
import pytest

ANSWER = ["The sky is", "--temperature", "0", "-n", "8"]


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "packed"


def test_the_second_start_answers_the_same(millrace, real_model, directory):
    plain = millrace("run", real_model, *ANSWER, "--packed-cache", "off").out
    for _ in range(2):
        outcome = millrace("run", real_model, *ANSWER, "--packed-cache", directory)
        assert outcome.out == plain and "warning" not in outcome.err
        assert len(list(directory.iterdir())) == 1


def test_each_precision_has_its_own_layout(millrace, real_model, directory):
    for precision in ["auto", "f32", "auto"]:
        plain = millrace("run", real_model, *ANSWER, "--matmul-precision", precision, "--packed-cache", "off").out
        assert millrace("run", real_model, *ANSWER, "--matmul-precision", precision, "--packed-cache", directory).out == plain


def test_a_damaged_file_is_named_and_replaced(millrace, real_model, directory):
    plain = millrace("run", real_model, *ANSWER, "--packed-cache", directory).out
    (path,) = directory.iterdir()
    with open(path, "r+b") as file:
        file.seek(40_000_000)
        file.write(b"damage")
    outcome = millrace("run", real_model, *ANSWER, "--packed-cache", directory)
    assert outcome.out == plain and "is damaged" in outcome.err and str(path) in outcome.err
    assert millrace("run", real_model, *ANSWER, "--packed-cache", directory).err == ""
    assert list(directory.iterdir()) == [path]


def test_a_limit_that_is_too_small_is_said(millrace, real_model, directory):
    outcome = millrace("run", real_model, *ANSWER, "--packed-cache", directory, "--packed-cache-limit", "10MB")
    assert "packed weights are not kept" in outcome.err
    assert not directory.exists() or not list(directory.iterdir())


def test_a_small_model_is_not_kept_unasked(millrace, real_model, tmp_path):
    millrace("run", real_model, *ANSWER, env={"XDG_CACHE_HOME": str(tmp_path)})
    assert not (tmp_path / "millrace" / "packed").exists()
