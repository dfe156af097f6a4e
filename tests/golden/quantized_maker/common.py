"""What all packages share: the model to quantize, how it is saved, and what a case must prove before it is written."""

import copy
import hashlib
import json
import os
import pathlib
import shutil

os.environ |= {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}

import numpy as np
import torch
from huggingface_hub import save_torch_state_dict
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen3MoeConfig

torch.set_num_threads(1)
ROOT = pathlib.Path(__file__).resolve().parent.parent / "quantized"
VOCABULARY = 96
TOKENS = 40
FOLDER_BYTES = 150 * 1024
SMALL = dict(
    vocab_size=VOCABULARY,
    hidden_size=64,
    intermediate_size=96,
    num_hidden_layers=1,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=16,
    max_position_embeddings=128,
    tie_word_embeddings=False,
    bos_token_id=1,
    eos_token_id=2,
)
WIDE = SMALL | dict(hidden_size=128, intermediate_size=256, num_attention_heads=8)  # groups of 128 in every matrix


def llama(**changes):
    return LlamaConfig(**SMALL | changes)


def wide_llama(**changes):
    return LlamaConfig(**WIDE | changes)


def mixture(**changes):
    """Four experts, two for a token, in the tensors of Qwen3-MoE."""
    small = {key: value for key, value in SMALL.items()}
    return Qwen3MoeConfig(**small | dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, norm_topk_prob=True) | changes)


def seed(name):
    torch.manual_seed(sum(map(ord, name)))


def random_model(config, dtype, name):
    """Weights large enough to be worth rounding; the fourth to sixth row of a projection have no negative value, so that minima matter."""
    seed(name)
    model = AutoModelForCausalLM.from_config(copy.deepcopy(config), dtype=torch.float32)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            scale = 0.2 if parameter.ndim == 1 else 1.5 / parameter.shape[-1] ** 0.5
            parameter.copy_(scale * torch.randn(parameter.shape) + (1.0 if key.endswith("norm.weight") else 0.0))
            if "_proj.weight" in key:
                parameter[3:6].abs_()
    config.dtype = model.config.dtype = dtype
    config.architectures = model.config.architectures = [type(model).__name__]
    return model.to(dtype).eval()


def state_of(model):
    """Without the head where it is the embedding."""
    state = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
    if model.config.tie_word_embeddings:
        state.pop("lm_head.weight", None)
    return split_experts(state)


def split_experts(state):
    """Experts in the tensors of checkpoints, one matrix each, of those in which Transformers 5 holds them."""
    for key in [key for key in state if key.endswith((".experts.gate_up_proj", ".experts.down_proj"))]:
        stem, whole = key.rsplit(".", 1)[0], state.pop(key)
        for expert, matrix in enumerate(whole):
            parts = zip(("gate_proj", "up_proj"), matrix.chunk(2)) if key.endswith("gate_up_proj") else [("down_proj", matrix)]
            state |= {f"{stem}.{expert}.{part}.weight": part_of.clone() for part, part_of in parts}
    return state


def join_experts(weights):
    """What split_experts did, undone."""
    weights = dict(weights)
    for stem in sorted({key.split(".experts.")[0] + ".experts" for key in weights if ".experts." in key}):
        count = len([key for key in weights if key.startswith(stem) and key.endswith("down_proj.weight")])
        take = lambda part: [weights.pop(f"{stem}.{expert}.{part}.weight") for expert in range(count)]
        gate, up, down = take("gate_proj"), take("up_proj"), take("down_proj")
        weights[stem + ".gate_up_proj"] = torch.stack([torch.cat(pair) for pair in zip(gate, up)])
        weights[stem + ".down_proj"] = torch.stack(down)
    return weights


def empty_folder(name):
    shutil.rmtree(ROOT / name, ignore_errors=True)
    (ROOT / name).mkdir(parents=True)
    return ROOT / name


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2) + "\n")


def read_json(path):
    return json.loads(path.read_text())


def save(name, config, quantization, state, shard_bytes=None, metadata=None):
    """The files as save_pretrained of Transformers leaves them: config.json, and one file of tensors or shards with an index."""
    folder = empty_folder(name)
    written = json.loads(config.to_json_string(use_diff=True))
    if quantization is not None:
        written["quantization_config"] = quantization
    write_json(folder / "config.json", written)
    state = {key: tensor.clone(memory_format=torch.contiguous_format) for key, tensor in state.items()}
    if shard_bytes:
        save_torch_state_dict(state, folder, max_shard_size=shard_bytes)
    else:
        save_file(state, folder / "model.safetensors", metadata={"format": "pt"} | (metadata or {}))
    return folder


