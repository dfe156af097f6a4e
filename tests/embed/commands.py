"""Commands of a user who installs and builds."""
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*command, ok=True):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    assert (done.returncode == 0) is ok, done.stdout + done.stderr
    return done
