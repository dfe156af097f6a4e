"""The scripts in the shells that they are for: bash and fish asked for what they would offer, zsh typed into on a terminal."""
import os
import pty
import select
import shutil
import subprocess
import time

import pytest

SHELLS = ["bash", "zsh", "fish"]
PATIENCE = 60.0  # seconds


@pytest.fixture(scope="module")
def environment(program, tmp_path_factory):
    """A cache with two quantizations of a model, and the program on PATH."""
    home = tmp_path_factory.mktemp("home")
    repository = home / "hf" / "hub" / "models--org--tiny"
    snapshot = repository / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    for name in ("tiny-Q4_0.gguf", "tiny-Q8_0.gguf"):
        (snapshot / name).write_bytes(b"GGUF")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("a" * 40)
    (home / "cache" / "millrace" / "models").mkdir(parents=True)
    (home / "cache" / "millrace" / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"GGUF")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MILLRACE_", "HF_", "HUGGING", "XDG_", "ZDOT"))}
    return kept | {"HOME": str(home), "HF_HOME": str(home / "hf"), "XDG_CACHE_HOME": str(home / "cache"),
                   "XDG_CONFIG_HOME": str(home / "config"), "PATH": f"{program.parent}:{os.environ['PATH']}", "TERM": "dumb"}


@pytest.fixture(scope="module")
def scripts(millrace, tmp_path_factory):
    folder = tmp_path_factory.mktemp("completion")
    paths = {}
    for shell in SHELLS:
        paths[shell] = folder / f"millrace.{shell}"
        paths[shell].write_text(millrace("completion", shell).out)
    return paths


def bash(script, environment, line, cwd):
    """As bash calls the function for a line whose last word the cursor is behind: words are split at ':' and '=' too."""
    code = r"""source "$0"
COMP_LINE=$1 COMP_WORDS=() COMP_CWORD=0
for word in $1; do
  while [[ $word == *[:=]* ]]; do
    head=${word%%[:=]*}; [[ -n $head ]] && COMP_WORDS+=("$head")
    word=${word#"$head"}; COMP_WORDS+=("${word:0:1}"); word=${word:1}
  done
  [[ -n $word ]] && COMP_WORDS+=("$word")
done
[[ $1 == *' ' ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_millrace
printf '%s\n' "${COMPREPLY[@]}" """
    done = subprocess.run(["bash", "--norc", "-c", code, script, line], capture_output=True, env=environment, cwd=cwd, timeout=PATIENCE)
    assert done.returncode == 0 and done.stderr == b"", done.stderr.decode()
    return [word for word in done.stdout.decode().splitlines() if word]


def fish(script, environment, line, cwd):
    code = 'source $argv[1]; complete -C $argv[2]'
    done = subprocess.run(["fish", "--no-config", "-c", code, str(script), line], capture_output=True, env=environment, cwd=cwd, timeout=PATIENCE)
    assert done.returncode == 0 and done.stderr == b"", done.stderr.decode()
    return [word.split("\t")[0] for word in done.stdout.decode().splitlines()]


ZSH = r"""autoload -Uz compinit; compinit -u -D
source {script}
compadd() {{
  if [[ ${{@[1,(i)(-|--)]}} == *-(O|A|D)* ]]; then builtin compadd "$@"; return; fi
  local -a hits
  builtin compadd -A hits "$@"
  print -rl -- $hits >> {out}
  builtin compadd "$@"
}}
offer() {{ _main_complete; print -r -- "(end)" >> {out} }}
zle -C offer list-choices offer
bindkey '^I' offer
cd {cwd}
print -r -- "(ready)" >> {out}
"""


def zsh(script, environment, line, cwd):
    out, setup = script.parent / "offered", script.parent / "setup.zsh"
    out.unlink(missing_ok=True)
    setup.write_text(ZSH.format(script=script, out=out, cwd=cwd))
    pid, terminal = pty.fork()
    if pid == 0:
        try:
            os.execvpe("zsh", ["zsh", "-f", "-i"], environment)
        finally:
            os._exit(127)  # a child that cannot become zsh must not go on with the tests
    shown = b""

    def wait_for(word):
        nonlocal shown
        end = time.monotonic() + PATIENCE
        while not (out.exists() and word in out.read_text()):
            assert time.monotonic() < end, shown.decode(errors="replace")
            if select.select([terminal], [], [], 0.02)[0]:
                shown += os.read(terminal, 65536)

    try:
        os.write(terminal, f"source {setup}\n".encode())
        wait_for("(ready)")
        os.write(terminal, f"{line}\t".encode())
        wait_for("(end)")
        text = out.read_text()
    finally:
        os.kill(pid, 9)
        os.close(terminal)
        os.waitpid(pid, 0)
    assert b"parse error" not in shown and b"command not found" not in shown, shown.decode(errors="replace")
    return [word for word in text.split("(ready)\n")[1].split("(end)")[0].splitlines() if word]


