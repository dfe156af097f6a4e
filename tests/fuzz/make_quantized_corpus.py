"""Writes corpus/quantized_checkpoint: the smallest quantized matrices of the checkpoints in tests/golden/quantized, each as config.json, a byte 0 and
a safetensors file."""

import json
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "golden"))
from quantized_maker import spoil  # noqa: E402

CORPUS = HERE / "corpus/quantized_checkpoint"
SEEDS = """autoround_gptq autoround_awq autoround_own_3bit awq_gemm_g32 awq_gemv_g32 awq_gemv_fast_g64 bitnet_bitlinear bnb_fp4_nested bnb_int8 bnb_nf4
ct_fp8_block ct_int8_asym_static ct_mxfp4 ct_nvfp4 ct_pack3_by_words ct_pack4_g32_asym ct_pack4_order ct_pack_every_width fp8_blocks fp8_ue8m0 gemma_4bit
gemma_embedding mlx_4bit mlx_experts mlx_mxfp8 mlx_nvfp4 modelopt_fp8 modelopt_mxfp4 quark_uint4 torchao_float8 torchao_int4 torchao_int8""".split()


def main():
    CORPUS.mkdir(parents=True, exist_ok=True)
    for name in SEEDS:
        state = spoil.read(HERE.parent / "golden/quantized" / name)
        wanted = ("k_proj", "switch_mlp.down") if "embedding" not in name else ("embed_tokens", "k_proj")
        state["tensors"] = {key: one for key, one in state["tensors"].items() if any(part in key for part in wanted)}
        state["metadata"] = {key: text for key, text in state["metadata"].items() if "k_proj" in key or key == "format"}
        assert state["tensors"] and all(math.prod(one["shape"]) for one in state["tensors"].values()), name
        (CORPUS / name).write_bytes(json.dumps(state["config"]).encode() + b"\0" + spoil.written(state))


if __name__ == "__main__":
    main()
