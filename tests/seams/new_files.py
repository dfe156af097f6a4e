"""What is added is a new file: a family, a kind of block, a weight reader, a device, a sampler, a scheduling policy, an admission
resource, a drafter and a route, in a copy of the tree that is otherwise as it is.

    python tests/seams/new_files.py

Copies the sources to build/seams/tree, adds tests/seams/files to them, builds millrace there (the build folder stays, so that a second run
compiles what changed since), and runs a model that needs all four: it has the architecture of the new family, whose layers have a block of
the new kind, and weights that only the new reader takes, on the new device. Then a server is asked for an answer with the new sampler,
under the new policy, within the new resource, with the new drafter, and for the new route; their options are flags, fields and part of
the document, with their ranges. Ends with 1 where one of them is not used.
"""
import contextlib
import json
import os
import pathlib
import shutil
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

import numpy as np
from safetensors.numpy import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
TREE = ROOT / "build/seams/tree"
FILES = ROOT / "tests/seams/files"
PROGRAM = TREE / "build/release/bin/millrace"
TEXT = "Pages hold keys and values of heads. " * 3


def copy_if_changed(source: pathlib.Path, target: pathlib.Path) -> None:
    """Leaves the time of an unchanged file, so that nothing is compiled again for it."""
    if target.exists() and target.read_bytes() == source.read_bytes():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def make_tree() -> None:
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "src", "apps", "include", "cmake", "tests", "web", "bench",
                             "CMakeLists.txt", "CMakePresets.json"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    wanted = {path for path in listed if path and (ROOT / path).is_file()}
    added = {str(path.relative_to(FILES)) for path in FILES.rglob("*") if path.is_file()}
    assert not wanted & added, f"these are no new files: {wanted & added}"
    for path in wanted:
        copy_if_changed(ROOT / path, TREE / path)
    for path in added:
        copy_if_changed(FILES / path, TREE / path)
    for path in TREE.rglob("*"):  # what is gone from the sources
        inside = str(path.relative_to(TREE))
        if path.is_file() and not inside.startswith(("build/", "web/node_modules")) and inside not in wanted | added:
            path.unlink()


def build() -> None:
    environment = os.environ | {"CCACHE_BASEDIR": str(TREE), "CCACHE_NOHASHDIR": "1"}
    subprocess.run(["cmake", "--preset", "release", "-DMILLRACE_TESTS=OFF"], cwd=TREE, env=environment, check=True, stdout=subprocess.DEVNULL)
    jobs = os.environ.get("MILLRACE_JOBS", str(os.cpu_count()))
    subprocess.run(["cmake", "--build", "build/release", "--parallel", jobs, "--", "--quiet", "millrace"], cwd=TREE, env=environment, check=True)


def millrace(*arguments) -> str:
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def detoured(plain: pathlib.Path, folder: pathlib.Path, shortcut: float) -> pathlib.Path:
    """The model with shortcuts of so much times the unit matrix, its other matrices in two halves."""
    shutil.copytree(plain, folder)
    config = json.loads((plain / "config.json").read_text())
    config |= {"architectures": ["DetourForCausalLM"], "quantization_config": {"quant_method": "halved"}}
    (folder / "config.json").write_text(json.dumps(config))
    random, tensors = np.random.default_rng(1), {}
    for name, values in load_file(plain / "model.safetensors").items():
        if values.ndim == 2 and "layers" in name:
            half = (random.integers(-8, 8, values.shape) / 8 * values).astype(np.float32)  # halves that add up exactly or nearly
            stem = name.removesuffix(".weight")
            tensors |= {f"{stem}.first": values - half, f"{stem}.second": half}
        else:
            tensors[name] = values
    for layer in range(config["num_hidden_layers"]):
        tensors[f"model.layers.{layer}.shortcut.first"] = np.eye(config["hidden_size"], dtype=np.float32) * shortcut
        tensors[f"model.layers.{layer}.shortcut.second"] = np.zeros((config["hidden_size"],) * 2, np.float32)
    save_file(tensors, folder / "model.safetensors")
    return folder


def perplexity(model: pathlib.Path, text: pathlib.Path, *flags) -> float:
    return json.loads(millrace("perplexity", model, "--file", text, "--matmul-precision", "f32", "--json", *flags))["perplexity"]


