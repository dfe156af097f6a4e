"""The classics of 2020 to 2023."""

from .family import Family
from .shared import NO_LLAMA, TIE, theta
from .spelling import old

BLIND = "softmax is blind to a bias of the keys without rope"
GPT2 = dict(vocab_size=47, n_embd=24, n_layer=2, n_head=3, n_positions=64, n_inner=40, layer_norm_epsilon=0.03125, bos_token_id=1, eos_token_id=2)
NEOX = dict(
    vocab_size=47,
    hidden_size=24,
    intermediate_size=40,
    num_hidden_layers=2,
    num_attention_heads=3,
    max_position_embeddings=64,
    layer_norm_eps=0.03125,
    bos_token_id=1,
    eos_token_id=2,
    **theta(10000.0, partial_rotary_factor=0.5)
)
OPT = dict(
    vocab_size=47,
    hidden_size=24,
    ffn_dim=40,
    num_hidden_layers=2,
    num_attention_heads=3,
    max_position_embeddings=64,
    pad_token_id=1,
    bos_token_id=2,
    eos_token_id=2,
)
MPT = dict(d_model=24, n_heads=6, n_layers=2, expansion_ratio=4, max_seq_len=64, vocab_size=47)
MPT_INERT = {
    "alibi": "Transformers always adds it, with a maximum of 8",
    "learned_pos_emb|no_bias|embedding_fraction|attn_config.(prefix_lm|qk_ln|attn_uses|attn_pdrop)": "not read",
}
FALCON = dict(
    vocab_size=47,
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=3,
    layer_norm_epsilon=0.03125,
    bos_token_id=2,
    eos_token_id=2,
    max_position_embeddings=64,
)
UNSAID = dict(hub_differs=("max_position_embeddings", "num_ln_in_parallel_attn"))


def hub_neox(c):
    out = old(c, omit=("rope_scaling", "attention_dropout", "hidden_dropout", "attention_bias", "is_decoder"))
    out["rotary_emb_base"], out["rotary_pct"] = int(out.pop("rope_theta")), out.pop("partial_rotary_factor")
    return out


def hub_mpt(c):
    return old(
        c,
        omit=("layer_norm_epsilon", *TIE),
        architectures=["MPTForCausalLM"],
        attn_config=dict(
            alibi=True,
            alibi_bias_max=8,
            attn_impl="torch",
            attn_pdrop=0,
            attn_type="multihead_attention",
            attn_uses_sequence_id=False,
            clip_qkv=c["attn_config"].get("clip_qkv"),
            prefix_lm=False,
            qk_ln=False,
            softmax_scale=c["attn_config"].get("softmax_scale"),
        ),
    )


