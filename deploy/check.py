#!/usr/bin/env python3
"""Whether the dashboard and the alerts ask for what there is: a Prometheus watches a server under load and answers each of their queries.

    deploy/check.py [--prometheus PATH] [--model MODEL] [--seconds 20]

Fails where a query is an error or has no answer, and where Prometheus refuses the alerts. Needs prometheus (of Debian, say), which
nothing else here does. Queries that have an answer only after something went wrong are listed, not counted as failed.
"""
import argparse
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Labelled by what went wrong, so there is no series before something does.
AFTER_TROUBLE = ("admission_rejections",)
CONFIG = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: ["{rules}"]
scrape_configs:
  - job_name: millrace
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read()


def wait_for(url, seconds=60):
    for _ in range(seconds * 10):
        try:
            return get(url)
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    sys.exit(f"check: no answer from {url}")


def queries():
    """Of the dashboard, each with the title of its panel."""
    panels = json.loads((ROOT / "deploy/grafana/millrace.json").read_text())["panels"]
    for panel in panels:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"].replace("$model_name", ".*").replace("$__rate_interval", "30s")


def check(prometheus, query):
    """None, or what is wrong."""
    try:
        answer = json.loads(get(f"{prometheus}/api/v1/query?{urllib.parse.urlencode({'query': query})}"))
    except urllib.error.HTTPError as error:
        return json.loads(error.read())["error"]
    return None if answer["data"]["result"] else "no answer"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prometheus", default=shutil.which("prometheus"))
    parser.add_argument("--millrace", default=str(ROOT / "build/release/bin/millrace"))
    parser.add_argument("--model", default="default")
    parser.add_argument("--seconds", type=int, default=20, help="of load")
    args = parser.parse_args()
    if not args.prometheus:
        sys.exit("check: no prometheus here; --prometheus says where it is")
    server, metrics = free_port(), free_port()
    with tempfile.TemporaryDirectory() as work:
        config = pathlib.Path(work) / "prometheus.yml"
        config.write_text(CONFIG.format(rules=ROOT / "deploy/prometheus/alerts.yml", port=server))
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        running = [subprocess.Popen([args.millrace, "serve", args.model, "--port", str(server), "--goodput", "ttft:500,tpot:50"], **quiet),
                   subprocess.Popen([args.prometheus, f"--config.file={config}", f"--storage.tsdb.path={work}/data",
                                     f"--web.listen-address=127.0.0.1:{metrics}"], **quiet)]
        try:
            wait_for(f"http://127.0.0.1:{server}/ready")
            wait_for(f"http://127.0.0.1:{metrics}/-/ready")
            subprocess.run([args.millrace, "bench", "serve", f"127.0.0.1:{server}", "--no-probe", "--num-prompts", str(4 * args.seconds),
                            "--request-rate", "4", "--output-len", "16"], check=True, **quiet)
            prometheus = f"http://127.0.0.1:{metrics}"
            failed = 0
            for title, query in queries():
                wrong = check(prometheus, query)
                trouble = wrong == "no answer" and any(name in query for name in AFTER_TROUBLE)
                failed += bool(wrong) and not trouble
                print(f"{'-' if trouble else 'FAILED' if wrong else 'ok':<7}{title}: {wrong or query}" + (f" ({query})" if wrong else ""))
            for rule in json.loads(get(f"{prometheus}/api/v1/rules"))["data"]["groups"][0]["rules"]:
                failed += rule["health"] != "ok"
                print(f"{rule['health']:<7}{rule['name']}: {rule['state']} {rule.get('lastError', '')}")
        finally:
            for process in running:
                process.terminate()
            for process in running:
                process.wait()
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
