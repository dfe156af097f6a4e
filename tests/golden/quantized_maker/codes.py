"""Our own unpacking, in NumPy and float32: what the readers are measured against, and the packages are compared with."""

import numpy as np

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def stream(words, bits, count):
    """u32 [rows, n] -> codes [rows, count]: code i is the bits i * bits and on of a row, the lowest first; it may cross words."""
    words = np.concatenate([np.ascontiguousarray(words).view(np.uint32), np.zeros((words.shape[0], 1), np.uint32)], 1).astype(np.uint64)
    first = np.arange(count) * bits
    word, shift = first // 32, (first % 32).astype(np.uint64)
    both = words[:, word] | (words[:, word + 1] << np.uint64(32))
    return ((both >> shift) & np.uint64(2**bits - 1)).astype(np.int64)


def stream_of(codes, bits):
    """Codes [rows, n] -> u32 [rows, ceil(n * bits / 32)]."""
    rows, count = codes.shape
    all_bits = ((codes[..., None] >> np.arange(bits)) & 1).astype(np.uint8).reshape(rows, count * bits)
    all_bits = np.pad(all_bits, ((0, 0), (0, -all_bits.shape[1] % 32)))
    return np.packbits(all_bits, axis=1, bitorder="little").view("<u4")


def by_word(words, bits, count):
    """u32 [rows, n] -> codes [rows, count], 32 // bits of them in each word."""
    per_word = 32 // bits
    shifts = (np.arange(per_word) * bits).astype(np.uint32)
    codes = (np.ascontiguousarray(words).view(np.uint32)[..., None] >> shifts) & np.uint32(2**bits - 1)
    return codes.reshape(words.shape[0], -1)[:, :count].astype(np.int64)


def nibbles(octets, low_first=True):
    """u8 [..., n] -> codes [..., 2 n]."""
    parts = (octets & 15, octets >> 4)
    return np.stack(parts if low_first else parts[::-1], -1).reshape(*octets.shape[:-1], -1)


def e4m3(octets):
    """float8_e4m3fn: 1-4-3 bits, bias 7, no infinity, NaN 0x7f and 0xff."""
    octets = octets.view(np.uint8)
    exponent, mantissa = (octets >> 3) & 15, (octets & 7).astype(np.float32)
    magnitude = np.where(exponent == 0, mantissa * np.float32(2**-9), np.ldexp(1 + mantissa / 8, exponent.astype(np.int32) - 7))
    value = np.where(octets & 128, -magnitude, magnitude).astype(np.float32)
    value[(octets & 127) == 127] = np.nan
    return value


def e8m0(octets):
    """A power of two: 2^(e - 127), NaN 255."""
    octets = octets.view(np.uint8)
    value = np.ldexp(np.float32(1), octets.astype(np.int32) - 127).astype(np.float32)
    value[octets == 255] = np.nan
    return value


def e2m3(octets):
    """u8 [rows, 3 n] -> values [rows, 4 n]: four 6-bit codes 1-2-3, bias 1, in three bytes, the lowest bits first."""
    rows = octets.shape[0]
    words = octets.reshape(rows, -1, 3).astype(np.int64) @ np.array([1, 256, 65536])
    codes = ((words[..., None] >> (6 * np.arange(4))) & 63).reshape(rows, -1)
    exponent, mantissa = (codes >> 3) & 3, (codes & 7) / 8
    magnitude = np.where(exponent == 0, mantissa, np.ldexp(1 + mantissa, exponent.astype(np.int32) - 1))
    return np.where(codes & 32, -magnitude, magnitude).astype(np.float32)


def over_groups(scales, inputs):
    """[out, groups] -> [out, inputs]: each scale serves as many neighbours."""
    return np.repeat(scales, inputs // scales.shape[1], 1)


def over_blocks(scales, block, shape):
    """[ceil(out / block[0]), ceil(in / block[1])] -> [out, in]."""
    return np.repeat(np.repeat(scales, block[0], 0), block[1], 1)[: shape[0], : shape[1]]
