"""The files that docs/guide/deploy.md shows, checked by the programs that read them where these are installed, else as far as can be."""
import configparser
import re
import shutil
import subprocess

import pytest
import yaml
from guide_page import GUIDE, ROOT, blocks

FILES = {one.argument: one.text for one in blocks(GUIDE / "deploy.md") if one.is_marked("file")}


def tool(name):
    places = f"{ROOT}/build/tools:/usr/sbin:/usr/bin:/sbin:/bin"
    return shutil.which(name, path=places) or shutil.which(name) or pytest.skip(f"{name} is not installed: ./dev setup")


def unit():
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str
    parser.read_string(FILES["millrace.service"])
    return parser


def test_the_unit_starts_a_command_that_millrace_has(program, tmp_path):
    words = unit()["Service"]["ExecStart"].split()
    assert words[0].endswith("/millrace") and words[-1] == "/etc/millrace/millrace.toml"
    config = tmp_path / "millrace.toml"
    config.write_text(FILES["millrace.toml"])
    done = subprocess.run([program, *words[1:-1], config, "--print-config"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert 'model_reference = "org/name:Q4_K_M"' in done.stdout


def test_the_unit_does_not_repeat_what_cannot_succeed():
    cli = (ROOT / "docs" / "cli.md").read_text().split("## Exit codes")[1].split("\n## ")[0]
    lasting = {code for code, means in re.findall(r"^\| (\d+) \| (.*) \|$", cli, re.MULTILINE) if re.match("usage|a model|does not fit", means)}
    assert set(unit()["Service"]["RestartPreventExitStatus"].split()) == lasting == {"2", "3", "4"}


def test_systemd_takes_the_unit(program, tmp_path):
    analyze = tool("systemd-analyze")
    path = tmp_path / "millrace.service"
    path.write_text(FILES["millrace.service"].replace("/usr/local/bin/millrace", str(program)))
    done = subprocess.run([analyze, "verify", "--man=no", path], capture_output=True, text=True)
    said = [line for line in (done.stdout + done.stderr).splitlines() if "millrace.service" in line]
    assert said == [] and done.returncode == 0, done.stderr


def test_nginx_takes_the_site(tmp_path):
    nginx = tool("nginx")
    (tmp_path / "site.conf").write_text(FILES["nginx-millrace.conf"])
    (tmp_path / "logs").mkdir()
    (tmp_path / "nginx.conf").write_text(f"pid {tmp_path}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{ access_log off; client_body_temp_path {tmp_path}/b;"
                                         f" proxy_temp_path {tmp_path}/p; fastcgi_temp_path {tmp_path}/f; uwsgi_temp_path {tmp_path}/u;"
                                         f" scgi_temp_path {tmp_path}/s; include {tmp_path}/site.conf; }}\n")
    done = subprocess.run([nginx, "-t", "-p", tmp_path, "-c", tmp_path / "nginx.conf"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_prometheus_takes_its_file(tmp_path):
    read = yaml.safe_load(FILES["prometheus.yml"])
    job = read["scrape_configs"][0]
    assert job["authorization"]["credentials"] in FILES["keys"] and job["static_configs"][0]["targets"] == ["localhost:8443"]
    shutil.copy(ROOT / "deploy" / "prometheus" / "alerts.yml", tmp_path)
    (tmp_path / "cert.pem").write_text("")
    (tmp_path / "prometheus.yml").write_text(FILES["prometheus.yml"])
    done = subprocess.run([tool("promtool"), "check", "config", "--syntax-only", tmp_path / "prometheus.yml"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_metrics_that_the_page_names_exist():
    names = set(re.findall(r"`((?:vllm|millrace):\w+)`", (GUIDE / "deploy.md").read_text()))
    listed = (ROOT / "docs" / "observability.md").read_text()
    assert len(names) > 6 and [name for name in names if f"| `{name}` |" not in listed] == []


def test_jobs_over_mpi_start_a_command_that_millrace_has(program):
    """What deploy/mpi has for systemd and Kubernetes."""
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string((ROOT / "deploy/mpi/millrace-mpi.service").read_text())
    service = parser["Service"]
    unit_command = service["ExecStart"].replace("\\\n", " ").split()
    assert service["ExecStop"].endswith("/millrace stop 8000") and "--port 8000" in service["ExecStart"]
    assert set(service["RestartPreventExitStatus"].split()) == {"2", "3", "4"}
    workers, policy = yaml.safe_load_all((ROOT / "deploy/mpi/leader_worker_set.yaml").read_text())
    [leader] = workers["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["containers"]
    shell = leader["args"][0]
    assert workers["kind"] == "LeaderWorkerSet" and policy["kind"] == "NetworkPolicy"
    subprocess.run(["sh", "-n", "-c", shell], check=True)
    pod_command = shell[shell.index("exec mpirun"):].replace("\\\n", " ").replace('"$LWS_GROUP_SIZE"', "2").replace('"$workers"', "a,b").split()
    for words in (unit_command, pod_command):
        first = next(i for i, word in enumerate(words) if word.endswith("millrace"))
        done = subprocess.run([program, "--check-usage", *words[first + 1:]], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert words[words.index("-np") + 1] == words[words.index("--tensor-parallel-size") + 1] == "2"
        assert "--trusted-network" in words and subprocess.run([program, "--check-usage", "stop", "8000"]).returncode == 0
