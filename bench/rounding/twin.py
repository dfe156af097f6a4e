"""The twin of the real model off its grid: the same function, with weights that no 4-bit grid holds.

The default model's matrices lie on a Q4_1 grid, on which any quantizer that finds it loses nothing. Scalings that leave the function as it is
move them off: of a norm's weights against the columns behind it, of rows of V against columns of the output, of up against down, and of rotary
pairs of K against Q. The matrices are stored in bf16 afterwards, and that model is the reference of every comparison."""
import gguf
import numpy as np
from gguf.quants import dequantize, quantize

SPREAD = 0.35  # of the logarithm of the factors


def read_tensors(path):
    """Name -> f32 array, outermost dimension first."""
    return {t.name: dequantize(t.data, t.tensor_type).astype(np.float32) for t in gguf.GGUFReader(path).tensors}


def off_the_grid(tensors, layers, heads, kv_heads, seed=29):
    """The same tensors, scaled by random factors. For the architecture llama, whose rows of Q and K lie in rotary pairs."""
    random = np.random.default_rng(seed)
    factors = lambda n: np.exp(SPREAD * random.standard_normal(n))
    out = {name: values.astype(np.float64) for name, values in tensors.items()}
    of_queries = lambda per_kv_head: np.repeat(per_kv_head.reshape(kv_heads, -1), heads // kv_heads, axis=0).reshape(-1)
    for layer in range(layers):
        at = lambda name: f"blk.{layer}.{name}.weight"
        for norm, behind in (("attn_norm", ("attn_q", "attn_k", "attn_v")), ("ffn_norm", ("ffn_gate", "ffn_up"))):
            s = factors(len(out[at(norm)]))
            out[at(norm)] *= s
            for name in behind:
                out[at(name)] /= s
        s = factors(len(out[at("ffn_up")]))
        out[at("ffn_up")] *= s[:, None]
        out[at("ffn_down")] /= s
        s = factors(len(out[at("attn_v")]))
        out[at("attn_v")] *= s[:, None]
        out[at("attn_output")] /= of_queries(s)
        s = np.repeat(factors(len(out[at("attn_k")]) // 2), 2)
        out[at("attn_k")] *= s[:, None]
        out[at("attn_q")] /= of_queries(s)[:, None]
    return {name: values.astype(np.float32) for name, values in out.items()}


def write_like(source, path, packed):
    """A GGUF file with the metadata of `source` and the tensors `packed`: name -> (bytes or f32 array, type)."""
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(path, "llama")
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key in ("general.architecture", "general.file_type", "general.quantization_version"):
            continue
        kind = field.types[0]
        sub_type = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(key, field.contents(), kind, sub_type=sub_type)
    for tensor in reader.tensors:
        data, kind = packed[tensor.name]
        writer.add_tensor(tensor.name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def make_twin(source, path):
    """Writes the twin of a GGUF model of the architecture llama; returns its tensors as the file has them."""
    reader = gguf.GGUFReader(source)
    count = lambda key: int(reader.fields[f"llama.{key}"].contents())
    scaled = off_the_grid(read_tensors(source), count("block_count"), count("attention.head_count"), count("attention.head_count_kv"))
    bf16, f32 = gguf.GGMLQuantizationType.BF16, gguf.GGMLQuantizationType.F32
    packed = {name: (quantize(values, bf16), bf16) if values.ndim > 1 else (values, f32) for name, values in scaled.items()}
    write_like(source, path, packed)
    return read_tensors(path)
