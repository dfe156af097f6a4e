"""Proves that each term of a family is visible in its logits: every tensor made neutral and every field of the configuration changed must move a
logit by more than 1 % of the largest. What moves nothing is tested by nothing, and must be named, with the reason, in Family.inert."""

import copy
import re

import torch

from .weights import NOT_TEXT

LIMIT = 1e-2
# erf and tanh in a gelu differ by 5e-4 at most: less can be asked of them, but more than the golden tests' bound of 1e-4.
GELU_LIMIT = 1.5e-4
# Shapes, identities and things of training: another value of these is another checkpoint or the same logits.
NOT_TERMS = re.compile(
    r"_sliding_window_pattern|vocab_size|hidden_size|intermediate_size|num_hidden_layers|num_attention_heads|num_key_value_heads|head_dim|n_embd|n_layer|n_head|n_inner|n_positions|"
    r".*_token_id|.*token_index|.*dropout.*|.*pdrop|initializer.*|use_cache|dtype|architectures|model_type|_name_or_path|return_dict|output_.*|chunk_size_.*|"
    r"is_encoder_decoder|id2label|label2id|problem_type|transformers_version|tie_word_embeddings|max_position_embeddings|pretraining_tp|vision_config|rope_type|type|"
    r"_attn_implementation.*|torch_dtype|eod_token_id|is_decoder|add_cross_attention|.*_hidden_states|bos|eos|d_model|embed_dim|hidden_dim|ffn_dim|word_embed_proj_dim|"
    r"num_layers|num_heads|n_ctx|summary_.*|init_.*|layerdrop|num_kv_heads|ffn_hidden_size|expansion_ratio|max_seq_len|vision.*|projector_.*|image.*|video.*|mm_.*|"
    r"scale_attention_softmax_in_fp32|attention_softmax_in_fp32|task_specific_params|tokenizer_class|logits_scaling_factor|d_ff|attention_heads|use_return_dict|"
    r"router_aux_loss.*|slow_but_exact|scale_attn_by_inverse_layer_idx|classifier.*|embd_.*|spatial_merge_size|multimodal_.*"
)
ACTIVATIONS = ("hidden_act", "hidden_activation", "activation_function", "activation")


def is_visible(term, change, movement):
    other_gelu = term.rsplit(".", 1)[-1] in ACTIVATIONS and change.startswith("gelu")
    return movement > (GELU_LIMIT if other_gelu else LIMIT)


def alternatives(field, value):
    """Other values for a field; each must show."""
    if field in ACTIVATIONS:
        return ["gelu_new" if value == "gelu" else "gelu", "relu" if value != "relu" else "silu"]
    if field in ("sliding_window", "window_size", "attention_chunk_size") and value:
        return [value + 1, value - 1]
    if field == "rope_theta":
        return [1e4 if value > 1e5 else value * 10]
    if field == "partial_rotary_factor":
        return [0.5 if value > 0.5 else 0.25]
    if field == "rotary_dim":
        return [value // 2]
    if field == "original_max_position_embeddings":
        return [value // 4]
    if "eps" in field and value is not None:
        return [1e-6 if value > 1e-4 else 0.0625]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, (int, float)):
        return [value * 2 if isinstance(value, int) else value * 1.5]
    if isinstance(value, list) and value and any(v != value[0] for v in value):
        return [value[1:] + value[:1]]
    return []


def changes(config, path=()):
    """(label, path, other value) of each term in a configuration."""
    for field, value in config.items():
        if isinstance(value, dict) and not NOT_TERMS.fullmatch(field):
            yield from changes(value, path + (field,))
        elif not NOT_TERMS.fullmatch(field):
            for other in alternatives(field, value):
                yield ".".join(path + (field,)), path + (field,), other


def changed(config, path, value):
    out = copy.deepcopy(config)
    at = out
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return out


def neutral(name, tensor):
    """What stands for a term that an engine forgot: no bias, the norm's mean instead of its channels, no matrix."""
    if tensor.ndim <= 1 and tensor.numel() > 1 and not re.search(r"bias|sinks", name.rsplit(".", 1)[-1]):
        return torch.full_like(tensor, tensor.mean())
    return torch.zeros_like(tensor)


def moved(now, before):
    return max(float((a - b).abs().max() / b.abs().max()) for a, b in zip(now, before))


def rows(build, config, model, tensors, prompts, logits_of, more):
    """(term, change, movement of the logits) of every tensor and every field. `build` makes a model of a changed configuration with the same tensors."""
    before = logits_of(model, prompts)
    for name, p in tensors.items():
        if re.search(NOT_TEXT, name):
            continue
        kept = p.detach().clone()
        with torch.no_grad():
            p.copy_(neutral(name, p))
            yield name, "neutral", moved(logits_of(model, prompts), before)
            p.copy_(kept)
    listed = [(label, path, other) for label, path, other in changes(config)]
    for label, path, other in listed:
        try:
            movement = moved(logits_of(build(changed(config, path, other)), prompts), before)
        except Exception as error:  # another shape, or a value that the class refuses: no silent difference is possible
            yield label, f"{other}: refused: {str(error).splitlines()[0][:60]}", None
            continue
        yield label, str(other), movement
    for label, fields in more.items():
        yield label, "given", moved(logits_of(build({**copy.deepcopy(config), **fields}), prompts), before)
