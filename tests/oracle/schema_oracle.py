"""json_schema_oracle, the program that says which texts fit a schema's grammar; and the texts of a value."""

import itertools
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


class SchemaGrammars:
    def __init__(self):
        build = pathlib.Path(os.environ.get("MILLRACE_BUILD_DIR", ROOT / "build/release"))
        program = build / "tests/oracle/json_schema_oracle"
        self.process = subprocess.Popen([str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)

    def ask(self, schema, texts=(), **options):
        """{"accepted": [bool], "reference": [bool], "samples": [text], "ignored": [...]} or {"error": message, "code"}."""
        question = {"schema": json.dumps(schema), "texts": list(texts), **options}
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "json_schema_oracle ended"
        return json.loads(line)


def texts_of(value, most=300):
    """The value with the properties in any order, as our grammars take one of them; none where there are too many."""
    texts = list(itertools.islice(_texts(value), most + 1))
    return texts if len(texts) <= most else []


def first_text_of(value):
    """In the order that it has."""
    return next(_texts(value))


def _texts(value):
    if isinstance(value, dict):
        for names in itertools.permutations(value):
            for members in itertools.product(*[list(_texts(value[name])) for name in names]):
                yield "{" + ",".join(f"{_spelled(n)}:{m}" for n, m in zip(names, members)) + "}"
    elif isinstance(value, list):
        for items in itertools.product(*[list(_texts(item)) for item in value]):
            yield "[" + ",".join(items) + "]"
    elif isinstance(value, float) and value.is_integer():
        yield str(int(value))  # integers have no fraction
    else:
        yield _spelled(value)


def _spelled(value):
    return json.dumps(value, ensure_ascii=False)
