"""Jinja2 set up as transformers sets it up for chat templates, and our engine behind its pipe."""

import datetime
import json
import os
import pathlib
import subprocess

import jinja2
import jinja2.ext
import jinja2.sandbox

UNIX_TIME = 1_721_822_705  # 2024-07-24 12:05:05 UTC


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def make_environment():
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda f: datetime.datetime.utcfromtimestamp(UNIX_TIME).strftime(f)
    return environment


ENVIRONMENT = make_environment()


def reference(template, variables):
    """The text, or None for an error."""
    try:
        return ENVIRONMENT.from_string(template).render(**variables)
    except Exception:
        return None


class Engine:
    def __init__(self):
        build = pathlib.Path(os.environ.get("MILLRACE_BUILD_DIR", "build/release"))
        self.command = [build / "tests/jinja/template_oracle"]
        self.process = None

    def answer(self, template, variables, **context):
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        request = {"template": template, "variables": variables, "unix_time": UNIX_TIME, **context}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
        assert line, f"the engine ended with status {self.process.returncode}"
        return json.loads(line)

    def render(self, template, variables, **context):
        """The text or None, and the answer for messages."""
        answer = self.answer(template, variables, **context)
        if "error" in answer:
            return None, answer
        return "".join(piece["text"] for piece in answer["pieces"]), answer
