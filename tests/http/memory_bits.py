"""Changes a bit of a weight in the memory of a running process, as bad memory does: finds it by what the file of packed weights has of it."""
import json
import pathlib
import struct

FOOTER = struct.Struct("<QQQ8s")


def weights_of(packed):
    """{name: (offset, bytes)} of a file of packed weights."""
    data = pathlib.Path(packed).read_bytes()
    first, length, _, _ = FOOTER.unpack(data[-FOOTER.size:])
    return {entry["name"]: (entry["offset"], entry["bytes"]) for entry in json.loads(data[first:first + length])}


def regions(process):
    """What the process may write and no file has."""
    for line in pathlib.Path(f"/proc/{process}/maps").read_text().splitlines():
        fields = line.split()
        if fields[1].startswith("rw") and fields[4] == "0":
            first, end = (int(part, 16) for part in fields[0].split("-"))
            if end - first >= 1 << 20:
                yield first, end


def flip_bit(process, packed, weight, at):
    """A bit of the byte `at` of the weight (negative: from its end). False: the process has no such weight as that file."""
    offset, length = weights_of(packed)[weight]
    at += length if at < 0 else 0
    with open(packed, "rb") as file:
        file.seek(offset + at)
        sample = file.read(min(256, length - at))
    with open(f"/proc/{process}/mem", "r+b", buffering=0) as memory:
        for first, end in regions(process):
            memory.seek(first)
            try:
                found = memory.read(end - first).find(sample)
            except OSError:  # not all of it is there
                continue
            if found < 0:
                continue
            memory.seek(first + found)
            memory.write(bytes([sample[0] ^ 1]))
            return True
    return False


def damage_file(packed, weight):
    offset, length = weights_of(packed)[weight]
    with open(packed, "r+b") as file:
        file.seek(offset + length // 2)
        byte = file.read(1)[0]
        file.seek(-1, 1)
        file.write(bytes([byte ^ 16]))
