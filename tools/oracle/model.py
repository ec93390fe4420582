"""The Llama family and Qwen2 in plain NumPy, float64: the oracle that Tenon is compared with.

Written from the papers and the GGUF metadata, sharing no code with Tenon:
  RMSNorm             Zhang and Sennrich, 2019
  rotary embedding    Su et al., "RoFormer", 2021
  SwiGLU              Shazeer, "GLU Variants Improve Transformer", 2020
  grouped queries     Ainslie et al., "GQA", 2023
Dimensions: T positions, E embedding, H query heads, G key-value heads, D head size, V vocabulary.
"""

import numpy as np
from gguf import GGUFReader

from blocks import decode


class Cache:
    """Rotated keys and values of the positions fed so far, one pair of [T, G, D] for each layer."""

    def __init__(self, layers):
        self.keys = [None] * layers
        self.values = [None] * layers
        self.length = 0

    def append(self, layer, keys, values):
        if self.keys[layer] is not None:
            keys = np.concatenate([self.keys[layer], keys])
            values = np.concatenate([self.values[layer], values])
        self.keys[layer], self.values[layer] = keys, values
        return keys, values


class Model:
    def __init__(self, path):
        reader = GGUFReader(path)
        self.arch = reader.fields["general.architecture"].contents()
        if self.arch not in ("llama", "qwen2"):
            raise ValueError(f"{path}: architecture {self.arch!r}; the oracle knows llama and qwen2")
        field = lambda key, default=None: self._field(reader, key, default)
        self.layers = field("block_count")
        self.embedding = field("embedding_length")
        self.heads = field("attention.head_count")
        self.kv_heads = field("attention.head_count_kv", self.heads)
        self.head_size = field("attention.key_length", self.embedding // self.heads)
        self.rotated = field("rope.dimension_count", self.head_size)
        self.rope_base = field("rope.freq_base", 10000.0)
        self.epsilon = field("attention.layer_norm_rms_epsilon")
        if field("rope.scaling.type", "none") != "none":
            raise ValueError(f"{path}: rope scaling is not implemented in the oracle")
        if self.heads % self.kv_heads:
            raise ValueError(f"{path}: {self.heads} heads do not divide over {self.kv_heads} key-value heads")
        self.weights = {t.name: self._tensor(t) for t in reader.tensors}
        if "rope_freqs.weight" in self.weights:
            raise ValueError(f"{path}: rope frequency factors are not implemented in the oracle")
        self.output = self.weights.get("output.weight", self.weights["token_embd.weight"])
        self.vocabulary = self.output.shape[0]
        token = reader.fields.get("tokenizer.ggml.eos_token_id")
        self.eos = None if token is None else int(token.contents())

    def _field(self, reader, key, default):
        found = reader.fields.get(f"{self.arch}.{key}")
        if found is not None:
            return found.contents()
        if default is None:
            raise ValueError(f"metadata {self.arch}.{key} is missing")
        return default

    @staticmethod
    def _tensor(tensor):
        """A weight as float64, rows first: GGUF lists the fastest axis first."""
        shape = [int(n) for n in reversed(tensor.shape)]
        raw = np.ascontiguousarray(tensor.data).tobytes()
        return decode(raw, int(tensor.tensor_type), int(np.prod(shape))).reshape(shape)

    def new_cache(self):
        return Cache(self.layers)

    def norm(self, x, name):
        """x: [T, E]"""
        scale = np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + self.epsilon)
        return x / scale * self.weights[name]

    def linear(self, x, name):
        """x: [T, in] -> [T, out], with a bias where the file has one (q, k and v of Qwen2)."""
        y = x @ self.weights[name + ".weight"].T
        bias = self.weights.get(name + ".bias")
        return y if bias is None else y + bias

    def rope(self, x, first):
        """x: [T, heads, D], positions first, first + 1, ...

        Llama files hold q and k permuted so that neighbours (2i, 2i+1) are a pair; Qwen2 pairs (i, i + D/2).
        """
        n = self.rotated
        frequency = float(self.rope_base) ** (-np.arange(0, n, 2, dtype=np.float64) / n)
        angle = np.arange(first, first + len(x), dtype=np.float64)[:, None] * frequency
        cos, sin = np.cos(angle)[:, None, :], np.sin(angle)[:, None, :]
        if self.arch == "llama":
            even, odd = slice(0, n, 2), slice(1, n, 2)
        else:
            even, odd = slice(0, n // 2), slice(n // 2, n)
        a, b = x[..., even], x[..., odd]
        turned = x.copy()
        turned[..., even] = a * cos - b * sin
        turned[..., odd] = a * sin + b * cos
        return turned

    def attention(self, x, layer, cache):
        """x: [T, E] -> [T, E]; causal over the cache and x."""
        steps, name = len(x), f"blk.{layer}.attn_"
        q = self.linear(x, name + "q").reshape(steps, self.heads, self.head_size)
        k = self.linear(x, name + "k").reshape(steps, self.kv_heads, self.head_size)
        v = self.linear(x, name + "v").reshape(steps, self.kv_heads, self.head_size)
        q = self.rope(q, cache.length)
        keys, values = cache.append(layer, self.rope(k, cache.length), v)
        position = cache.length + np.arange(steps)
        hidden = np.arange(len(keys))[None, :] > position[:, None]  # [T, S]
        group = self.heads // self.kv_heads
        out = np.empty_like(q)
        for head in range(self.heads):
            score = q[:, head] @ keys[:, head // group].T / np.sqrt(self.head_size)
            score[hidden] = -np.inf
            weight = np.exp(score - score.max(axis=-1, keepdims=True))
            weight /= weight.sum(axis=-1, keepdims=True)
            out[:, head] = weight @ values[:, head // group]
        return self.linear(out.reshape(steps, -1), name + "output")

    def feed_forward(self, x, layer):
        """x: [T, E] -> [T, E]"""
        name = f"blk.{layer}.ffn_"
        gate = self.linear(x, name + "gate")
        return self.linear(gate / (1 + np.exp(-gate)) * self.linear(x, name + "up"), name + "down")

    def forward(self, ids, cache):
        """Feeds ids after what the cache holds: logits of every fed position, [T, V]."""
        ids = np.asarray(ids, dtype=np.int64)
        if ids.ndim != 1 or not ids.size or ids.min() < 0 or ids.max() >= self.vocabulary:
            raise ValueError(f"ids must be a non-empty list of numbers from 0 to {self.vocabulary - 1}")
        x = self.weights["token_embd.weight"][ids]
        for layer in range(self.layers):
            x = x + self.attention(self.norm(x, f"blk.{layer}.attn_norm.weight"), layer, cache)
            x = x + self.feed_forward(self.norm(x, f"blk.{layer}.ffn_norm.weight"), layer)
        cache.length += len(ids)
        return self.norm(x, "output_norm.weight") @ self.output.T


def two_best(logits):
    """logits: [V] -> {"ids": [best, second], "logits": [...]}; the lower id wins a tie."""
    best = int(np.argmax(logits))
    rest = logits.copy()
    rest[best] = -np.inf
    second = int(np.argmax(rest))
    return {"ids": [best, second], "logits": [float(logits[best]), float(logits[second])]}


def teacher_forced(model, ids):
    """The two best after feeding ids[0..i], for every i."""
    return [two_best(row) for row in model.forward(ids, model.new_cache())]


def greedy(model, ids, count):
    """Up to `count` greedy ids after `ids` (an end token included) and the two best at each of these steps."""
    cache, chosen, positions, feed = model.new_cache(), [], [], ids
    while len(chosen) < count and (not chosen or chosen[-1] != model.eos):
        best = two_best(model.forward(feed, cache)[-1])
        positions.append(best)
        chosen.append(best["ids"][0])
        feed = chosen[-1:]
    return chosen, positions
