"""What is added is a new file: a family, a kind of block, a weight reader and a device, in a copy of the tree that is otherwise as it is.

    python tests/seams/new_files.py

Copies the sources to build/seams/tree, adds tests/seams/files to them, builds millrace there (the build folder stays, so that a second run
compiles what changed since), and runs a model that needs all four: it has the architecture of the new family, whose layers have a block of
the new kind, and weights that only the new reader takes, on the new device. Ends with 1 where one of them is not used.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

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
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "src", "apps", "cmake", "tests", "web", "bench",
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
    assert abs(without - expected) < 1e-3 * expected, (without, expected)
    assert abs(with_shortcut - expected) > 1e-3 * expected, (with_shortcut, expected)
    assert json.loads(told)["family"] == "detour", told
    assert "watched" in devices, devices
    print(f"a family, a block, a weight reader and a device, each its own file: perplexity {expected:.4f} with a shortcut of zero, "
          f"{with_shortcut:.4f} with one of 0.5")
    return 0


if __name__ == "__main__":
    sys.exit(main())
