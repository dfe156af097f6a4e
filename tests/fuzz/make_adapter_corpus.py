"""Writes corpus/adapter: the smallest tensors of adapters in tests/golden/adapters, as adapter_fuzz reads them; some as Kohya's scripts name them."""

import json
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
ADAPTERS, CORPUS = HERE.parent / "golden/adapters", HERE / "corpus/adapter"
PEFT = """llama_q_v llama_rslora llama_patterns llama_head llama_dora llama_embedding llama_saved llama_tokens llama_alora llama_one_layer""".split()
GGUF = "llama_q_v llama_head llama_embedding llama_alora llama_torch".split()
LAST = ("layers.1.self_attn.v_proj", "layers.1.mlp.down_proj", "layers.1.self_attn.q_proj")  # of a kind one is enough


def read(path):
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + length])
    header.pop("__metadata__", None)
    return {name: (one["dtype"], one["shape"], raw[8 + length :][slice(*one["data_offsets"])]) for name, one in header.items()}


def written(tensors, metadata=None):
    header, at = {"__metadata__": metadata} if metadata else {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values())


def kohya(name):
    module, end = name.removeprefix("base_model.model.").split(".lora_")
    return "lora_te_" + module.replace(".", "_") + {"A.weight": ".lora_down.weight", "B.weight": ".lora_up.weight"}[end]


def main():
    CORPUS.mkdir(parents=True, exist_ok=True)
    for name in PEFT:
        config = json.loads((ADAPTERS / name / "adapter_config.json").read_text())
        config = {key: value for key, value in config.items() if value not in (None, False, {}, [])}
        tensors = read(ADAPTERS / name / "adapter_model.safetensors")
        tensors = {key: one for key, one in tensors.items() if ".layers." not in key or any(last in key for last in LAST)}
        (CORPUS / name).write_bytes(json.dumps(config).encode() + b"\0" + written(tensors))
    tensors = {kohya(key): one for key, one in read(ADAPTERS / "llama_q_v/adapter_model.safetensors").items()}
    (CORPUS / "kohya_metadata").write_bytes(b"\0" + written(tensors, {"ss_network_alpha": "8.0"}))
    alphas = {key.replace("lora_down.weight", "alpha"): ("F32", [], struct.pack("<f", 8)) for key in tensors if "down" in key}
    (CORPUS / "kohya").write_bytes(b"\0" + written(tensors | alphas))
    for name in GGUF:
        (CORPUS / (name + ".gguf")).write_bytes((ADAPTERS / name / "adapter.gguf").read_bytes())


if __name__ == "__main__":
    main()
