"""Writes the seed files of corpus/rank_command but those that src/model/ranks/rank_messages_test.cc writes: what ranks say when they meet."""
import pathlib
import struct

FOLDER = pathlib.Path(__file__).parent / "corpus" / "rank_command"


def text(value):
    return struct.pack("<Q", len(value)) + value


def file_of(kind, *messages):
    return kind + b"".join(struct.pack("<I", len(message)) + message for message in messages)


# RankAnswer (src/runtime/rank_meeting.cc): keys of weights, all bytes, computation, build, precision, pages; bytes read; of weights: packed, of each step, of experts; ms.
LOADED = struct.pack("<8Q3d", 1, 0, 0, 0, 0, 0, 500, 1000, 900.0, 0.0, 3.5)
MET = {"loaded": LOADED + struct.pack("<i", 8) + text(b"") + text(b""),
       "not_loaded": struct.pack("<8Q3d", *8 * [0], 0, 0, 0) + struct.pack("<i", 2) + text(b"model") + text(b"m.gguf: No such file"),
       "other_bytes": struct.pack("<8Q3d", 1, 7, *6 * [0], 0, 0, 0) + struct.pack("<i", 8) + text(b"") + text(b"")}
# MpiHello (src/comm/transports/mpi_hello.h).
HELLOS = [struct.pack("<Qii", 0x3169706d726c6c6d, 1, process) + text(host) + text(b"5c1b") + struct.pack("<Q", 4026531836)
          for process, host in ((11, b"a"), (12, b"b"))]

FOLDER.mkdir(parents=True, exist_ok=True)
for name, message in MET.items():
    (FOLDER / name).write_bytes(file_of(b"m", message))
(FOLDER / "hellos").write_bytes(file_of(b"h", *HELLOS))
