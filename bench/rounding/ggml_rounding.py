"""llama.cpp's own rounding, by its library ggml-base: what `llama-quantize --pure` writes for each tensor."""
import ctypes
import pathlib

import gguf
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Where columns are no whole blocks of 256.
INSTEAD = {"q6_k": "q8_0", "q5_k": "q5_1", "q4_k": "q5_0"}


def find_library():
    """Where bench/peers/setup llama.cpp puts it."""
    found = sorted((ROOT / "build/peers/llama.cpp").glob("**/libggml-base.so"))
    if not found:
        raise SystemExit("no libggml-base.so under build/peers/llama.cpp: run bench/peers/setup llama.cpp, or name one with --ggml")
    return found[0]


class Ggml:
    def __init__(self, library):
        self.quantize_chunk = ctypes.CDLL(str(library)).ggml_quantize_chunk
        self.quantize_chunk.restype = ctypes.c_size_t

    def pack(self, name, values, importance=None):
        """Rows of f32 -> the blocks of a type, as bytes, and the type. Importance: [columns] f32 or None."""
        if values.shape[-1] % 256 != 0:
            name = INSTEAD.get(name, name)
        kind = gguf.GGMLQuantizationType[name.upper()]
        block_values, block_bytes = gguf.GGML_QUANT_SIZES[kind]
        rows, columns = values.shape
        values = np.ascontiguousarray(values, np.float32)
        out = np.empty((rows, columns // block_values * block_bytes), np.uint8)
        weights = None if importance is None else np.ascontiguousarray(importance, np.float32).ctypes.data_as(ctypes.c_void_p)
        written = self.quantize_chunk(int(kind), values.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p),
                                      ctypes.c_int64(0), ctypes.c_int64(rows), ctypes.c_int64(columns), weights)
        assert written == out.size, (name, written, out.size)
        return out, kind
