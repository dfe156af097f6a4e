import numpy as np
import pytest
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize, quantize

FORMATS = ["F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "MXFP4",
           "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_XS", "TQ1_0", "TQ2_0", "NVFP4"]
SAME_PACKING = ["F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "MXFP4", "TQ1_0", "TQ2_0"]
LIMITS = {"Q2_K": 0.32, "Q3_K": 0.17, "Q4_K": 0.075, "Q5_K": 0.038, "Q6_K": 0.02, "IQ4_NL": 0.085}  # root mean square errors


@pytest.mark.parametrize("name", FORMATS)
def test_random_blocks_unpack_to_the_same_bits(oracle, name):
    kind = GGMLQuantizationType[name]
    block, size = GGML_QUANT_SIZES[kind]
    # Uniform bytes: every scale occurs, negative, denormal, infinite and NaN ones too.
    blocks = np.random.default_rng(7).integers(0, 256, (4000, size), dtype=np.uint8)
    with np.errstate(all="ignore"):
        expected = dequantize(blocks, kind).astype(np.float32).ravel()
    found = np.frombuffer(oracle("unpack", name.lower(), stdin=blocks.tobytes()), np.float32)
    assert found.size == 4000 * block
    nan = np.isnan(expected)
    assert np.array_equal(np.isnan(found), nan)
    assert np.array_equal(found.view(np.uint32)[~nan], expected.view(np.uint32)[~nan])


@pytest.mark.parametrize("name", SAME_PACKING)
def test_packing_gives_the_same_bytes(oracle, name):
    kind = GGMLQuantizationType[name]
    rng = np.random.default_rng(8)
    values = rng.standard_normal((2000, 256)).astype(np.float32)
    values *= np.exp2(rng.integers(-18, 6, (2000, 1))).astype(np.float32)
    values[0] = 0
    values[1] = 0.5
    values[2, ::2] = -values[2, 1::2]
    with np.errstate(all="ignore"):
        expected = quantize(values, kind).view(np.uint8).ravel()
    found = np.frombuffer(oracle("pack", name.lower(), stdin=values.tobytes()), np.uint8)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("name", LIMITS)
def test_our_packing_is_read_by_the_package(oracle, name):
    values = np.random.default_rng(9).standard_normal((64, 256)).astype(np.float32)
    packed = np.frombuffer(oracle("pack", name.lower(), stdin=values.tobytes()), np.uint8).reshape(64, -1)
    back = dequantize(packed, GGMLQuantizationType[name])
    error = np.sqrt(np.mean((back - values) ** 2))
    assert error < LIMITS[name]
