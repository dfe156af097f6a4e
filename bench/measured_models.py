"""The models that pages of figures are measured on: SmolLM2, and random ones that stand for published shapes."""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MILLRACE = ROOT / "build/release/bin/millrace"
FOLDER = ROOT / "build/performance/models"

# File or directory name -> shape, format, tokenizer. With that of `default` a model has its vocabulary of 49,152, without one the shape's own.
MODELS = {f"1b.{storage}.gguf": ("llama-1b", storage, "default") for storage in ("q4_0", "q4_1", "q4_k", "q8_0", "bf16")} | {
    "135m.q4_0.gguf": ("llama-135m", "q4_0", "default"), "1b-bf16": ("llama-1b", "bf16", "default"), "135m-bf16": ("llama-135m", "bf16", "default")} | {
    f"{shape}.q4_0.gguf": (shape, "q4_0", "none") for shape in ("gemma3-1b", "phi3-mini", "granite-2b")} | {
    f"qwen3-moe-1b.{storage}.gguf": ("qwen3-moe-1b", storage, "default") for storage in ("q4_0", "q8_0")} | {
    "gpt-oss-4l.mxfp4.gguf": ("gpt-oss-4l", "mxfp4", "none")}


def default_model():
    """The path of the model that `default` means: peers know no such name."""
    shown = subprocess.run([MILLRACE, "show", "default", "--json"], check=True, capture_output=True, text=True).stdout
    return json.loads(shown)["path"]


def fill(arguments):
    """Replaces {NAME} by the model's path, made now if it is not there, and {default} by SmolLM2's."""
    for name, (shape, storage, tokenizer) in MODELS.items():
        if f"{{{name}}}" not in arguments:
            continue
        path = FOLDER / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([MILLRACE, "synth", "--shape", shape, "--format", storage, "--tokenizer", tokenizer, path, "--no-progress"], check=True, stdout=sys.stderr)
        arguments = arguments.replace(f"{{{name}}}", str(path))
    return arguments.replace("{default}", default_model()) if "{default}" in arguments else arguments


def shown(arguments):
    """As people read it: without paths of this machine."""
    return arguments.replace("{", "").replace("}", "")
