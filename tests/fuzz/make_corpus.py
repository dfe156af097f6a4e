"""Writes the seed files of corpus/{gguf,imatrix,safetensors,torch_file,hf_config,jinja_*}: small good files to start from. Needs gguf, safetensors, numpy, jinja2."""
import json
import pathlib
import struct
import sys
import zipfile

import gguf
import numpy as np
from gguf.quants import quantize
from safetensors.numpy import save_file

CORPUS = pathlib.Path(__file__).parent / "corpus"


def folder(name):
    path = CORPUS / name
    path.mkdir(parents=True, exist_ok=True)
    return path


def write_gguf(path, arch, extra=lambda writer: None):
    writer = gguf.GGUFWriter(path, arch)
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(48)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(["<s>", "a", "b", "ab"])
    writer.add_token_types([3, 1, 1, 1])
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(0)
    writer.add_chat_template("{{ x }}")
    extra(writer)
    values = np.linspace(-1, 1, 128, dtype=np.float32).reshape(4, 32)
    kind = gguf.GGMLQuantizationType.Q4_0
    writer.add_tensor("token_embd.weight", quantize(values, kind), raw_dtype=kind)
    writer.add_tensor("output_norm.weight", values[0])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def yarn(writer):
    writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    writer.add_rope_scaling_factor(4.0)
    writer.add_rope_scaling_orig_ctx_len(16)
    writer.add_sliding_window(8)
    writer.add_array("x.nested", [[1, 2], [3, 4]])
    writer.add_custom_alignment(64)


def write_imatrices(to):
    """Both forms: two matrices, one of two experts of which the second saw nothing."""
    writer = gguf.GGUFWriter(to / "experts.gguf", "")
    writer.add_type("imatrix")
    writer.add_array("imatrix.datasets", ["a.txt"])
    writer.add_uint32("imatrix.chunk_count", 1)
    writer.add_uint32("imatrix.chunk_size", 4)
    for name, sums, counts in (("blk.0.attn_q.weight", [[1, 2, 3, 4]], [[4]]), ("blk.0.ffn_up_exps.weight", [[1, 2], [0, 0]], [[4], [0]])):
        writer.add_tensor(f"{name}.in_sum2", np.array(sums, np.float32))
        writer.add_tensor(f"{name}.counts", np.array(counts, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    entry = lambda name, values: struct.pack("<i", len(name)) + name + struct.pack("<ii", 2, len(values)) + struct.pack(f"<{len(values)}f", *values)
    older = struct.pack("<i", 2) + entry(b"blk.0.attn_q.weight", [1, 2, 3, 4]) + entry(b"output.weight", [5, 6])
    (to / "older.dat").write_bytes(older + struct.pack("<ii", 2, 5) + b"a.txt")


LLAMA = {
    "architectures": ["LlamaForCausalLM"], "vocab_size": 8, "hidden_size": 16, "num_hidden_layers": 4, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 24, "max_position_embeddings": 64, "rms_norm_eps": 1e-6, "eos_token_id": [1, 2],
    "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                     "original_max_position_embeddings": 32},
}
QWEN = {**LLAMA, "architectures": ["Qwen2ForCausalLM"], "use_sliding_window": True, "sliding_window": 8, "max_window_layers": 2,
        "rope_scaling": None, "rope_parameters": {"rope_type": "yarn", "factor": 4.0, "rope_theta": 1e6}}
TYPES = {**QWEN, "layer_types": ["full_attention", "sliding_attention"] * 2, "head_dim": 8}
GPT2 = {"architectures": ["GPT2LMHeadModel"], "vocab_size": 8, "n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 8,
        "n_inner": None, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new"}

write_gguf(folder("gguf") / "llama.gguf", "llama")
write_gguf(folder("gguf") / "yarn.gguf", "qwen2", yarn)
write_imatrices(folder("imatrix"))
save_file({"a": np.zeros((2, 3), np.float32), "b": np.zeros(4, np.float16)}, folder("safetensors") / "two.safetensors",
          metadata={"format": "pt"})
save_file({"s": np.array(1, np.float32)}, folder("safetensors") / "scalar.safetensors")

sys.path.insert(0, str(CORPUS.parents[1] / "oracle_files"))
import torch_save  # noqa: E402

tied = np.zeros((2, 3), np.float32)
torch_save.save({"a": tied, "b": np.zeros(4, np.float16), "tied": tied}, folder("torch_file") / "state.bin")
torch_save.save({"ids": np.arange(2), "mask": np.ones(3, bool)}, folder("torch_file") / "integers.bin", parameter=True,
                force_zip64=False)
torch_save.save({"a": tied}, folder("torch_file") / "later.bin", protocol=4)
for name in ("state", "later"):  # without the zip file around it
    with zipfile.ZipFile(folder("torch_file") / f"{name}.bin") as archive:
        (folder("torch_file") / f"{name}.pkl").write_bytes(archive.read("archive/data.pkl"))
for name, config in {"llama": LLAMA, "qwen": QWEN, "types": TYPES, "gpt2": GPT2}.items():
    (folder("hf_config") / f"{name}.json").write_text(json.dumps(config))

sys.path.insert(0, str(CORPUS.parents[1] / "jinja"))
from conversations import conversations  # noqa: E402
from reference import compiled, template_files  # noqa: E402
from snippets import TEMPLATES, expressions  # noqa: E402


def write_jinja(name, template, variables):
    (folder("jinja_parse") / name).write_text(template)
    seed = template + "\0" + json.dumps(variables, ensure_ascii=False, separators=(",", ":"))
    (folder("jinja_render") / name).write_text(seed)


# Small conversations, the first of each that the template takes.
small = sorted(conversations(400, seed=7), key=lambda variables: len(json.dumps(variables)))[100:]
for path in template_files():
    render = compiled(path.read_text())
    write_jinja(path.stem, path.read_text(), next(v for v in small if render({"bos_token": "", "eos_token": "", **v}) is not None))
for at in range(0, len(expressions()), 25):
    write_jinja(f"expressions_{at:03}", "".join("{{ " + e + " }}" for e in expressions()[at : at + 25]), {"s": "Hello World", "l": [3, 1, 2], "d": {"b": 1, "a": [1, 2.0, None]}})
for at, template in enumerate(TEMPLATES):
    write_jinja(f"statement_{at:02}", template, {"s": "Hello World", "l": [3, 1, 2], "d": {"b": 1, "a": [1, 2.0, None]}})
for at, variables in enumerate(small[::20]):
    if variables.get("messages"):
        (folder("jinja_request") / f"{at:02}.json").write_text(json.dumps({"messages": variables["messages"][:6], "tools": variables.get("tools"), "chat_template_kwargs": {"enable_thinking": False}}))
