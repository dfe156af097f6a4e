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
from transformers import AutoModelForCausalLM, LlamaConfig

torch.set_num_threads(1)
ROOT = pathlib.Path(__file__).parent.parent / "quantized"
VOCABULARY = 96
TOKENS = 40
FOLDER_BYTES = 150 * 1024
SMALL = dict(vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2,
             head_dim=16, max_position_embeddings=128, tie_word_embeddings=False, bos_token_id=1, eos_token_id=2)
WIDE = SMALL | dict(hidden_size=128, intermediate_size=256, num_attention_heads=8)  # groups of 128 in every matrix


def llama(**changes):
    return LlamaConfig(**SMALL | changes)


def wide_llama(**changes):
    return LlamaConfig(**WIDE | changes)


def seed(name):
    torch.manual_seed(sum(map(ord, name)))


def random_model(config, dtype, name):
    """Weights large enough to be worth rounding; the fourth to sixth row of a projection have no negative value, so that minima matter."""
    seed(name)
    model = AutoModelForCausalLM.from_config(copy.deepcopy(config), dtype=torch.float32)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            scale = 0.2 if parameter.ndim == 1 else 1.5 / parameter.shape[-1]**0.5
            parameter.copy_(scale * torch.randn(parameter.shape) + (1.0 if key.endswith("norm.weight") else 0.0))
            if "_proj.weight" in key:
                parameter[3:6].abs_()
    config.dtype = model.config.dtype = dtype
    config.architectures = [type(model).__name__]
    return model.to(dtype).eval()


def state_of(model):
    """Without the head where it is the embedding."""
    state = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
    if model.config.tie_word_embeddings:
        state.pop("lm_head.weight", None)
    return state


def empty_folder(name):
    shutil.rmtree(ROOT / name, ignore_errors=True)
    (ROOT / name).mkdir(parents=True)
    return ROOT / name


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2) + "\n")


def save(name, config, quantization, state, shard_bytes=None, **keys):
    """The files as save_pretrained of Transformers leaves them: config.json, and one file of tensors or shards with an index."""
    folder = empty_folder(name)
    written = json.loads(config.to_json_string(use_diff=True)) | keys
    if quantization is not None:
        written["quantization_config"] = quantization
    write_json(folder / "config.json", written)
    state = {key: tensor.contiguous() for key, tensor in state.items()}
    if shard_bytes:
        save_torch_state_dict(state, folder, max_shard_size=shard_bytes)
    else:
        save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def read_tensors(folder):
    from safetensors import safe_open
    tensors = {}
    for path in sorted(folder.glob("model*.safetensors")):
        with safe_open(path, "pt") as file:
            tensors |= {key: file.get_tensor(key) for key in file.keys()}
    return tensors


def sha256(values):
    array = np.ascontiguousarray(values, dtype="<f4")
    assert array.ndim >= 2 and not np.isnan(array).any()
    return hashlib.sha256(array.tobytes()).hexdigest()


def steps_apart(a, b):
    """How many values of a 16-bit type lie between two of them; the sign's bit makes two halves of the number line."""
    def places(x):
        bits = x.contiguous().view(torch.int16).int()
        return torch.where(bits < 0, -(bits & 0x7fff), bits)
    return (places(a) - places(b)).abs()


def agree(key, own, exact):
    """The tool's values against those in float32: all are the same, or, where the tool computes in 16 bits, neighbours. How many are the same."""
    assert own.shape == exact.shape, (key, own.shape, exact.shape)
    apart = steps_apart(own, exact.to(own.dtype)) if own.dtype != torch.float32 else (own != exact).int()
    assert apart.max() <= (1 if own.dtype != torch.float32 else 0), (key, apart.max(), (own.float() - exact).abs().max())
    return int((apart == 0).sum())


def as_float32(array):
    return array.float().contiguous() if isinstance(array, torch.Tensor) else torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))


def finish(name, config, plain, own, exact, renamed=None, own_logits=None, tolerance=0.05):
    """Writes what is expected. plain: the tensors that are not quantized, by the names of the checkpoint. own: what the tool unpacks, in the type
    that it computes in. exact: the same by our own unpacking of the file, in float32. renamed: names of checkpoint -> of Transformers' model.
    own_logits(tokens): what the tool's model answers, where it runs; the twin's logits must be within the tolerance of them."""
    assert own.keys() == exact.keys() and own, own.keys() ^ exact.keys()
    exact = {key: as_float32(value) for key, value in exact.items()}
    same = sum(agree(key, own[key], exact[key]) for key in own)
    total = sum(value.numel() for value in own.values())
    seed(name + " tokens")
    tokens = torch.randint(0, VOCABULARY - 2, (TOKENS,))
    logits = twin_logits(config, {key: value.float() for key, value in plain.items()} | exact, tokens, renamed or {})
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


def twin_logits(config, weights, tokens, renamed):
    twin = AutoModelForCausalLM.from_config(plain_config(config), dtype=torch.float32).eval()
    missing, unexpected = twin.load_state_dict({renamed.get(key, key): value for key, value in weights.items()}, strict=False)
    assert not unexpected and set(missing) <= ({"lm_head.weight"} if config.tie_word_embeddings else set()), (missing, unexpected)
    twin.tie_weights()
    with torch.inference_mode():
        return twin(tokens[None]).logits[0].contiguous()


def plain_config(config):
    return type(config).from_dict({key: value for key, value in config.to_dict().items() if key not in ("quantization_config", "dtype")})


def quantized_linears(state, but=()):
    """The names of the projections, in the order of the state."""
    return [key for key in state if key.endswith("_proj.weight") and not any(part in key for part in but)]