@pytest.fixture(params=SHELLS)
def complete(request, scripts, environment, tmp_path):
    """complete("millrace run --sys") -> what the shell offers for the last word."""
    shell = request.param
    assert shutil.which(shell) is not None, f"{shell} is one of TEST_PACKAGES"
    ask = {"bash": bash, "zsh": zsh, "fish": fish}[shell]
    return lambda line, cwd=tmp_path: ask(scripts[shell], environment, line, cwd)


def test_completes_commands(complete):
    assert {"inspect", "synth", "tokenize", "completion", "perplexity", "version", "help"} <= set(complete("millrace "))
    assert complete("millrace perp") == ["perplexity"]
    assert {"latency", "serve", "sweep"} <= set(complete("millrace bench "))


def test_completes_options_of_the_command_and_of_its_groups(complete):
    assert complete("millrace inspect --tem") == ["--template"]
    assert complete("millrace tokenize --tem") == []
    assert set(complete("millrace run --json-s")) == {"--json-schema", "--json-schema-file"}
    assert "--max-num-seqs" in complete("millrace serve default --max-num-s")


def test_completes_values(complete):
    assert set(complete("millrace perplexity --kv-cache-dtype ")) == {
        "auto", "bf16", "bfloat16", "f16", "float", "float16", "float32", "f32", "fp8", "fp8_e4m3", "half", "int4", "int8", "k8v4"}
    assert complete("millrace perplexity --kv-layout v") == ["vector16"]
    assert complete("millrace serve --scheduling-policy fc") == ["fcfs"]
    assert complete("millrace --log-level w") == ["warn"]
    assert complete("millrace completion z") == ["zsh"]
    assert {"openai", "openai-chat", "vllm"} == set(complete("millrace bench serve --backend "))
    assert "llama-135m" in complete("millrace synth --shape llama-1")


def test_completes_models(complete, tmp_path):
    (tmp_path / "own.gguf").touch()
    (tmp_path / "other.txt").touch()
    offered = set(complete("millrace run "))
    assert {"default", "org/tiny:Q4_0", "org/tiny:Q8_0"} <= offered and not {"other.txt"} & offered
    assert complete("millrace run d") == ["default"]
    assert any("own.gguf" in word for word in complete("millrace serve ow"))
    assert "default" in complete("millrace run --spec-model d")
    assert "default" in complete("millrace serve --port 1 --host x d")


def test_completes_files_where_a_file_is_meant(complete, tmp_path):
    (tmp_path / "text file.txt").touch()
    offered = complete("millrace perplexity --file te")
    assert len(offered) == 1 and offered[0].replace("\\", "") == "text file.txt"
    assert complete("millrace serve --port ") == []


def test_bash_completes_the_name_of_a_model_behind_its_colon(scripts, environment, tmp_path):
    assert bash(scripts["bash"], environment, "millrace run org/tiny:Q4", tmp_path) == ["Q4_0"]
    assert set(bash(scripts["bash"], environment, "millrace run org/tiny:", tmp_path)) == {"Q4_0", "Q8_0"}
    assert bash(scripts["bash"], environment, "millrace --log-level=w", tmp_path) == ["warn"]


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_parse_and_load_without_a_word(scripts, environment, shell):
    parsed = subprocess.run([shell, "-n", scripts[shell]], capture_output=True, env=environment, timeout=PATIENCE)
    assert (parsed.returncode, parsed.stdout, parsed.stderr) == (0, b"", b"")
    code = {"bash": 'source "$0"', "zsh": 'autoload -Uz compinit; compinit -u -D; source "$0"', "fish": "source $argv[1]"}[shell]
    loaded = subprocess.run([shell, "-c", code, scripts[shell]], capture_output=True, env=environment, timeout=PATIENCE)
    assert (loaded.returncode, loaded.stdout, loaded.stderr) == (0, b"", b"")


def test_names_of_models_are_one_a_line(program, environment):
    done = subprocess.run([program, "list", "--names"], capture_output=True, env=environment, timeout=30)
    assert (done.returncode, done.stdout) == (0, b"default\norg/tiny:Q4_0\norg/tiny:Q8_0\n")
