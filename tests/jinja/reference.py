"""jinja2 set up as Transformers sets it up for chat templates, and our engine behind its pipe."""

import datetime
import json
import os
import pathlib
import subprocess

import jinja2
import jinja2.ext
import jinja2.sandbox

UNIX_TIME = 1_721_822_705  # 2024-07-24 12:05:05 UTC
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
TEMPLATES = pathlib.Path(__file__).parent / "templates"


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

    now = datetime.datetime.fromtimestamp(UNIX_TIME, datetime.timezone.utc).replace(tzinfo=None)
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = now.strftime
    return environment


ENVIRONMENT = make_environment()


def compiled(template):
    """A function from variables to the text, or None for an error."""
    try:
        template = ENVIRONMENT.from_string(template)
    except Exception:
        return lambda variables: None

    def render(variables):
        try:
            return template.render(**variables)
        except Exception:
            return None

    return render


def reference(template, variables):
    return compiled(template)(variables)


def template_files():
    return sorted(TEMPLATES.glob("*.jinja"))


class Engine:
    """The engine answers for each rendering with its pieces, [[text, trusted] ...], or with {"error", "code"}."""

    def __init__(self):
        build = pathlib.Path(os.environ.get("MILLRACE_BUILD_DIR", "build/release"))
        self.command = [build / "tests/jinja/template_oracle"]
        self.process = None
        self.loaded = None

    def ask(self, request):
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.loaded = None
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
        assert line, f"the engine ended with status {self.process.returncode}"
        return json.loads(line)

    def answers(self, template, conversations, **context):
        """One rendering of the template for each of the conversations, which stay loaded from call to call."""
        if self.process is None or self.process.poll() is not None or self.loaded is not conversations:
            self.ask({"conversations": conversations})
            self.loaded = conversations
        return self.ask({"template": template, "unix_time": UNIX_TIME, **context})

    def answer(self, template, variables, **context):
        return self.answers(template, [variables], **context)[0]

    def render(self, template, variables, **context):
        """The text or None, and the answer for messages."""
        answer = self.answer(template, variables, **context)
        return text_of(answer), answer


def text_of(answer):
    return None if "error" in answer else "".join(text for text, _ in answer)
