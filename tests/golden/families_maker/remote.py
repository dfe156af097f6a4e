"""Families whose code comes with the model, so that Transformers has no class of them: another one with the same mathematics stands in, and its tensors
and configuration are spelled as the files on the hub are."""

import copy
import re

import torch

from .family import Family
from .shared import BASE, DERIVED, LAYER, LLAMA3, theta

SMALL = {**DERIVED, "intermediate_size": 20}
# As many key/value heads as query heads.
FULL_HEADS = {**SMALL, "hidden_size": 24, "num_attention_heads": 3, "num_key_value_heads": 3}
LAYERS = r"model\.layers\.(\d+)\."


def config_file(architecture, model_type, renamed=None, omit=(), **more):
    """A function from the configuration of the class that stood in to the family's: with fields renamed, left out and added."""

    def write(c):
        c = {"hidden_act": "silu", **c}
        kept = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "hidden_act")
        kept += ("max_position_embeddings", "rms_norm_eps", "bos_token_id", "eos_token_id", "pad_token_id", "tie_word_embeddings", "use_cache")
        out = {k: c[k] for k in kept if k in c and k not in omit}
        out = {(renamed or {}).get(k, k): v for k, v in out.items()}
        name = architecture.removesuffix("ForCausalLM")
        code = {"AutoConfig": f"configuration_{model_type}.{name}Config", "AutoModelForCausalLM": f"modeling_{model_type}.{architecture}"}
        out |= dict(architectures=[architecture], model_type=model_type, auto_map=code, torch_dtype="bfloat16", transformers_version="4.37.0")
        out |= {k: v(c) if callable(v) else v for k, v in more.items()}
        return {k: out[k] for k in sorted(out)}

    return write


def base_of(c):
    return c["rope_parameters"]["rope_theta"]


def renaming(*pairs):
    """hub_tensors that only renames: (pattern, replacement) in order."""

    def rename(tensors):
        out = {}
        for name, tensor in tensors.items():
            for pattern, replacement in pairs:
                name = re.sub(pattern, replacement, name)
            out[name] = tensor
        return out

    return rename


def fused(tensors, join, *parts):
    """Without the tensors `parts`, but with the joined ones of each layer. `join` gives the name behind the layer's prefix and the tensor."""
    out = dict(tensors)
    for name in tensors:
        if not re.fullmatch(LAYERS + re.escape(parts[0]), name):
            continue
        prefix = name.removesuffix(parts[0])
        new, tensor = join([out.pop(prefix + part) for part in parts])
        out[prefix + new] = tensor
    return out


def stack_qkv(tensors, name, kinds=("weight",)):
    for kind in kinds:
        tensors = fused(tensors, lambda t: (f"{name}.{kind}", torch.cat(t)), *(f"self_attn.{x}_proj.{kind}" for x in "qkv"))
    return tensors


