"""Every description of /openapi.json and every HELP line of /metrics can be understood alone, as the lines of --help can."""
import pathlib
import re
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from plain_texts import flaws  # noqa: E402


@pytest.fixture(scope="module")
def server(start):
    with start() as running:
        yield running


def descriptions(node, path=""):
    """(place, description) of everything below a node of a schema; texts inside examples and defaults are data."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("description", "summary") and isinstance(value, str):
                yield path, value
            elif key not in ("example", "examples", "default", "enum", "const"):
                yield from descriptions(value, f"{path}/{key}")
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from descriptions(value, f"{path}/{number}")


def found_in(texts):
    return sorted({f"{text!r}: {flaw} ({place})" for place, text in texts for flaw in flaws(text)})


def test_fields_of_the_api(server):
    texts = list(descriptions(server.call("GET", "/openapi.json").json()))
    assert len(texts) > 200
    found = found_in(texts)
    assert not found, f"{len(found)} flaws\n" + "\n".join(found)


def test_metrics(server):
    texts = re.findall(r"^# HELP (\S+) (.*)$", server.call("GET", "/metrics").body.decode(), re.MULTILINE)
    assert len(texts) > 60
    found = found_in(texts)
    assert not found, f"{len(found)} flaws\n" + "\n".join(found)