FAMILIES = {
    # The converter writes 4·H as the width of the MLP.
    "gpt_bigcode": Family(
        "GPTBigCode",
        dict(vocab_size=47, n_embd=24, n_layer=2, n_head=3, n_positions=64, layer_norm_epsilon=0.03125, bos_token_id=1, eos_token_id=2),
        hub=lambda c: old(c, omit=("tie_word_embeddings", "num_key_value_heads"), inference_runner=0, validate_runner_input=True),
    ),
    "gptj": Family(
        "GPTJ",
        {**GPT2, "rotary_dim": 4},
        spread=[("fc_out.weight", 0.0, 0.5)],
        gguf=NO_LLAMA,
        hub=lambda c: old(c, gradient_checkpointing=False, rotary=True, scale_attn_weights=True),
    ),
    "codegen": Family("CodeGen", {**GPT2, "n_head": 4, "rotary_dim": 4}, gguf=NO_LLAMA, hub=lambda c: old(c, scale_attn_weights=True)),
    "gpt_neox": Family("GPTNeoX", NEOX, hub=hub_neox, spread=[("dense_4h_to_h.weight", 0.0, 0.5)], gguf_fields={"rotary_pct": 0.5}),
    "gpt_neox_sequential": Family("GPTNeoX", {**NEOX, "use_parallel_residual": False}, hub=hub_neox, gguf_fields={"rotary_pct": 0.5}),
    "gpt_neo": Family(
        "GPTNeo",
        dict(
            vocab_size=47,
            hidden_size=24,
            intermediate_size=40,
            num_layers=2,
            num_heads=3,
            max_position_embeddings=64,
            attention_types=[[["global", "local"], 1]],
            window_size=9,
            layer_norm_epsilon=0.03125,
            bos_token_id=1,
            eos_token_id=2,
        ),
        gguf=NO_LLAMA,
        hub=lambda c: old(c, omit=TIE, gradient_checkpointing=False),
    ),
    "opt": Family(
        "OPT",
        OPT,
        inert={r"k_proj\.bias": BLIND, "_remove_final": "a shape"},
        gguf=NO_LLAMA,
        hub=lambda c: old(c, omit=(*TIE, "enable_bias", "layer_norm_elementwise_affine"), prefix="</s>"),
    ),
    "opt_350m": Family(
        "OPT",
        {**OPT, "do_layer_norm_before": False, "word_embed_proj_dim": 16},
        inert={r"k_proj\.bias": BLIND, "_remove_final": "post norm has none"},
        gguf=NO_LLAMA,
        hub=lambda c: old(c, omit=(*TIE, "enable_bias", "layer_norm_elementwise_affine"), prefix="</s>"),
    ),
    # The files of the hub have no "transformer." before their names. The context of the GGUF is the hidden size if seq_length is left out.
    "bloom": Family(
        "Bloom",
        dict(vocab_size=47, hidden_size=24, n_layer=2, n_head=6, layer_norm_epsilon=0.03125, bos_token_id=1, eos_token_id=2),
        hub=lambda c: old(
            c, omit=TIE, n_inner=None, seq_length=64, offset_alibi=100, unk_token_id=0, attention_softmax_in_fp32=True, masked_softmax_fusion=True
        ),
        hub_names=lambda name: name.removeprefix("transformer."),
    ),
    "mpt": Family("Mpt", {**MPT, "attn_config": dict(clip_qkv=1.0)}, inert=MPT_INERT, hub=hub_mpt),
    "mpt_scale": Family("Mpt", {**MPT, "attn_config": dict(softmax_scale=0.25)}, inert=MPT_INERT, hub=hub_mpt, gguf="it cannot say the scale"),
    # One K/V head whatever num_kv_heads says; the converter has to be told.
    "falcon": Family(
        "Falcon",
        FALCON,
        **UNSAID,
        inert={"num_kv_heads": "multi_query"},
        gguf_fields={"num_kv_heads": 1},
        hub=lambda c: old(
            c,
            omit=(
                "num_kv_heads",
                "rope_scaling",
                "rope_theta",
                "ffn_hidden_size",
                "activation",
                "max_position_embeddings",
                "num_ln_in_parallel_attn",
                *TIE,
            ),
            apply_residual_connection_post_layernorm=False,
        )
    ),
    "falcon_new": Family(
        "Falcon",
        {**FALCON, "num_attention_heads": 6, "num_kv_heads": 2, "new_decoder_architecture": True},
        **UNSAID,
        spread=[("dense_4h_to_h.weight", 0.0, 0.45)],
        inert={"multi_query|parallel_attn": "the new architecture"},
        hub=lambda c: old(
            c, omit=("rope_scaling", "rope_theta", "ffn_hidden_size", "activation", "max_position_embeddings", "num_ln_in_parallel_attn", *TIE)
        )
    ),
    "falcon_11b": Family(
        "Falcon",
        {**FALCON, "num_attention_heads": 6, "num_kv_heads": 2, "new_decoder_architecture": True, "num_ln_in_parallel_attn": 1},
        gguf="llama.cpp takes one norm for the 7B",
        inert={"multi_query|parallel_attn": "the new architecture"},
        hub=lambda c: old(c, omit=("rope_scaling", "activation")),
    ),
    # Transformers 5.24 adds the slopes twice in its eager attention (once in the mask), and once in the other, as 4 did in both.
    "falcon_rw": Family(
        "Falcon",
        {**FALCON, "num_attention_heads": 6, "num_kv_heads": 6, "multi_query": False, "parallel_attn": False, "bias": True, "alibi": True},
        **UNSAID,
        attention="sdpa",
        inert={"rope": "alibi", "num_kv_heads": "not read"},
        gguf="llama.cpp has no slopes for it",
        hub=lambda c: old(
            c,
            omit=(
                "num_kv_heads",
                "rope_scaling",
                "rope_theta",
                "ffn_hidden_size",
                "activation",
                "max_position_embeddings",
                "num_ln_in_parallel_attn",
                *TIE,
            ),
        )
    ),
    "persimmon": Family("Persimmon", {**NEOX, **theta(10000.0, partial_rotary_factor=0.75)}, gguf=NO_LLAMA, hub=lambda c: old(c)),
    "xglm": Family(
        "XGLM",
        dict(
            vocab_size=47,
            d_model=24,
            ffn_dim=40,
            num_layers=2,
            attention_heads=3,
            max_position_embeddings=64,
            pad_token_id=1,
            bos_token_id=0,
            eos_token_id=2,
        ),
        spread=[("fc2.weight", 0.0, 0.8), ("embed_tokens", 0.0, 0.3)],
        inert={r"k_proj\.bias": BLIND},
        gguf=NO_LLAMA,
        hub=lambda c: old(c, omit=TIE),
    ),
    "gpt_neox_japanese": Family(
        "GPTNeoXJapanese",
        {**{k: v for k, v in NEOX.items() if k != "intermediate_size"}, "intermediate_multiple_size": 2},
        gguf=NO_LLAMA,
        hub=hub_neox,
    ),
    "biogpt": Family(
        "BioGpt",
        dict(
            vocab_size=47,
            hidden_size=24,
            intermediate_size=40,
            num_hidden_layers=2,
            num_attention_heads=3,
            max_position_embeddings=64,
            layer_norm_eps=0.03125,
            pad_token_id=1,
            bos_token_id=0,
            eos_token_id=2,
        ),
        spread=[("fc2.weight", 0.0, 0.4), ("embed_tokens", 0.0, 0.3)],
        inert={r"k_proj\.bias": BLIND, "layer_norm_eps": "the class takes 1e-5"},
        gguf=NO_LLAMA,
        hub=lambda c: old(c, omit=TIE),
    ),
}
