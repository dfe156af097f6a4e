"""The little of protobuf that tests of SentencePiece models need."""


def varint(number):
    out = b""
    while True:
        number, low = number >> 7, number & 0x7F
        out += bytes([low | (0x80 if number else 0)])
        if not number:
            return out


def field(number, value):
    """A whole number, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(message):
    """[(number, value)]"""

    def read():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    at, out = 0, []
    while at < len(message):
        key = read()
        if key & 7 == 0:
            out.append((key >> 3, read()))
        else:
            size = {1: 8, 5: 4}.get(key & 7) or read()
            out.append((key >> 3, message[at : at + size]))
            at += size
    return out


def charsmap_of(model):
    """normalizer_spec.precompiled_charsmap of a SentencePiece model."""
    return dict(fields(dict(fields(model))[3])).get(2, b"")
