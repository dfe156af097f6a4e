"""What remote.py does to a class that stands in for another: its layers changed, its tensors and configuration spelled as the files on the hub are."""

import copy
import re

import torch
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from .shared import BASE, DERIVED, FULL

SMALL = {**DERIVED, "intermediate_size": 20}
# As many key/value heads as query heads.
FULL_HEADS = {**SMALL, "hidden_size": 24, "num_attention_heads": 3, "num_key_value_heads": 3}
LAYERS = r"model\.layers\.(\d+)\."
# What GPT-2 calls the parts of a model, as many do after it.
GPT2_NAMES = (
    ("model.embed_tokens", "transformer.wte"),
    ("model.norm", "transformer.ln_f"),
    ("model.layers", "transformer.h"),
    ("input_layernorm", "ln_1"),
    ("post_attention_layernorm", "ln_2"),
)


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
    *GPT2_NAMES,
    (r"self_attn\.o_proj", "attn.attention.out_proj"),
    (r"self_attn\.", "attn.attention."),
    (r"mlp\.gate_proj", "mlp.c_fc_0"),
    (r"mlp\.up_proj", "mlp.c_fc_1"),
    (r"mlp\.down_proj", "mlp.c_proj"),
)


def hub_qwen(tensors):
    return renaming(
        *GPT2_NAMES,
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
    *GPT2_NAMES,
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
        *GPT2_NAMES,
        (r"self_attn\.o_proj", "attn.c_proj"),
    )(stack_qkv(tensors, "attn.c_attn", ("weight", "bias")))