def hub_internlm2(tensors):
    heads, groups = SMALL["num_attention_heads"], SMALL["num_key_value_heads"]

    def join(qkv):
        q, k, v = (t.reshape(groups, -1, SMALL["hidden_size"] // heads, t.shape[-1]) for t in qkv)
        return "attention.wqkv.weight", torch.cat([q, k, v], 1).reshape(-1, qkv[0].shape[-1])

    return renaming(
        ("embed_tokens", "tok_embeddings"),
        ("lm_head", "output"),
        ("input_layernorm", "attention_norm"),
        ("post_attention_layernorm", "ffn_norm"),
        ("self_attn.o_proj", "attention.wo"),
        ("mlp.gate_proj", "feed_forward.w1"),
        ("mlp.up_proj", "feed_forward.w3"),
        ("mlp.down_proj", "feed_forward.w2"),
    )(fused(tensors, join, *(f"self_attn.{x}_proj.weight" for x in "qkv")))


def slopes(heads):
    """ALiBi's for any number of heads: those of the power of two below, then every other of the one above."""
    power = 1 << (heads.bit_length() - 1)
    first = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    return torch.tensor(first + [2 ** (-4 * (i + 1) / power) for i in range(0, 2 * (heads - power), 2)])


def use_alibi(model):
    """Slopes take the place of the rotation."""

    def unrotated(x, position_ids):
        shape = (*position_ids.shape, model.config.hidden_size // model.config.num_attention_heads)
        return torch.ones(shape), torch.zeros(shape)

    def with_slopes(forward):
        def run(hidden_states, *args, attention_mask=None, **kwargs):
            positions = torch.arange(hidden_states.shape[1])
            bias = slopes(model.config.num_attention_heads)[:, None, None] * (positions[None, :] - positions[:, None])
            return forward(hidden_states, *args, attention_mask=attention_mask + bias, **kwargs)

        return run

    model.model.rotary_emb.forward = unrotated
    for layer in model.model.layers:
        layer.self_attn.forward = with_slopes(layer.self_attn.forward)


def use_unit_head(model):
    head = model.lm_head
    head.forward = lambda x: torch.nn.functional.linear(x, torch.nn.functional.normalize(head.weight))


def patch_baichuan(model):
    """llama.cpp's class calls itself without end for all but the joined tensor (0.3.36)."""
    own = model.modify_tensors
    model.modify_tensors = lambda data, name, bid: own(data, name, bid) if "W_pack" in name else [(model.map_tensor_name(name), data)]


EXAONE_NAMES = renaming(
    ("model.embed_tokens", "transformer.wte"),
    ("model.norm", "transformer.ln_f"),
    ("model.layers", "transformer.h"),
    ("input_layernorm", "ln_1"),
    ("post_attention_layernorm", "ln_2"),
    (r"self_attn\.o_proj", "attn.attention.out_proj"),
    (r"self_attn\.", "attn.attention."),
    (r"mlp\.gate_proj", "mlp.c_fc_0"),
    (r"mlp\.up_proj", "mlp.c_fc_1"),
    (r"mlp\.down_proj", "mlp.c_proj"),
)


def hub_qwen(tensors):
    return renaming(
        ("model.embed_tokens", "transformer.wte"),
        ("model.norm", "transformer.ln_f"),
        ("model.layers", "transformer.h"),
        ("input_layernorm", "ln_1"),
        ("post_attention_layernorm", "ln_2"),
        (r"self_attn\.o_proj", "attn.c_proj"),
        (r"mlp\.gate_proj", "mlp.w2"),
        (r"mlp\.up_proj", "mlp.w1"),
        (r"mlp\.down_proj", "mlp.c_proj"),
    )(stack_qkv(tensors, "attn.c_attn", ("weight", "bias")))


def hub_chatglm(tensors):
    out = stack_qkv(tensors, "self_attention.query_key_value", ("weight", "bias"))
    return renaming(
        ("lm_head", "transformer.output_layer"),
        ("model.embed_tokens", "transformer.embedding.word_embeddings"),
        ("model.norm", "transformer.encoder.final_layernorm"),
        ("model.layers", "transformer.encoder.layers"),
        (r"self_attn\.o_proj", "self_attention.dense"),
        (r"mlp\.gate_up_proj", "mlp.dense_h_to_4h"),
        (r"mlp\.down_proj", "mlp.dense_4h_to_h"),
    )(out)


# The text of a GPT-2, whose matrices are transposed.
JAIS_NAMES = renaming(
    ("model.embed_tokens", "transformer.wte"),
    ("model.norm", "transformer.ln_f"),
    ("model.layers", "transformer.h"),
    ("input_layernorm", "ln_1"),
    ("post_attention_layernorm", "ln_2"),
    (r"self_attn\.o_proj", "attn.c_proj"),
    (r"mlp\.gate_proj", "mlp.c_fc2"),
    (r"mlp\.up_proj", "mlp.c_fc"),
    (r"mlp\.down_proj", "mlp.c_proj"),
)


def hub_jais(tensors):
    out = JAIS_NAMES(stack_qkv(tensors, "attn.c_attn", ("weight", "bias")))
    out = {n: t.T.contiguous() if re.search(r"\.c_\w+\.weight$", n) else t for n, t in out.items()}
    of_heads = slopes(FULL_HEADS["num_attention_heads"]).to(torch.bfloat16)[:, None, None]
    return out | {"lm_head.weight": out["transformer.wte.weight"].clone(), "transformer.relative_pe.slopes": of_heads}


def use_layer_norms(model):
    def norm():
        return torch.nn.LayerNorm(model.config.hidden_size, eps=model.config.rms_norm_eps)

    model.model.norm = norm()
    for layer in model.model.layers:
        layer.input_layernorm, layer.post_attention_layernorm = norm(), norm()
    use_alibi(model)


def hub_codeshell(tensors):
    return renaming(
        ("model.embed_tokens", "transformer.wte"),
        ("model.norm", "transformer.ln_f"),
        ("model.layers", "transformer.h"),
        ("input_layernorm", "ln_1"),
        ("post_attention_layernorm", "ln_2"),
        (r"self_attn\.o_proj", "attn.c_proj"),
    )(stack_qkv(tensors, "attn.c_attn", ("weight", "bias")))


def hub_refact(tensors):
    out = fused(tensors, lambda t: ("attn.kv.weight", torch.cat(t)), *(f"self_attn.{x}_proj.weight" for x in "kv"))
    out = fused(out, lambda t: ("mlp.gate_up_proj.weight", torch.cat(t)), *(f"mlp.{x}_proj.weight" for x in ("gate", "up")))
    return renaming(
        ("model.embed_tokens", "transformer.wte"),
        ("model.norm", "transformer.ln_f"),
        ("model.layers", "transformer.h"),
        ("input_layernorm", "ln_1"),
        ("post_attention_layernorm", "ln_2"),
        (r"self_attn\.o_proj", "attn.c_proj"),
        (r"self_attn\.q_proj", "attn.q"),
        (r"mlp\.down_proj", "mlp.c_proj"),
    )(out)


def hub_maincoder(tensors):
    """Rotated rows as pairs."""
    out = {}
    for name, t in tensors.items():
        if re.search(r"self_attn\.([qk]_proj|query_layernorm|key_layernorm)", name):
            t = t.reshape(-1, 2, 4, *t.shape[1:]).transpose(1, 2).reshape(t.shape).contiguous()
        out[name.replace("query_layernorm", "q_norm").replace("key_layernorm", "k_norm")] = t
    return out


# A layer with all, one without attention, one without MLP and with another number of key/value heads.
DECI = {**BASE, "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 256, "num_key_value_heads": 2}
DECI_GROUPS, DECI_FACTORS = (1, None, 2), (2.5, 20.0, None)
DECI_WIDTHS = (256, 256, 0)  # 2/3 · factor · hidden size, rounded up to a multiple of 256


class Nothing(torch.nn.Module):
    def forward(self, x=None, hidden_states=None, **_):
        return torch.zeros_like(x) if x is not None else (torch.zeros_like(hidden_states), None)


def searched_layers(model):
    for i, (group, width) in enumerate(zip(DECI_GROUPS, DECI_WIDTHS)):
        config = copy.copy(model.config)
        config.num_key_value_heads, config.intermediate_size = 2 // (group or 2), width or 2
        layer = type(model.model.layers[i])(config, i).eval()
        if group is None:
            layer.input_layernorm, layer.self_attn = torch.nn.Identity(), Nothing()
        if not width:
            layer.post_attention_layernorm, layer.mlp = torch.nn.Identity(), Nothing()
        model.model.layers[i] = layer


def deci_blocks(_):
    none = dict.fromkeys(("num_sink_tokens", "sparsify", "window_length"))
    plain = {"replace_with_linear": False}
    return [
        {
            "attention": {"n_heads_in_group": group, "no_op": group is None, "unshifted_sink": False, **none, **plain},
            "ffn": {"ffn_mult": factor, "no_op": factor is None, "sparsify": None, **plain},
        }
        for group, factor in zip(DECI_GROUPS, DECI_FACTORS)
    ]


MINICPM = {**SMALL, "num_hidden_layers": 2, "embedding_multiplier": 6.0, "attention_multiplier": 8**-0.5, "tie_word_embeddings": True}
MINICPM |= {"residual_multiplier": 0.9 / 2**0.5, "logits_scaling": 48 / 32}
MINICPM_FIELDS = dict(scale_emb=6.0, scale_depth=0.9, dim_model_base=32)
MINICPM_FACTORS = dict(short_factor=[1.0, 1.25, 1.5, 2.5], long_factor=[1.5, 2.0, 4.0, 7.0])

FAMILIES = {
    "internlm": Family(
        "Llama",
        {
            **FULL_HEADS,
            "attention_bias": True,
            "max_position_embeddings": 24,
            "rope_parameters": {"rope_type": "dynamic", "rope_theta": 1000.0, "factor": 1.0},
        },
        inert={"rope_parameters.factor": "1"},
        remote_config=config_file(
            "InternLMForCausalLM", "internlm", omit=("num_key_value_heads",), bias=True, rotary=lambda c: {"base": base_of(c), "type": "dynamic"}
        ),
        gguf="llama.cpp's converter knows only its later versions",
    ),
    "internlm2": Family(
        "Llama",
        {**SMALL, **theta(1000000.0)},
        hub_tensors=hub_internlm2,
        remote_config=config_file(
            "InternLM2ForCausalLM", "internlm2", bias=False, rope_theta=base_of, rope_scaling={"type": "dynamic", "factor": 2.0}
        ),
    ),
    "internlm3": Family(
        "Llama",
        {**SMALL, "attention_bias": True, "mlp_bias": True, **theta(50000.0)},
        remote_config=config_file(
            "InternLM3ForCausalLM", "internlm3", bias=True, qkv_bias=True, head_dim=8, rope_theta=base_of, rope_scaling={"rope_type": "dynamic", "factor": 6.0}
        ),
    ),
    "baichuan": Family(
        "Llama",
        {**FULL_HEADS, **theta(10000.0)},
        hub_tensors=lambda t: stack_qkv(t, "self_attn.W_pack"),
        remote_config=config_file("BaiChuanForCausalLM", "baichuan", omit=("num_key_value_heads",)),
        gguf_patch=patch_baichuan,
    ),
    # llama.cpp tells that there are slopes by the 40 layers alone.
    "baichuan_13b": Family(
        "Llama",
        {**FULL_HEADS, "hidden_size": 6, "intermediate_size": 4, "num_hidden_layers": 40, **theta(10000.0)},
        reshape=use_alibi,
        hub_tensors=lambda t: stack_qkv(t, "self_attn.W_pack"),
        remote_config=config_file(
            "BaichuanForCausalLM", "baichuan", {"max_position_embeddings": "model_max_length"}, omit=("num_key_value_heads",), gradient_checkpointing=[False]
        ),
        gguf_patch=patch_baichuan,
        spread=[("o_proj|down_proj", 0.0, 0.25)],
        inert={"rope": "slopes take its place", "layers": "each of forty adds little"},
    ),
    "baichuan2": Family(
        "Llama",
        {**FULL_HEADS, **theta(10000.0)},
        reshape=use_unit_head,
        hub_tensors=lambda t: stack_qkv(t, "self_attn.W_pack"),
        remote_config=config_file("BaichuanForCausalLM", "baichuan", omit=("num_key_value_heads",), model_max_length=64, z_loss_weight=0),
        spread=[("lm_head", 0.0, 1.0)],
        gguf="llama.cpp takes the rows of the head as they are",
    ),
    "exaone": Family(
        "Llama",
        {**SMALL, "tie_word_embeddings": True, "rope_parameters": LLAMA3, "max_position_embeddings": 128},
        hub_tensors=EXAONE_NAMES,
        remote_config=config_file(
            "ExaoneForCausalLM",
            "exaone",
            {"num_hidden_layers": "num_layers", "hidden_act": "activation_function", "rms_norm_eps": "layer_norm_epsilon"},
            head_dim=8,
            rope_theta=base_of,
            rope_scaling=lambda c: {k: v for k, v in c["rope_parameters"].items() if k != "rope_theta"},
        ),
        gguf_fields={"activation_function": "silu"},  # which Transformers' class of the configuration renames
    ),
    "chatglm": Family(
        "Glm",
        {**SMALL, "head_dim": 8, "attention_bias": True, **theta(500000.0, partial_rotary_factor=0.5)},
        hub_tensors=hub_chatglm,
        remote_config=config_file(
            "ChatGLMModel",
            "chatglm",
            {
                "num_hidden_layers": "num_layers",
                "intermediate_size": "ffn_hidden_size",
                "num_key_value_heads": "multi_query_group_num",
                "max_position_embeddings": "seq_length",
                "rms_norm_eps": "layernorm_epsilon",
            },
            omit=("hidden_act",),
            padded_vocab_size=lambda c: c["vocab_size"],
            kv_channels=8,
            rope_ratio=50,
            add_bias_linear=False,
            add_qkv_bias=True,
            apply_query_key_layer_scaling=True,
            apply_residual_connection_post_layernorm=False,
            attention_softmax_in_fp32=True,
            bias_dropout_fusion=True,
            fp32_residual_connection=False,
            multi_query_attention=True,
            original_rope=True,
            post_layer_norm=True,
            rmsnorm=True,
        ),
    ),
    "minicpm": Family(
        "Granite",
        {**MINICPM, **theta(10000.0)},
        spread=[("embed_tokens", 0.0, 0.2)],
        remote_config=config_file("MiniCPMForCausalLM", "minicpm", omit=("tie_word_embeddings",), rope_scaling=None, **MINICPM_FIELDS),
    ),
    "minicpm_longrope": Family(
        "Granite",
        {**MINICPM, "max_position_embeddings": 24, "original_max_position_embeddings": 24, "rope_parameters": {"rope_type": "longrope", "rope_theta": 10000.0, **MINICPM_FACTORS}},
        spread=[("embed_tokens", 0.0, 0.2)],
        short_tokens=20,
        inert={"original_max|rope_parameters.original": "one of the two overrides the other"},
        remote_config=config_file(
            "MiniCPMForCausalLM",
            "minicpm",
            mup_denominator=32,
            rope_theta=base_of,
            rope_scaling={"rope_type": "longrope", "original_max_position_embeddings": 24, **MINICPM_FACTORS},
            **MINICPM_FIELDS,
        ),
    ),
    "qwen": Family(
        "Qwen2",
        {**FULL_HEADS, **theta(10000.0)},
        hub_tensors=hub_qwen,
        inert={"max_window_layers|use_sliding|sliding": "not of this family"},
        remote_config=config_file(
            "QWenLMHeadModel",
            "qwen",
            {"rms_norm_eps": "layer_norm_epsilon"},
            omit=("num_key_value_heads", "hidden_act"),
            intermediate_size=lambda c: 2 * c["intermediate_size"],
            kv_channels=8,
            no_bias=True,
            rotary_emb_base=base_of,
            rotary_pct=1.0,
            scale_attn_weights=True,
            seq_length=48,
            use_dynamic_ntk=True,
            use_logn_attn=True,
        ),
    ),
    "orion": Family(
        "StableLm",
        {**LAYER, "intermediate_size": 20, "use_qkv_bias": False, "use_parallel_residual": False, **theta(10000.0, partial_rotary_factor=1.0)},
        remote_config=config_file("OrionForCausalLM", "orion", rms_norm_eps=lambda c: c["layer_norm_eps"], attention_bias=False, rope_scaling=None),
    ),
    "xverse": Family(
        "Llama",
        {**FULL_HEADS, **theta(10000.0)},
        remote_config=config_file("XverseForCausalLM", "xverse", omit=("num_key_value_heads",), max_tokenizer_truncation=24),
    ),
    "deci": Family(
        "Llama",
        {**DECI, "rope_parameters": LLAMA3, "max_position_embeddings": 128},
        reshape=searched_layers,
        remote_config=config_file(
            "DeciLMForCausalLM",
            "nemotron-nas",
            omit=("num_key_value_heads", "intermediate_size"),
            num_key_value_heads=None,
            intermediate_size=None,
            block_configs=deci_blocks,
            rope_theta=base_of,
            rope_scaling=lambda c: {k: v for k, v in c["rope_parameters"].items() if k != "rope_theta"},
        ),
        # Where the converter looks for it, else 8192.
        gguf_fields={"original_max_position_embeddings": 64},
    ),
    "jais": Family(
        "Granite",
        {
            **FULL_HEADS,
            **theta(10000.0),
            "attention_bias": True,
            "mlp_bias": True,
            "tie_word_embeddings": True,
            "embedding_multiplier": 6.0,
            "attention_multiplier": 1 / 8,
            "logits_scaling": 2.0,
        },
        reshape=use_layer_norms,
        hub_tensors=hub_jais,
        spread=[("embed_tokens", 0.0, 0.2)],
        inert={"rope": "slopes take its place", "k_proj.bias": "without rotation it adds the same to all scores of a query"},
        remote_config=config_file(
            "JAISLMHeadModel",
            "jais",
            {
                "hidden_size": "n_embd",
                "intermediate_size": "n_inner",
                "num_hidden_layers": "n_layer",
                "num_attention_heads": "n_head",
                "max_position_embeddings": "n_positions",
                "rms_norm_eps": "layer_norm_epsilon",
            },
            omit=("num_key_value_heads", "hidden_act", "tie_word_embeddings"),
            activation_function="swiglu",
            embeddings_scale=6.0,
            position_embedding_type="alibi",
            scale_attn_by_inverse_layer_idx=False,
            scale_attn_weights=True,
            scale_qk_dot_by_d=True,
            width_scale=0.5,
        ),
        gguf_absent=r"wte|lm_head|slopes",
        gguf_made=r"^token_embd|^output\.weight",
    ),
    "codeshell": Family(
        "Starcoder2",
        {
            **{k: v for k, v in SMALL.items() if k != "rms_norm_eps"},
            "hidden_size": 24,
            "intermediate_size": 96,
            "num_attention_heads": 6,
            "norm_epsilon": 0.03125,
            "use_bias": True,
            "tie_word_embeddings": True,
            "sliding_window": None,
            **theta(10000.0),
        },
        hub_tensors=hub_codeshell,
        remote_config=config_file(
            "CodeShellForCausalLM",
            "codeshell",
            {
                "hidden_size": "n_embd",
                "intermediate_size": "n_inner",
                "num_hidden_layers": "n_layer",
                "num_attention_heads": "n_head",
                "num_key_value_heads": "num_query_groups",
                "max_position_embeddings": "n_positions",
                "hidden_act": "activation_function",
            },
            omit=("tie_word_embeddings",),
            group_query_attention=True,
            layer_norm_epsilon=lambda c: c["norm_epsilon"],
            position_embedding_type="rope",
        ),
    ),
    "pangu_embedded": Family(
        "Llama",
        {**SMALL, "attention_bias": True, **theta(16000.0)},
        remote_config=config_file("PanguEmbeddedForCausalLM", "PanguEmbedded", bias=True, rope_theta=base_of),
    ),
    "refact": Family(
        "Llama",
        {**BASE, "hidden_size": 12, "intermediate_size": 256, "num_attention_heads": 3, "num_key_value_heads": 1, **theta(10000.0)},
        reshape=use_alibi,
        hub_tensors=hub_refact,
        remote_config=config_file(
            "GPTRefactForCausalLM",
            "gpt_refact",
            {
                "hidden_size": "n_embd",
                "num_hidden_layers": "n_layer",
                "num_attention_heads": "n_head",
                "max_position_embeddings": "n_positions",
                "rms_norm_eps": "layer_norm_epsilon",
            },
            omit=("num_key_value_heads", "intermediate_size", "hidden_act"),
            multi_query=True,
        ),
        inert={"rope": "slopes take its place"},
    ),
    "maincoder": Family(
        "HunYuanDenseV1",
        {**SMALL, "head_dim": 8, "tie_word_embeddings": True, **theta(10000.0)},
        hub_tensors=hub_maincoder,
        remote_config=config_file("MaincoderForCausalLM", "maincoder", head_dim=8, use_qk_norm=True, rope_theta=base_of),
    ),
    "kormo": Family(
        "Llama",
        {**SMALL, **theta(500000.0)},
        hub_tensors=renaming(("input_layernorm", "pre_attention_layernorm"), ("post_attention_layernorm", "pre_mlp_layernorm")),
        remote_config=config_file("KORMoForCausalLM", "kormo", rope_theta=base_of),
    ),
}
