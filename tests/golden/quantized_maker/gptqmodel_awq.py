"""AWQ as GPTQModel 7.7.0 writes it: the tool searches scales and clips, packs and saves (make_gptqmodel.py says how to install it; its wheels want
a newer torch than the other packages: pip install --no-deps). The tensors are AutoAWQ's of gemm. config.json says quant_method awq, and
checkpoint_format and format for AutoAWQ's version; zero_point, which is false, says that the zero points are all 8: they are stored all the same. GPTQModel's other formats of AWQ need a GPU.
"""
import contextlib
import os
import shutil
import tempfile

import torch

os.environ["GPTQMODEL_CPU_WORKERS"] = "2"

from gptqmodel import GPTQModel, QuantizeConfig
from gptqmodel.quantization import FORMAT, METHOD

from quantized_maker import autoround, awq, common


def make(name):
    config = common.llama(intermediate_size=128, num_key_value_heads=4)  # its search takes rows by 64
    with tempfile.TemporaryDirectory() as base, contextlib.chdir(base):  # where it leaves a folder of logs
        common.random_model(config, torch.float16, name).save_pretrained(base)
        autoround.tokenizer().save_pretrained(base)
        settings = QuantizeConfig(bits=4, group_size=32, quant_method=METHOD.AWQ, format=FORMAT.GEMM, offload_to_disk=False)
        model = GPTQModel.load(base, settings, device="cpu", dtype=torch.float16)
        texts = [torch.randint(0, common.VOCABULARY - 2, (1, 64)) for _ in range(8)]
        model.quantize([{"input_ids": text, "attention_mask": torch.ones_like(text)} for text in texts], batch_size=1)
        folder = common.empty_folder(name)
        model.save(str(folder))
    for file in folder.iterdir():
        if file.name not in ("config.json", "model.safetensors", "quantize_config.json"):
            shutil.rmtree(file) if file.is_dir() else file.unlink()
    tensors, own, exact = common.read_tensors(folder), {}, {}
    for stem in [key.removesuffix("qweight") for key in tensors if key.endswith(".qweight")]:
        stored = {part: tensors[stem + part] for part in ("qweight", "qzeros", "scales")}
        unpack = awq.autoawq("utils.packing_utils").dequantize_gemm
        own[stem + "weight"] = unpack(stored["qweight"], stored["qzeros"], stored["scales"], 4, 32).t()
        exact[stem + "weight"] = awq.unpack_gemm({key: value.numpy() for key, value in stored.items()}, "")
    plain = {key: value for key, value in tensors.items() if not key.endswith((".qweight", ".qzeros", ".scales"))}
    common.finish(name, config, plain, own, exact)


CASES = {"gptqmodel_awq": make}
