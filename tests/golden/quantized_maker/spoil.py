"""Recipes that spoil a folder of tests/golden/quantized: what tests/golden/quantized_bad.json holds, and how it is meant.

A recipe is {"name", "base": a folder with one model.safetensors, "edit": a list, "expect": what the message of the error must contain}. The
file is read into a list of tensors {dtype, shape, bytes} in the order of their bytes, with its metadata; the edits change it one after
another; then it is written with the tensors one behind the other in that order, and config.json beside it. An edit is an object of one key:
  {"set_config": {POINTER: VALUE...}}      config.json, by JSON pointers (RFC 6901); what stood there is replaced, a last part that is
                                           absent is added
  {"remove_config": POINTER}
  {"set_metadata": {KEY: TEXT...}}         of the file; {"remove_metadata": KEY}
  {"remove_tensor": NAME}
  {"rename_tensor": {"from", "to"}}
  {"add_tensor": {"tensor", "dtype", "shape"}}   of zero bytes, the last in the file
  {"set_bytes": {"tensor", "offset", "hex"}}     over the bytes at the offset within the tensor
  {"fill": {"tensor", "hex"}}              the bytes again and again
  {"resize": {"tensor", "shape"}}          the bytes are cut off, or filled up with zeros, at the end
  {"set_dtype": {"tensor", "dtype"}}       the bytes stay; of a type of other size the last dimension changes with it
  {"set_json": {"tensor", "values": {POINTER: VALUE...}}}   a u8 tensor that holds JSON; its shape becomes the number of bytes
  {"set_text": {"tensor", "text"}}         the same with any bytes
  {"truncate_file": {"tensor", "bytes"}}   the last edit: the written file ends so many bytes after the beginning of the tensor
"""

import json
import math
import struct

BYTES = {"BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E8M0": 1, "F16": 2, "BF16": 2, "I16": 2, "U32": 4, "I32": 4, "F32": 4, "I64": 8}


def read(folder):
    raw = (folder / "model.safetensors").read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, one in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = (8 + length + offset for offset in one["data_offsets"])
        tensors[name] = {"dtype": one["dtype"], "shape": one["shape"], "bytes": raw[begin:end]}
    return {"config": json.loads((folder / "config.json").read_text()), "metadata": metadata, "tensors": tensors, "end": None}


def place(document, pointer):
    """The container and the last key of a JSON pointer."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    for part in parts[:-1]:
        document = document[int(part)] if isinstance(document, list) else document[part]
    return document, int(parts[-1]) if isinstance(document, list) else parts[-1]


def set_values(document, values):
    for pointer, value in values.items():
        container, key = place(document, pointer)
        container[key] = value


def resized(one, shape):
    size = math.prod(shape) * BYTES[one["dtype"]]
    return one | {"shape": shape, "bytes": one["bytes"][:size].ljust(size, b"\0")}


def apply(state, edit):
    ((kind, what),) = edit.items()
    tensors = state["tensors"]
    if kind == "set_config":
        set_values(state["config"], what)
    elif kind == "remove_config":
        container, key = place(state["config"], what)
        del container[key]
    elif kind == "set_metadata":
        state["metadata"] |= what
    elif kind == "remove_metadata":
        del state["metadata"][what]
    elif kind == "remove_tensor":
        del tensors[what]
    elif kind == "rename_tensor":
        state["tensors"] = {what["to"] if name == what["from"] else name: one for name, one in tensors.items()}
    elif kind == "add_tensor":
        tensors[what["tensor"]] = resized({"dtype": what["dtype"], "bytes": b""}, what["shape"])
    elif kind == "truncate_file":
        state["end"] = (what["tensor"], what["bytes"])
    else:
        tensors[what["tensor"]] = changed(tensors[what["tensor"]], kind, what)


def changed(one, kind, what):
    raw = one["bytes"]
    if kind == "set_bytes":
        new, offset = bytes.fromhex(what["hex"]), what["offset"]
        assert offset + len(new) <= len(raw)
        return one | {"bytes": raw[:offset] + new + raw[offset + len(new) :]}
    if kind == "fill":
        new = bytes.fromhex(what["hex"])
        assert len(raw) % len(new) == 0
        return one | {"bytes": new * (len(raw) // len(new))}
    if kind == "resize":
        return resized(one, what["shape"])
    if kind == "set_dtype":
        wide, shape = BYTES[what["dtype"]], one["shape"]
        return one | {
            "dtype": what["dtype"],
            "shape": shape if wide == BYTES[one["dtype"]] else shape[:-1] + [shape[-1] * BYTES[one["dtype"]] // wide],
        }
    if kind == "set_json":
        document = json.loads(raw)
        set_values(document, what["values"])
        what = {"text": json.dumps(document)}
    elif kind != "set_text":
        raise ValueError(kind)
    text = what["text"].encode()
    return one | {"shape": [len(text)], "bytes": text}


def written(state):
    """The bytes of model.safetensors."""
    header, data, begins = {}, b"", {}
    if state["metadata"]:
        header["__metadata__"] = state["metadata"]
    for name, one in state["tensors"].items():
        assert math.prod(one["shape"]) * BYTES[one["dtype"]] == len(one["bytes"]), name
        begins[name] = len(data)
        header[name] = {"dtype": one["dtype"], "shape": one["shape"], "data_offsets": [len(data), len(data) + len(one["bytes"])]}
        data += one["bytes"]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    whole = struct.pack("<Q", len(text)) + text + data
    return whole if state["end"] is None else whole[: 8 + len(text) + begins[state["end"][0]] + state["end"][1]]


def spoilt(folder, recipe):
    """config.json as an object, and the bytes of model.safetensors."""
    state = read(folder)
    assert written(read(folder))[-64:] == (folder / "model.safetensors").read_bytes()[-64:], "what is not changed stays"
    for edit in recipe["edit"]:
        apply(state, edit)
    return state["config"], written(state)