def read_tensors(folder):
    from safetensors import safe_open

    tensors = {}
    for path in sorted(folder.glob("model*.safetensors")):
        with safe_open(path, "pt") as file:
            tensors |= {key: file.get_tensor(key) for key in file.keys()}
    return tensors


def sha256(values):
    """Zeros count as +0."""
    array = np.ascontiguousarray(values, dtype="<f4") + np.float32(0)
    assert array.ndim >= 2 and not np.isnan(array).any()
    return hashlib.sha256(array.tobytes()).hexdigest()


def steps_apart(a, b):
    """How many values of a 16-bit type lie between two of them; the sign's bit makes two halves of the number line."""

    def places(x):
        bits = x.contiguous().view(torch.int16).int()
        return torch.where(bits < 0, -(bits & 0x7FFF), bits)

    return (places(a) - places(b)).abs()


def agree(key, own, exact):
    """The tool's values against those in float32: all are the same, or, where the tool computes in 16 bits, neighbours. How many are the same."""
    assert own.shape == exact.shape, (key, own.shape, exact.shape)
    apart = steps_apart(own, exact.to(own.dtype)) if own.dtype != torch.float32 else (own != exact).int()
    assert apart.max() <= (1 if own.dtype != torch.float32 else 0), (key, apart.max(), (own.float() - exact).abs().max())
    return int((apart == 0).sum())


def as_float32(array):
    return (
        array.float().contiguous() if isinstance(array, torch.Tensor) else torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))
    )


def finish(name, config, plain, own, exact, own_logits=None, tolerance=0.05):
    """Writes what is expected. plain: the tensors that are not quantized. own: what the tool unpacks, in the type
    that it computes in. exact: the same by our own unpacking of the file, in float32.
    own_logits(tokens): what the tool's model answers, where it runs; the twin's logits must be within the tolerance of them."""
    assert own.keys() == exact.keys() and own, own.keys() ^ exact.keys()
    exact = {key: as_float32(value) for key, value in exact.items()}
    same = sum(agree(key, own[key], exact[key]) for key in own)
    total = sum(value.numel() for value in own.values())
    seed(name + " tokens")
    tokens = torch.randint(0, VOCABULARY - 2, (TOKENS,))
    logits = twin_logits(config, {key: value.float() for key, value in plain.items()} | exact, tokens)
    expected = {"tokens": tokens.tolist(), "weights": {key: sha256(value.float().numpy()) for key, value in own.items()}}
    types = {key: str(value.dtype).removeprefix("torch.") for key, value in own.items() if value.dtype != torch.float32}
    if types:
        expected |= {"dtype": types, "exact": {key: sha256(exact[key].numpy()) for key in types}}
    folder = ROOT / name
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    save_file({"logits": logits}, folder / "expected.safetensors")
    told = f"{name}: {len(own)} matrices, {same} of {total} values bit for bit, the largest logit {logits.abs().max().item():.2f}"
    if own_logits is not None:
        difference = (own_logits(tokens).float() - logits).abs().max().item()
        told += f", the tool's own logits within {difference:.5f}"
        assert difference < tolerance, difference
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{told}, {size} bytes", flush=True)
    assert size < FOLDER_BYTES, size


def twin_logits(config, weights, tokens):
    twin = AutoModelForCausalLM.from_config(plain_config(config), dtype=torch.float32).eval()
    weights = join_experts(weights)
    missing, unexpected = twin.load_state_dict(weights, strict=False)
    assert not unexpected and set(missing) <= ({"lm_head.weight"} if config.tie_word_embeddings else set()), (missing, unexpected)
    twin.tie_weights()
    with torch.inference_mode():
        return twin(tokens[None]).logits[0].contiguous()


def plain_config(config):
    return type(config).from_dict({key: value for key, value in config.to_dict().items() if key not in ("quantization_config", "dtype")})


def quantized_linears(state, but=()):
    """The names of the projections, in the order of the state."""
    return [key for key in state if key.endswith("_proj.weight") and not any(part in key for part in but)]
