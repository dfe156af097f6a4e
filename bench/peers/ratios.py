"""Rounds of two sides become medians and ratios of neighbours in time: the only figures worth reading on a machine whose bandwidth moves."""
import statistics


def summarize(rounds):
    """rounds: [{"millrace": {metric: value}, "peer": {...}}] -> the `medians`, `ratios` and `rounds` of a result of docs/bench_reports.md, `peers`.

    A metric counts where both sides have it in every round. Ratios are millrace / peer: the median between the least and the greatest.
    """
    names = [m for m in rounds[0]["millrace"] if all(r[side].get(m) for r in rounds for side in ("millrace", "peer"))]
    result = {"medians": {side: {m: statistics.median(r[side][m] for r in rounds) for m in names} for side in ("millrace", "peer")}, "ratios": {}}
    for m in names:
        ratios = sorted(r["millrace"][m] / r["peer"][m] for r in rounds)
        result["ratios"][m] = {"value": statistics.median(ratios), "low": ratios[0], "high": ratios[-1]}
    return result | {"rounds": rounds}
