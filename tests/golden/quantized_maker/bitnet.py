"""BitNet (arXiv:2402.17764) as Transformers 5.24 reads it: quant_method bitnet, packed by its pack_weights. Models in bfloat16.

  NAME.weight        u8 [out / 4, in]: bits 2 i and 2 i + 1 of row r are row i * out / 4 + r, stored as value + 1 with values -1, 0, 1
  NAME.weight_scale  [1], of the model's type
linear_class bitlinear (also where it is not said; Llama3-8B-1.58): w = value / weight_scale. autobitlinear with quantization_mode offline
(Microsoft's 2B-4T): w = value * weight_scale. autobitlinear, online: plain matrices, rounded at each step to value * mean(|w|); no case
here. Both round activations to 8 bits a token, which the twin does not. use_rms_norm adds NAME.rms_norm.weight [in], applied to the input
first; no case here.
"""

import torch
from transformers import AutoModelForCausalLM, BitNetConfig
from transformers.integrations.bitnet import pack_weights, unpack_weights

from quantized_maker import common

torch.compiler.set_stance("force_eager")


def exact_values(packed, scale, divides):
    octets, scale = packed.numpy(), scale.float().numpy()
    values = torch.cat([torch.from_numpy((octets >> (2 * plane)) & 3) for plane in range(4)]).numpy().astype("f4") - 1
    return values / scale if divides else values * scale


def make(name, config, linear_class, ignored=("lm_head",)):
    state, own, exact = common.state_of(common.random_model(config, torch.bfloat16, name)), {}, {}
    for key in common.quantized_linears(state, ignored):
        mean = state[key].float().abs().mean().reshape(1)
        ternary = (state[key].float() / mean).round().clamp(-1, 1)
        divides = linear_class == "bitlinear"
        scale = (1 / mean if divides else mean).to(torch.bfloat16)
        packed = pack_weights(ternary.clone())
        unpacked = unpack_weights(packed, torch.float32)
        assert torch.equal(unpacked, ternary)
        own[key] = unpacked / scale.float() if divides else unpacked * scale.float()
        exact[key] = exact_values(packed, scale, divides)
        state |= {key: packed, key + "_scale": scale}
    settings = {"quant_method": "bitnet", "modules_to_not_convert": list(ignored) if len(ignored) > 1 else None}
    if not divides:
        settings |= {"linear_class": linear_class, "quantization_mode": "offline"}
    loaded = AutoModelForCausalLM.from_pretrained(common.save(name, config, settings, state), dtype=torch.bfloat16)

    def answers(tokens):
        with torch.inference_mode():
            return loaded(tokens[None]).logits[0]

    plain = {key: value for key, value in state.items() if key not in own and not key.endswith("_scale")}
    common.finish(name, config, plain, own, exact, own_logits=answers, tolerance=0.5)


def bitnet_config():
    same = {key: value for key, value in common.SMALL.items() if key != "head_dim"}
    return BitNetConfig(**same | dict(hidden_act="relu2", tie_word_embeddings=True))


CASES = {
    "bitnet_bitlinear": lambda name: make(name, common.llama(), "bitlinear", ["lm_head", "down_proj"]),
    "bitnet_autobitlinear": lambda name: make(name, bitnet_config(), "autobitlinear"),
}
