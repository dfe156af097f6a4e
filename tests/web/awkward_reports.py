"""Reports that strain the page's layout: the same samples, with what measured reports had and the samples have not."""
import copy


def few_and_close(serve):
    """Twelve requests: p90 and p99 lie together, an objective lies on the curve, and one gap of coalesced writes is 10 us."""
    report = copy.deepcopy(serve)
    counted = [r for r in report["requests"] if not r["warmup"] and r["outcome"] == "whole"][:12]
    for i, r in enumerate(counted):
        r["first_token"] = r["due"] + 0.2 + 0.004 * i
        r["last_token"] = r["ended"] = r["first_token"] + 0.6 + 0.05 * i
        r["good"] = [0]
    report.update(requests=counted, completed=12, failed=0, num_prompts=12, model_id="default", mfu_percent=None)
    report["goodput"] = [{"slo": {"ttft_ms": 240, "e2el_ms": 1000}, "share": {"value": 0.5, "low": 0.25, "high": 0.75}, "requests_s": 3.0, "tokens_s": 190.0}]
    report["server"].update(mfu_percent=154.2, energy_joules=31.0)
    report["noise"]["reasons"] = ["Other processes took 11.0 % of the processors' time (limit 5 %).", "Read bandwidth changed by 17 % (limit 15 %)."]
    report["earlier"] = {"file": "last-week.json", "date": "2026-11-18T17:40:00Z", "millrace": {"version": "0.1.0", "commit": "1a2b3c4"}, "noise": "quiet",
                         "estimates": {name: {k: v * 1.3 for k, v in e.items()} for name, e in report["estimates"].items()},
                         "differences": ["requests a second: 4 now, 8 then", "model: default now, another one with a long name then"]}
    edges = [0.01 * 1.5 ** i for i in range(25)]
    counts = [[0] * 10 for _ in range(24)]
    counts[0][3] = 1
    for column in range(10):
        counts[18][column], counts[19][column], counts[22][column] = 200, 60, 2
    report["itl_heat"] = {"t": [i * 0.5 for i in range(11)], "ms": edges, "counts": counts}
    return report


def knees_together(sweep):
    """Two knees at one rate, intervals far beyond their points, and latencies from 5 to 10 s."""
    report = copy.deepcopy(sweep)
    for series in report["series"]:
        for i, point in enumerate(series["points"]):
            metrics = point["metrics"]
            metrics["median_e2el_ms"] = {"value": 5200 + 420 * i, "low": 5100, "high": 5600 + 420 * i}
            metrics["p99_e2el_ms"] = {"value": 5900 + 450 * i, "low": 5800, "high": 9800}
            tokens = metrics["output_throughput"]
            tokens["high"] = tokens["value"] * 2.5
    report["series"][0]["label"] = "the default of this version, with chunks of 512 tokens"
    report["knee"] = [{"label": s["label"], "x": x, "why": "latency rises"} for s, x in zip(report["series"], (10, 10, 11))]
    report["max_goodput"] = report.pop("frontier")
    return report


def one_outlier(compare):
    """All undecided, and one metric of which nobody knows anything."""
    report = copy.deepcopy(compare)
    for side, name in zip(report["sides"], "AB"):
        side.update(name=name, target="http://127.0.0.1:8000")
    report["remark"] = "A and B are the same server, http://127.0.0.1:8000: what differs between them is noise"
    for verdict in report["verdicts"]:
        verdict["verdict"] = "undecided"
    report["verdicts"][1]["ratio"] = {"value": 3.1, "low": 0.2, "high": 16.0}
    report["verdict"] = "undecided"
    return report
