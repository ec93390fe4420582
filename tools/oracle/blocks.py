"""The GGUF tensor types that Tenon reads, decoded from their documented layouts (include/tenon/dtype.h)."""

import numpy as np

# GGUF type number -> (name, elements of a block, bytes of a block)
TYPES = {
    0: ("f32", 1, 4),
    1: ("f16", 1, 2),
    2: ("q4_0", 32, 18),
    3: ("q4_1", 32, 20),
    8: ("q8_0", 32, 34),
    30: ("bf16", 1, 2),
}
NUMBERS = {name: number for number, (name, _, _) in TYPES.items()}


def _half(blocks, at):
    """The f16 at byte `at` of each block: [blocks, 1] f64."""
    return np.ascontiguousarray(blocks[:, at:at + 2]).view("<f2").astype(np.float64)


def _nibbles(packed):
    """16 bytes a block: the low nibbles are elements 0..15, the high ones 16..31."""
    return np.concatenate([packed & 15, packed >> 4], axis=1).astype(np.float64)


def decode(raw, number, count):
    """`count` elements of GGUF type `number` from the bytes `raw`, as float64 of their f32 values: [count]."""
    if number not in TYPES:
        raise ValueError(f"tensor type {number} is not one of {sorted(NUMBERS)}")
    name, elements, size = TYPES[number]
    raw = np.frombuffer(raw, dtype=np.uint8)
    if count % elements or raw.size != count // elements * size:
        raise ValueError(f"{raw.size} bytes do not hold {count} elements of {name}")
    if name == "f32":
        return raw.view("<f4").astype(np.float64)
    if name == "f16":
        return raw.view("<f2").astype(np.float64)
    if name == "bf16":
        return (raw.view("<u2").astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    blocks = raw.reshape(-1, size)
    if name == "q8_0":
        values = _half(blocks, 0) * np.ascontiguousarray(blocks[:, 2:]).view(np.int8)
    elif name == "q4_0":
        values = _half(blocks, 0) * (_nibbles(blocks[:, 2:]) - 8)
    else:
        values = _half(blocks, 0) * _nibbles(blocks[:, 4:]) + _half(blocks, 2)
    # A quantised element is an f32 by definition; the products are exact in f32, q4_1's sum rounds once.
    return values.astype(np.float32).astype(np.float64).reshape(-1)


def encode(values, name):
    """Rows of f32 values ([rows, columns]) in the layout of type `name`: bytes.

    Simple rounding to the nearest representable element; test models need valid blocks, not the best ones.
    """
    values = np.ascontiguousarray(values, dtype=np.float32)
    if name == "f32":
        return values.astype("<f4").tobytes()
    if name == "f16":
        return values.astype("<f2").tobytes()
    if name == "bf16":
        bits = values.view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes()
    if values.shape[-1] % 32:
        raise ValueError(f"{name} needs rows of a multiple of 32 elements, not {values.shape[-1]}")
    x = values.reshape(-1, 32)
    if name == "q8_0":
        scale = (np.abs(x).max(axis=1, keepdims=True) / 127).astype("<f2")
        q = np.clip(np.rint(_ratio(x, scale)), -127, 127).astype(np.int8)
        return _rows(scale, q)
    if name == "q4_0":
        scale = (np.abs(x).max(axis=1, keepdims=True) / 7).astype("<f2")
        q = np.clip(np.rint(_ratio(x, scale)) + 8, 0, 15).astype(np.uint8)
        return _rows(scale, _pack(q))
    if name == "q4_1":
        low = x.min(axis=1, keepdims=True).astype("<f2")
        scale = ((x.max(axis=1, keepdims=True) - low) / 15).astype("<f2")
        q = np.clip(np.rint(_ratio(x - low, scale)), 0, 15).astype(np.uint8)
        return _rows(scale, low, _pack(q))
    raise ValueError(f"cannot write tensor type {name!r}; known: {', '.join(sorted(NUMBERS))}")


def _ratio(x, scale):
    scale = scale.astype(np.float32)
    return np.divide(x, scale, out=np.zeros_like(x), where=scale != 0)


def _pack(q):
    return q[:, :16] | (q[:, 16:] << 4)


def _rows(*parts):
    return np.concatenate([np.ascontiguousarray(p).view(np.uint8) for p in parts], axis=1).tobytes()
