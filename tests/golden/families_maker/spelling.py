"""Spells a configuration of Transformers 5 as the files on the hub (Transformers 4) do."""

import json

NEW = ("rope_parameters", "dtype")


def old(c, omit=(), rope="rope_type", **more):
    """`c` in the old spelling: rope_theta, rope_scaling and partial_rotary_factor at the root, torch_dtype, without the fields `omit`, and with `more`.
    `rope` is how the kind of the scaling is called: "rope_type" or, in older files, "type"."""
    out = {k: v for k, v in c.items() if k not in NEW}
    parameters = dict(c.get("rope_parameters") or {})
    if parameters:
        out["rope_theta"] = parameters.pop("rope_theta")
        if "partial_rotary_factor" in parameters:
            out["partial_rotary_factor"] = parameters.pop("partial_rotary_factor")
        kind = parameters.pop("rope_type")
        out["rope_scaling"] = None if kind == "default" else {rope: kind, **parameters}
    if "dtype" in c:
        out["torch_dtype"] = c["dtype"]
    out["transformers_version"] = "4.51.0"
    out.update(more)
    return {k: out[k] for k in sorted(out) if k not in omit}


def write(path, config):
    path.write_text(json.dumps(config, indent=2) + "\n")
