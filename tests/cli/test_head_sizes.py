"""Models whose heads are no multiple of 16, made as strangers make tiny-random-Llama: a configuration and a tokenizer that other
tools save, random weights beside them."""
import json

import numpy as np
import pytest
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

transformers = pytest.importorskip("transformers")

TEXT = "Pages hold keys and values of heads; whatever a head lacks, zeros fill up. " * 3


def made(folder, family="Llama", layers=2, hidden=40, heads=4, kv_heads=2, head_dim=None, seed=0):
    fields = dict(vocab_size=300, max_position_embeddings=256, bos_token_id=None, eos_token_id=None, tie_word_embeddings=True)
    if family == "GPT2":
        config = transformers.GPT2Config(n_embd=hidden, n_layer=layers, n_head=heads, n_inner=64, n_positions=256,
                                         **{k: v for k, v in fields.items() if k != "max_position_embeddings"})
    else:
        config = transformers.LlamaConfig(hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=64,
                                          num_key_value_heads=kv_heads, head_dim=head_dim, **fields)
    config.architectures = ["GPT2LMHeadModel" if family == "GPT2" else "LlamaForCausalLM"]
    config.save_pretrained(folder)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokenizer.train_from_iterator([TEXT], trainers.BpeTrainer(vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=256).save_pretrained(folder)
    random = np.random.default_rng(seed)
    weights = gpt2_weights(hidden, layers) if family == "GPT2" else llama_weights(hidden, layers, heads, kv_heads,
                                                                                  head_dim or hidden // heads)
    save_file({name: (np.ones(shape) if "norm" in name or "ln_" in name and name.endswith("weight")
                      else random.normal(0, 1.5 / shape[-1] ** 0.5, shape)).astype(np.float32) for name, shape in weights.items()},
              folder / "model.safetensors")
    return folder


def llama_weights(hidden, layers, heads, kv_heads, head_dim):
    shapes = {"model.embed_tokens.weight": (300, hidden), "model.norm.weight": (hidden,)}
    for layer in range(layers):
        name = f"model.layers.{layer}."
        shapes |= {name + "input_layernorm.weight": (hidden,), name + "post_attention_layernorm.weight": (hidden,),
                   name + "self_attn.q_proj.weight": (heads * head_dim, hidden),
                   name + "self_attn.k_proj.weight": (kv_heads * head_dim, hidden),
                   name + "self_attn.v_proj.weight": (kv_heads * head_dim, hidden),
                   name + "self_attn.o_proj.weight": (hidden, heads * head_dim),
                   name + "mlp.gate_proj.weight": (64, hidden), name + "mlp.up_proj.weight": (64, hidden),
                   name + "mlp.down_proj.weight": (hidden, 64)}
    return shapes


def gpt2_weights(hidden, layers):
    shapes = {"transformer.wte.weight": (300, hidden), "transformer.wpe.weight": (256, hidden)}
    linears = {"attn.c_attn": (hidden, 3 * hidden), "attn.c_proj": (hidden, hidden), "mlp.c_fc": (hidden, 64), "mlp.c_proj": (64, hidden)}
    norms = ["transformer.ln_f"]
    for layer in range(layers):
        name = f"transformer.h.{layer}."
        norms += [name + "ln_1", name + "ln_2"]
        for linear, shape in linears.items():
            shapes |= {name + linear + ".weight": shape, name + linear + ".bias": shape[1:]}
    for norm in norms:
        shapes |= {norm + ".weight": (hidden,), norm + ".bias": (hidden,)}
    return shapes


def answer(millrace, model, *flags):
    return millrace("run", model, "-p", TEXT, "--temperature", "0", "--max-tokens", "24", *flags).out


@pytest.mark.parametrize("sizes", [dict(hidden=8), dict(hidden=32), dict(hidden=40, heads=2, kv_heads=1, head_dim=100),
                                   dict(hidden=240, heads=2, kv_heads=2), dict(hidden=28, family="GPT2")],
                         ids=["2", "8", "100", "120", "gpt2 of 7"])
def test_a_model_of_any_head_size_runs_alike_in_every_page_layout(millrace, tmp_path, sizes):
    model = made(tmp_path / "model", **sizes)
    head_dim = sizes.get("head_dim") or sizes["hidden"] // sizes.get("heads", 4)
    report = json.loads(millrace("inspect", model, "--json").out)
    assert report["shape"]["head_dim"] == head_dim
    plain = answer(millrace, model)
    for layout in ("token", "vector16"):
        assert answer(millrace, model, "--kv-layout", layout) == plain
    assert answer(millrace, model, "--threads", "1", "--kv-cache-dtype", "bf16") == plain


@pytest.mark.parametrize("head_dim, error", [
    (0, "config.json: head_dim: expected 1 to 2147483647, found 0"),
    (33, "head_dim is 33: must be an even number, as positions are rotary, from 2 to 576"),
    (577, "head_dim is 577: must be an even number, as positions are rotary, from 2 to 576"),
    (578, "head_dim is 578: must be an even number, as positions are rotary, from 2 to 576"),
])
def test_a_head_size_that_no_kernel_takes_is_named_with_its_limit(millrace, tmp_path, head_dim, error):
    model = made(tmp_path / "model", head_dim=20)
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config | {"head_dim": head_dim}))
    outcome = millrace("run", model, "-p", "x", ok=False)
    assert outcome.code == 3 and outcome.out == "" and error in outcome.err, outcome.err
    shown = millrace("inspect", model, ok=False)
    assert error in shown.out + shown.err


def test_pages_on_disk_are_not_taken_for_those_of_the_same_weights_in_other_heads(millrace, tmp_path):
    model = made(tmp_path / "model", hidden=1280, layers=8, kv_heads=4, head_dim=20)  # computing a page takes longer than reading it

    def cached():
        report = millrace("bench", "throughput", model, "--requests", 2, "--concurrency", 1, "--shared-prefix-tokens", 200, "--input-tokens", 8,
                          "--output-tokens", 2, "--prefix-caching", "--warmup", 0, "--kv-disk-tier", tmp_path / "kv", "--json", "-").out
        return json.loads(report)["results"]["cached_tokens"]

    assert [cached(), cached()] == [192, 384]
    config = json.loads((model / "config.json").read_text())
    heads = dict(num_attention_heads=8, num_key_value_heads=8, head_dim=10)  # pages of the same size
    (model / "config.json").write_text(json.dumps(config | heads))
    assert cached() == 192


def test_attention_is_timed_with_the_bytes_of_the_cache_and_the_operations_of_the_head(millrace):
    case = lambda head_dim: json.loads(millrace("bench", "kernels", "--op", "attention_decode", "--heads", f"8:2:{head_dim}", "--rows", "1",
                                                "--context", "64", "--min-time", "0.001", "--repeats", "1", "--json", "-").out)["results"][0]
    odd, even = case(100), case(112)
    assert (odd["bytes"], odd["operations"] * 112) == (even["bytes"], even["operations"] * 100)
    refused = millrace("bench", "kernels", "--op", "attention", "--heads", "8:2:514", ok=False)
    assert refused.code == 2 and "values of 1 to 512 dimensions" in refused.err
