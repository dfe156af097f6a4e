"""Our chat template engine against jinja2 as Transformers sets it up: the same bytes, or an error in both.

MILLRACE_ORACLE_CASES is the number of generated conversations a template (default 400).
"""

import datetime
import os

import pytest

from conversations import MARK, conversations
from reference import TOKENS, UNIX_TIME, Engine, compiled, reference, template_files, text_of
from snippets import TEMPLATES, VARIABLES, expressions

CASES = int(os.environ.get("MILLRACE_ORACLE_CASES", "400"))
CHUNK = 500  # conversations the engine holds at a time


@pytest.fixture(scope="module")
def engine():
    return Engine()


@pytest.fixture(scope="module")
def chunks():
    return [conversations(min(CHUNK, CASES - at), seed=1 + at // CHUNK) for at in range(0, CASES, CHUNK)]


def check_same(engine, template, chunk):
    render = compiled(template)
    rendered = 0
    for variables, answer in zip(chunk, engine.answers(template, chunk, **TOKENS), strict=True):
        expected = render({**TOKENS, **variables})
        ours = text_of(answer)
        assert ours == expected, (variables, answer if ours is None else None)
        if ours is None:
            continue
        rendered += 1
        leaked = [text for text, trusted in answer if trusted and (MARK in text or MARK.lower() in text)]
        assert not leaked, (variables, leaked)
    return rendered


@pytest.mark.parametrize("expressions", [expressions()[at : at + 25] for at in range(0, len(expressions()), 25)])
def test_expressions(engine, expressions):
    for expression in expressions:
        template = "{{ " + expression + " }}"
        ours, answer = engine.render(template, VARIABLES)
        assert ours == reference(template, VARIABLES), (expression, answer)


@pytest.mark.parametrize("template", TEMPLATES)
def test_statement(engine, template):
    ours, answer = engine.render(template, VARIABLES)
    assert ours == reference(template, VARIABLES), answer


@pytest.mark.parametrize("path", template_files(), ids=lambda path: path.stem)
def test_template(engine, chunks, path):
    template = path.read_text()
    rendered = sum(check_same(engine, template, chunk) for chunk in chunks)
    assert rendered * 20 >= CASES, "nearly every conversation is an error: the template does not work"


def test_model_file_template(engine, chunks):
    path = os.environ.get("MILLRACE_TEST_MODEL")
    if not path:
        pytest.skip("MILLRACE_TEST_MODEL is not set")
    gguf = pytest.importorskip("gguf")
    template = gguf.GGUFReader(path).fields["tokenizer.chat_template"].contents()
    assert check_same(engine, template, chunks[0]) > 0


def test_the_reference_is_what_transformers_does(chunks, monkeypatch):
    utils = pytest.importorskip("transformers.utils.chat_template_utils")

    class StandingTime:
        now = staticmethod(lambda: datetime.datetime.fromtimestamp(UNIX_TIME, datetime.timezone.utc).replace(tzinfo=None))

    monkeypatch.setattr(utils, "datetime", StandingTime)
    for path in template_files():
        ours = compiled(path.read_text())
        theirs = utils._compile_jinja_template(path.read_text())
        for variables in chunks[0][:20]:
            expected = ours({**TOKENS, **variables})
            try:
                found = theirs.render(**{**TOKENS, **variables})
            except Exception:
                found = None
            assert found == expected, (path.stem, variables)
