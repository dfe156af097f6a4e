"""Writes what torch.save writes, with Python's own pickle and zipfile: torch is large and not needed to test its files.

    save({"weight": float32_array, "ids": int64_array}, path)

bfloat16 is given as BF16(array of uint16). Tensors that are the same object share a storage, as tied weights do.
"""
import collections
import io
import json
import pickle
import struct
import zipfile

import numpy as np

STORAGES = {"float32": "FloatStorage", "float16": "HalfStorage", "float64": "DoubleStorage", "int64": "LongStorage",
            "int32": "IntStorage", "int16": "ShortStorage", "int8": "CharStorage", "uint8": "ByteStorage", "bool": "BoolStorage"}


class Global:
    """A name that a pickle looks up; here nobody does."""

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __call__(self):
        raise TypeError("only a name")


REBUILD_TENSOR = Global("torch._utils", "_rebuild_tensor_v2")
REBUILD_PARAMETER = Global("torch._utils", "_rebuild_parameter")


class BF16:
    def __init__(self, bits):
        self.array = bits


class Storage:
    def __init__(self, key, kind, values):
        self.key, self.kind, self.values = key, kind, values


class Call:
    """Pickled as a call of `function`."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


class Pickler(pickle._Pickler):
    dispatch = dict(pickle._Pickler.dispatch)

    def persistent_id(self, obj):
        if isinstance(obj, Storage):
            return ("storage", Global("torch", obj.kind), obj.key, "cuda:0", obj.values.size)
        return None

    def save_name(self, obj, name=None):
        if self.proto >= 4:
            self.save(obj.module)
            self.save(obj.name)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
        self.memoize(obj)

    dispatch[Global] = save_name


def rebuilt(array, storage, parameter):
    strides = tuple(s // array.itemsize for s in array.strides)
    tensor = Call(REBUILD_TENSOR, storage, 0, array.shape, strides, False, collections.OrderedDict())
    return Call(REBUILD_PARAMETER, tensor, True, collections.OrderedDict()) if parameter else tensor


def save(tensors, path, protocol=2, parameter=False, force_zip64=True, folder="archive"):
    storages, state, made = [], collections.OrderedDict(), {}
    for name, value in tensors.items():
        if id(value) not in made:
            array = value.array if isinstance(value, BF16) else np.asarray(value)
            kind = "BFloat16Storage" if isinstance(value, BF16) else STORAGES[str(array.dtype)]
            storages.append(Storage(str(len(storages)), kind, array))
            made[id(value)] = (array, storages[-1])
        state[name] = rebuilt(*made[id(value)], parameter)
    state._metadata = collections.OrderedDict({"": {"version": 1}})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        def add(name, data):
            with archive.open(f"{folder}/{name}", "w", force_zip64=force_zip64) as file:
                file.write(data)

        add("data.pkl", dumps(state, protocol))
        add("byteorder", b"little")
        for storage in storages:
            add(f"data/{storage.key}", storage.values.tobytes(order="A"))
        add("version", b"3\n")


def dumps(obj, protocol=2):
    out = io.BytesIO()
    Pickler(out, protocol).dump(obj)
    return out.getvalue()


def from_safetensors(source, path, **how):
    """The tensors of a .safetensors file, as torch would save them."""
    raw = source.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    header.pop("__metadata__", None)
    kinds = {"F32": np.float32, "F16": np.float16, "BF16": np.uint16, "I64": np.int64, "I32": np.int32, "U8": np.uint8,
             "BOOL": np.bool_}
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        array = np.frombuffer(raw[begin:end], kinds[entry["dtype"]]).reshape(entry["shape"])
        tensors[name] = BF16(array) if entry["dtype"] == "BF16" else array
    save(tensors, path, **how)
