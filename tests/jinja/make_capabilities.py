"""Writes capabilities.json, what probing finds in each template of templates/. Read its diff: it is what the test then holds fixed."""

import json
import pathlib

from reference import TOKENS, UNIX_TIME, Engine, template_files

engine = Engine()
found = {path.stem: engine.ask({"probe": path.read_text(), "unix_time": UNIX_TIME, **TOKENS}) for path in template_files()}
lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(capabilities)}" for name, capabilities in found.items())
(pathlib.Path(__file__).parent / "capabilities.json").write_text("{\n" + lines + "\n}\n")