@contextlib.contextmanager
def server(model: pathlib.Path, *flags):
    """Yields what calls it: call(path, body or None) -> (status, JSON)."""
    process = subprocess.Popen([PROGRAM, "serve", model, "--port", "0", "--disable-log-requests", *flags], stdout=subprocess.PIPE, text=True)
    url = re.search(r"http://\S+", process.stdout.readline()).group(0)

    def call(path, body=None, text=False):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url + path, data, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                read = reply.read().decode()
                return reply.status, read if text else json.loads(read or "null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    try:
        while call("/ready")[0] != 200:
            pass
        yield call
    finally:
        process.terminate()
        process.wait()


def refusal(*flags) -> str:
    done = subprocess.run([PROGRAM, "serve", *flags, "--port", "0"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2, (flags, done.returncode, done.stderr)
    return done.stderr


def use_options(folder: pathlib.Path) -> None:
    model = folder / "spoken.gguf"
    millrace("synth", "--shape", "tiny", "--format", "f32", model)
    flags = ["--scheduling-policy", "widest", "--widest-cap", "7", "--largest-request", "40", "--spec-method", "stutter",
             "--spec-stutter-length", "3", "--no-spec-adaptive"]
    with server(model, *flags) as call:
        assert call("/motto") == (200, {"motto": "one file each"})
        document = call("/openapi.json")[1]
        assert "/motto" in document["paths"]
        assert '"ids_below": {"type": ["integer", "null"], "minimum": 0' in json.dumps(document), "no field of the new sampler"
        body = {"prompt": "a b c", "max_tokens": 12, "temperature": 0, "ignore_eos": True, "return_token_ids": True}
        ids = {limit: call("/v1/completions", body | {"ids_below": limit})[1]["choices"][0]["token_ids"] for limit in (0, 40)}
        assert max(ids[40]) < 40 <= max(ids[0]), ids
        status, error = call("/v1/completions", body | {"ids_below": -1})
        assert status == 400 and "ids_below is -1" in error["error"]["message"], error
        status, error = call("/v1/completions", body | {"max_tokens": 60})
        assert status >= 400 and "at most 40 tokens" in error["error"]["message"], (status, error)
        drafted = re.search(r"^vllm:spec_decode_num_draft_tokens_total.* (\d+)", call("/metrics", text=True)[1], re.M)
        assert drafted and int(drafted.group(1)) > 0
    assert "widest-cap is 0: must be between 1 and 1" in refusal(model, "--scheduling-policy", "widest", "--widest-cap", "0")
    assert "spec-stutter-length is 9: must be between 1 and 8" in refusal(model, "--spec-method", "stutter", "--spec-stutter-length", "9")
    assert "largest-request is 0: must be between 1 and 1" in refusal(model, "--largest-request", "0")
    help_text = millrace("run", "--help") + millrace("serve", "--help")
    for flag in ("--ids-below", "--widest-cap", "--largest-request", "--spec-stutter-length"):
        assert flag in help_text, flag


def main() -> int:
    make_tree()
    build()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        text = folder / "text.txt"
        text.write_text(TEXT)
        plain = folder / "plain"
        millrace("synth", "--shape", "tiny", "--format", "f32", plain)
        expected = perplexity(plain, text)
        without = perplexity(detoured(plain, folder / "none", 0.0), text, "--device", "watched")
        with_shortcut = perplexity(detoured(plain, folder / "some", 0.5), text, "--device", "watched")
        told = millrace("inspect", folder / "some", "--json")
        devices = millrace("run", "--help")
        use_options(folder)
    assert abs(without - expected) < 1e-3 * expected, (without, expected)
    assert abs(with_shortcut - expected) > 1e-3 * expected, (with_shortcut, expected)
    assert json.loads(told)["family"] == "detour", told
    assert "watched" in devices, devices
    print(f"a family, a block, a weight reader, a device, a sampler, a policy, a resource, a drafter and a route, each its own file: perplexity "
          f"{expected:.4f} with a shortcut of zero, {with_shortcut:.4f} with one of 0.5")
    return 0


if __name__ == "__main__":
    sys.exit(main())