def hub_refact(tensors):
    out = fused(tensors, lambda t: ("attn.kv.weight", torch.cat(t)), *(f"self_attn.{x}_proj.weight" for x in "kv"))
    out = fused(out, lambda t: ("mlp.gate_up_proj.weight", torch.cat(t)), *(f"mlp.{x}_proj.weight" for x in ("gate", "up")))
    return renaming(
        *GPT2_NAMES,
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


PLAMO = {**SMALL, "hidden_size": 40, "num_attention_heads": 10, "num_key_value_heads": 5}
PLAMO_LAYERS = ("model.layers", "model.layers.layers")


def run_behind_one_norm(model):
    """Attention and MLP in parallel, behind the norm of attention."""

    def of_layer(layer):
        def run(hidden_states, **kwargs):
            normed = layer.input_layernorm(hidden_states)
            return hidden_states + layer.self_attn(hidden_states=normed, **kwargs)[0] + layer.mlp(normed)

        return run

    for layer in model.model.layers:
        layer.post_attention_layernorm, layer.forward = torch.nn.Identity(), of_layer(layer)


def swap_heads(t, dim, outer):
    """Heads along `dim`, in `outer` runs: the first of each run, then the second of each."""
    head = PLAMO["hidden_size"] // PLAMO["num_attention_heads"]
    return t.unflatten(dim, (outer, -1, head)).transpose(dim, dim + 1).flatten(dim, dim + 2).contiguous()


def hub_plamo(tensors):
    """Query heads by turns of their key/value heads."""
    groups = PLAMO["num_key_value_heads"]
    out = {n: swap_heads(t, 0, groups) if "q_proj" in n else swap_heads(t, 1, groups) if "o_proj" in n else t for n, t in tensors.items()}
    return renaming(PLAMO_LAYERS, ("input_layernorm", "norm"))(out)


def patch_plamo(model):
    """llama.cpp's class knows only the sizes of the 13B, which has as many groups as this one."""
    shared = PLAMO["num_attention_heads"] // PLAMO["num_key_value_heads"]
    model.shuffle_attn_q_weight = lambda t: swap_heads(t, 0, shared)
    model.shuffle_attn_output_weight = lambda t: swap_heads(t, 1, shared)


# What is added to the stored weights of the norms behind blocks.
PLAMO3_BEHIND = {"post_mixer_norm": 1.0 / 5, "post_mlp_norm": 1.0 / (5**1.5)}


def round_no_bounds(model):
    """Transformers looks for `truncate` beside the types of layers, not in the parameters of one."""
    config = copy.deepcopy(model.config)
    full = config.rope_parameters[FULL]
    if full["rope_type"] == "yarn":
        config.rope_parameters = {**config.rope_parameters, "truncate": full["truncate"]}
        model.model.rotary_emb.full_attention_inv_freq.copy_(ROPE_INIT_FUNCTIONS["yarn"](config, layer_type=FULL)[0])


def shape_plamo3(model):
    """Embeddings as they are, and other offsets in the norms behind blocks."""
    round_no_bounds(model)

    def with_offset(norm, offset):
        norm.forward = lambda x: (norm._norm(x.float()) * (offset + norm.weight.float())).type_as(x)

    model.model.embed_tokens.embed_scale.fill_(1.0)
    for layer in model.model.layers:
        for norm, offset in zip((layer.post_attention_layernorm, layer.post_feedforward_layernorm), PLAMO3_BEHIND.values()):
            with_offset(norm, offset)


def hub_plamo3(tensors):
    out = stack_qkv(tensors, "mixer.qkv_proj")
    out = fused(out, lambda t: ("mlp.gate_up_proj.weight", torch.cat(t)), *(f"mlp.{x}_proj.weight" for x in ("gate", "up")))
    return renaming(
        PLAMO_LAYERS,
        (r"self_attn\.", "mixer."),
        ("input_layernorm", "pre_mixer_norm"),
        ("post_attention_layernorm", "post_mixer_norm"),
        ("pre_feedforward_layernorm", "pre_mlp_norm"),
        ("post_feedforward_layernorm", "post_mlp_norm"),
    )(out)


# Layers as (query heads of a key/value head, factor of the MLP); None: without it, MATRIX: a matrix in its place.
MATRIX = "matrix"
DECI = {**BASE, "hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 256, "num_key_value_heads": 2}
DECI_LAYERS = ((MATRIX, None), (None, 20.0), (2, None), (1, None))
DECI_MATRICES = ((1, MATRIX), (MATRIX, MATRIX))  # of MLPs: only outside GGUF
DECI_WIDTH = 256  # 2/3 · factor · hidden size, rounded up to a multiple of 256, for all of these


class Nothing(torch.nn.Module):
    def forward(self, x=None, hidden_states=None, **_):
        return torch.zeros_like(x) if x is not None else (torch.zeros_like(hidden_states), None)


class Matrix(torch.nn.Module):
    def __init__(self, name, size):
        super().__init__()
        self.name = name
        setattr(self, name, torch.nn.Linear(size, size, bias=False))

    def forward(self, x=None, hidden_states=None, **_):
        matrix = getattr(self, self.name)
        return matrix(x) if x is not None else (matrix(hidden_states), None)


def searched_layers(layers):
    def reshape(model):
        size = model.config.hidden_size
        for i, (group, factor) in enumerate(layers):
            config = copy.copy(model.config)
            config.num_key_value_heads = 2 // group if isinstance(group, int) else 2
            config.intermediate_size = DECI_WIDTH if isinstance(factor, float) else 2
            layer = type(model.model.layers[i])(config, i).eval()
            if group is None:
                layer.input_layernorm, layer.self_attn = torch.nn.Identity(), Nothing()
            if group == MATRIX:
                layer.self_attn = Matrix("linear_attn", size)
            if factor is None:
                layer.post_attention_layernorm, layer.mlp = torch.nn.Identity(), Nothing()
            if factor == MATRIX:
                layer.mlp = Matrix("linear_mlp", size)
            model.model.layers[i] = layer

    return reshape


def deci_blocks(layers):
    none = dict.fromkeys(("num_sink_tokens", "sparsify", "window_length"))

    def part(name, value):
        return {name: None if value == MATRIX else value, "no_op": value is None, "replace_with_linear": value == MATRIX}

    return lambda _: [
        {"attention": {**part("n_heads_in_group", group), "unshifted_sink": False, **none}, "ffn": {**part("ffn_mult", factor), "sparsify": None}} for group, factor in layers
    ]


SPARK_ROTATIONS = {
    "full_attention": {"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.5},
    "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 1.0},
}


def rotate_first(q, k, cos, sin, unsqueeze_dim=1):
    """Rotates as many values of a head as there are angles."""
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)

    def rotated(x):
        x, rest = x[..., : cos.shape[-1]], x[..., cos.shape[-1] :]
        a, b = x.chunk(2, -1)
        return torch.cat([x * cos + torch.cat([-b, a], -1) * sin, rest], -1)

    return rotated(q), rotated(k)


def gate_heads(model):
    """Spark X2.5 out of Qwen 2: no biases, a gate of each head, a rotation of each kind of layer."""
    import transformers.models.qwen2.modeling_qwen2 as qwen2

    qwen2.apply_rotary_pos_emb = rotate_first
    heads, size = model.config.num_attention_heads, model.config.hidden_size // model.config.num_attention_heads

    def prepare(layer, kind):
        attention, rotation = layer.self_attn, SPARK_ROTATIONS[kind]
        for name in ("q_proj", "k_proj", "v_proj"):
            setattr(attention, name, torch.nn.Linear(model.config.hidden_size, getattr(attention, name).out_features, bias=False))
        attention.g_proj = torch.nn.Linear(model.config.hidden_size, heads, bias=False)
        dimensions = int(size * rotation["partial_rotary_factor"])
        frequencies = rotation["rope_theta"] ** -(torch.arange(0, dimensions, 2).float() / dimensions)

        def rotate(_, args, kwargs):
            angles = torch.outer(torch.arange((args or [kwargs["hidden_states"]])[0].shape[1]).float(), frequencies).repeat(1, 2)[None]
            return args, {**kwargs, "position_embeddings": (angles.cos(), angles.sin())}

        def keep(_, args, kwargs):
            attention.input = (args or [kwargs["hidden_states"]])[0]

        def gate(_, args):
            return (args[0] * attention.g_proj(attention.input).sigmoid().repeat_interleave(size, -1),)

        layer.register_forward_pre_hook(rotate, with_kwargs=True)
        attention.register_forward_pre_hook(keep, with_kwargs=True)
        attention.o_proj.register_forward_pre_hook(gate)

    for layer, kind in zip(model.model.layers, model.config.layer_types):
        prepare(layer, kind)


class Twice(torch.nn.ModuleList):
    """Layers that are gone through twice, with a norm between."""

    def __getitem__(self, index):
        if not isinstance(index, slice):
            return super().__getitem__(index)
        return [*self, lambda x, *_, **__: self.between[0](x), *self]


def loop_twice(model):
    """Nanbeige out of Llama."""
    norm = model.model.norm
    model.model.layers = Twice(model.model.layers)
    model.model.layers.between = [norm]  # in a list, so that it is not a module of the layers too
    model.config.use_cache = False  # both times would write the same layer's
