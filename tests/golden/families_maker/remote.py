"""Families whose code comes with the model, so that Transformers has no class of them: another one with the same mathematics stands in, and its tensors
and configuration are spelled as the files on the hub are (stand_ins.py)."""

from .family import Family
from .shared import BASE, FULL, LAYER, LLAMA3, SLIDING, theta
from .stand_ins import (
    DECI,
    DECI_LAYERS,
    DECI_MATRICES,
    EXAONE_NAMES,
    FULL_HEADS,
    PLAMO,
    PLAMO3_BEHIND,
    SMALL,
    SPARK_ROTATIONS,
    base_of,
    config_file,
    deci_blocks,
    gate_heads,
    hub_chatglm,
    hub_codeshell,
    hub_internlm2,
    hub_jais,
    hub_maincoder,
    hub_plamo,
    hub_plamo3,
    hub_qwen,
    hub_refact,
    loop_twice,
    patch_baichuan,
    patch_plamo,
    renaming,
    run_behind_one_norm,
    searched_layers,
    shape_plamo3,
    stack_qkv,
    use_alibi,
    use_layer_norms,
    use_unit_head,
)

MINICPM = {**SMALL, "num_hidden_layers": 2, "embedding_multiplier": 6.0, "attention_multiplier": 8**-0.5, "tie_word_embeddings": True}
MINICPM |= {"residual_multiplier": 0.9 / 2**0.5, "logits_scaling": 48 / 32}
MINICPM_FIELDS = dict(scale_emb=6.0, scale_depth=0.9, dim_model_base=32)
MINICPM_FACTORS = dict(short_factor=[1.0, 1.25, 1.5, 2.5], long_factor=[1.5, 2.0, 4.0, 7.0])


def deci(layers, rope, gguf="", inert={}, **remote):
    return Family(
        "Llama",
        {**DECI, "num_hidden_layers": len(layers), "rope_parameters": rope, "max_position_embeddings": 128},
        reshape=searched_layers(layers),
        remote_config=config_file(
            "DeciLMForCausalLM",
            "nemotron-nas",
            omit=("num_key_value_heads", "intermediate_size"),
            num_key_value_heads=None,
            intermediate_size=None,
            block_configs=deci_blocks(layers),
            rope_theta=base_of,
            **remote,
        ),
        # Where the converter looks for it, else 8192.
        gguf_fields={"original_max_position_embeddings": 64},
        gguf=gguf,
        inert=inert,
    )


PLAMO3 = {**BASE, "head_dim": 8, "hidden_size": 24, "intermediate_size": 20, "num_attention_heads": 4, "num_key_value_heads": 2}
PLAMO3 |= {"hidden_activation": "silu", "query_pre_attn_scalar": 8, "tie_word_embeddings": True}
PLAMO3_REST = dict(
    reshape=shape_plamo3,
    hub_tensors=hub_plamo3,
    plus_one=r"norm\.weight$",
    gguf_plus=PLAMO3_BEHIND,
    spread=[("[qk]_norm", 1.0, 0.4), ("embed_tokens", 0.0, 0.3)],
    inert={"attention_bias": "shapes", "use_bidirectional_attention": "encoders only"},
)


def plamo3_file(**more):
    return config_file(
        "Plamo3ForCausalLM",
        "plamo3",
        omit=("hidden_act",),
        head_dim=8,
        window_size=9,
        rope_theta=lambda c: c["rope_parameters"][FULL]["rope_theta"],
        rope_local_theta=lambda c: c["rope_parameters"][SLIDING]["rope_theta"],
        tokenizer_class="Plamo3Tokenizer",
        **more,
    )


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
    "deci": deci(DECI_LAYERS, LLAMA3, rope_scaling=lambda c: {k: v for k, v in c["rope_parameters"].items() if k != "rope_theta"}),
    "deci_matrices": deci(DECI_MATRICES, theta(10000.0)["rope_parameters"], gguf="its converter knows no matrices in place of MLPs", inert={"hidden_act|mlp_bias": "no layer has an MLP"}),
    "jais": Family(
        "Granite",
        {
            **FULL_HEADS,
            **theta(10000.0),
            "attention_bias": True,
            "mlp_bias": True,
            "intermediate_size": 37,  # of 1.3B and 13B it is odd
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
    "plamo": Family(
        "Llama",
        {**PLAMO, **theta(10000.0)},
        reshape=run_behind_one_norm,
        hub_tensors=hub_plamo,
        remote_config=config_file(
            "PlamoForCausalLM", "plamo", omit=("hidden_act",), n_shared_head=2, num_key_value_heads=10, tokenizer_class="PlamoTokenizer"
        ),
        gguf_patch=patch_plamo,
    ),
    # YaRN of pairs that are kept, between, and stretched, whose bounds are no integers.
    "plamo3": Family(
        "Gemma3Text",
        {
            **PLAMO3,
            "num_hidden_layers": 4,
            "max_position_embeddings": 2048,
            "sliding_window": 9,
            "layer_types": [SLIDING, SLIDING, FULL, SLIDING],
            "rope_parameters": {
                SLIDING: {"rope_type": "default", "rope_theta": 10000.0},
                FULL: {"rope_type": "yarn", "rope_theta": 100.0, "factor": 4.0, "original_max_position_embeddings": 512, "truncate": False},
            },
        },
        remote_config=plamo3_file(sliding_window_pattern=3, rope_scaling_factor=4, initial_context_length=512, scale_embedding=False),
        **PLAMO3_REST,
    ),
    # The files of 2025: their code counts a token beside those of its window.
    "plamo3_2025": Family(
        "Gemma3Text",
        {
            **PLAMO3,
            "num_hidden_layers": 2,
            "sliding_window": 10,
            "layer_types": [SLIDING, FULL],
            "rope_parameters": {
                SLIDING: {"rope_type": "default", "rope_theta": 10000.0},
                FULL: {"rope_type": "default", "rope_theta": 1000000.0},
            },
        },
        remote_config=plamo3_file(sliding_window_pattern=2, interleaved_sliding_window=[9, None]),
        gguf="its window is a token shorter there",
        **PLAMO3_REST,
    ),
    "spark2_5": Family(
        "Qwen2",
        {
            **SMALL,
            **theta(10000.0),
            "hidden_size": 24,
            "num_attention_heads": 3,
            "num_key_value_heads": 1,
            "num_hidden_layers": 3,
            "hidden_act": "gelu",
            "layer_types": [SLIDING, SLIDING, FULL],
            "sliding_window": 9,
            "use_sliding_window": True,
        },
        reshape=gate_heads,
        hub_tensors=lambda tensors: stack_qkv(tensors, "self_attn.q_k_v_proj"),
        inert={"max_window_layers|use_sliding": "not of this family", "rope_parameters": "each kind of layer has its own"},
        remote_config=config_file(
            "Spark2_5ForCausalLM",
            "spark2_5",
            gate_attn_act_mode="sigmoid",
            head_dim=8,
            headwise_attn_output_gate=True,
            layer_types=[SLIDING, SLIDING, FULL],
            rope_parameters=SPARK_ROTATIONS,
            sliding_window=lambda c: c["sliding_window"],
        ),
    ),
    "nanbeige": Family(
        "Llama",
        {**SMALL, **theta(10000.0), "hidden_size": 24, "num_attention_heads": 3, "num_key_value_heads": 1},
        reshape=loop_twice,
        remote_config=config_file("NanbeigeForCausalLM", "nanbeige", num_loops=2, rope_theta=base_of, skip_loop_final_norm=False),
    ),
}
