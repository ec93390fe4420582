#!/usr/bin/env python3
"""Writes a small GGUF model with random weights, for tests: the same file for the same arguments.

    make_random_model.py OUT.gguf [--arch llama|qwen2] [--seed N] [--types mix|f32|f16|bf16|q8_0|q4_0|q4_1] [--tied] …

Metadata is as llama.cpp's converter writes it. The weights are scaled so that attention looks at several positions
unevenly and the logits spread over about ±10: a wrong rotation, bias or head shows far above rounding.
"""

import argparse
import collections
import os
import sys

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, TokenType

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "oracle"))

from blocks import NUMBERS, encode  # noqa: E402

MIX = ["q4_1", "q8_0", "q4_0", "f16", "f32"]
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEXT = """the capital of a country is the city where its government sits and the answer to a question is a sentence
that says what was asked once upon a time there was a small model that had learned nothing and so it said whatever
came first a tensor is a block of numbers with a shape and a type and an operation takes tensors and gives a tensor
you are a helpful assistant system user what who when where why how hello world this test should pass on every device
because the numbers are the same everywhere and only the order of rounding may differ between one machine and another"""
TEMPLATE = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")


def byte_alphabet():
    """The printable stand-ins of the 256 bytes in GPT-2's byte-level BPE, in the order of its vocabulary."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other = [b for b in range(256) if b not in plain]
    return [chr(b) for b in plain] + [chr(256 + i) for i in range(len(other))]


def learn_merges(text, count):
    """The `count` most frequent pairs, one after another, as byte-level BPE learns them; ties by text."""
    words = collections.Counter("Ġ" + word for word in text.split())
    pieces = {word: list(word) for word in words}
    merges, known = [], set(byte_alphabet())
    while len(merges) < count:
        pairs = collections.Counter()
        for word, parts in pieces.items():
            for pair in zip(parts, parts[1:]):
                pairs[pair] += words[word]
        if not pairs:
            raise ValueError(f"the built-in text gives {len(merges)} merges, {count} were asked for")
        left, right = min(pairs, key=lambda pair: (-pairs[pair], pair))
        for word, parts in pieces.items():
            pieces[word] = merge(parts, left, right)
        if left + right not in known:
            known.add(left + right)
            merges.append((left, right))
    return merges


def merge(parts, left, right):
    out, i = [], 0
    while i < len(parts):
        if parts[i] == left and parts[i + 1:i + 2] == [right]:
            out.append(left + right)
            i += 2
        else:
            out.append(parts[i])
            i += 1
    return out


class Builder:
    def __init__(self, options):
        self.options = options
        self.writer = GGUFWriter(options.out, options.arch)
        self.random = np.random.default_rng(options.seed)
        self.matrices = 0

    def next_type(self):
        if self.options.types != "mix":
            return self.options.types
        self.matrices += 1
        return MIX[(self.matrices - 1) % len(MIX)]

    def matrix(self, name, rows, columns, gain=1.0):
        values = self.random.standard_normal((rows, columns)) * (gain / np.sqrt(columns))
        kind = self.next_type()
        raw = np.frombuffer(encode(values, kind), dtype=np.uint8).reshape(rows, -1)
        self.writer.add_tensor(name, raw, raw_dtype=GGMLQuantizationType(NUMBERS[kind]))

    def vector(self, name, size, centre, spread):
        values = centre + spread * self.random.standard_normal(size)
        self.writer.add_tensor(name, values.astype(np.float32))

    def metadata(self, vocabulary):
        o, w = self.options, self.writer
        w.add_type("model")
        w.add_name(f"random {o.arch} for tests, seed {o.seed}")
        w.add_block_count(o.layers)
        w.add_context_length(o.context)
        w.add_embedding_length(o.hidden)
        w.add_feed_forward_length(o.ffn)
        w.add_head_count(o.heads)
        w.add_head_count_kv(o.kv_heads)
        w.add_rope_freq_base(1e6 if o.arch == "qwen2" else 1e4)
        w.add_layer_norm_rms_eps(1e-6 if o.arch == "qwen2" else 1e-5)
        w.add_file_type(0 if o.types == "f32" else 1)
        w.add_quantization_version(2)
        if o.arch == "llama":
            w.add_vocab_size(vocabulary)
            w.add_rope_dimension_count(o.hidden // o.heads)

    def tokenizer(self):
        merges = learn_merges(TEXT, self.options.merges)
        normal = byte_alphabet() + [left + right for left, right in merges]
        tokens = normal + SPECIALS
        w, end = self.writer, tokens.index("<|im_end|>")
        w.add_tokenizer_model("gpt2")
        w.add_tokenizer_pre("qwen2" if self.options.arch == "qwen2" else "smollm")
        w.add_token_list(tokens)
        w.add_token_types([TokenType.NORMAL] * len(normal) + [TokenType.CONTROL] * len(SPECIALS))
        w.add_token_merges([f"{left} {right}" for left, right in merges])
        w.add_bos_token_id(tokens.index("<|endoftext|>"))
        w.add_eos_token_id(end)
        w.add_pad_token_id(tokens.index("<|endoftext|>"))
        w.add_add_bos_token(False)
        w.add_chat_template(TEMPLATE)
        return len(tokens)

    def tensors(self, vocabulary):
        o = self.options
        keys = o.hidden // o.heads * o.kv_heads
        # A tied embedding also makes the logits, so it takes the output's scale; the first norm hides it.
        self.matrix("token_embd.weight", vocabulary, o.hidden, 3.0 if o.tied else 8.0)
        for layer in range(o.layers):
            name = f"blk.{layer}."
            self.vector(name + "attn_norm.weight", o.hidden, 1.0, 0.2)
            self.matrix(name + "attn_q.weight", o.hidden, o.hidden, 1.5)
            self.matrix(name + "attn_k.weight", keys, o.hidden, 1.5)
            self.matrix(name + "attn_v.weight", keys, o.hidden)
            if o.arch == "qwen2":
                self.vector(name + "attn_q.bias", o.hidden, 0.0, 0.5)
                self.vector(name + "attn_k.bias", keys, 0.0, 0.5)
                self.vector(name + "attn_v.bias", keys, 0.0, 0.5)
            self.matrix(name + "attn_output.weight", o.hidden, o.hidden)
            self.vector(name + "ffn_norm.weight", o.hidden, 1.0, 0.2)
            self.matrix(name + "ffn_gate.weight", o.ffn, o.hidden)
            self.matrix(name + "ffn_up.weight", o.ffn, o.hidden)
            self.matrix(name + "ffn_down.weight", o.hidden, o.ffn)
        self.vector("output_norm.weight", o.hidden, 1.0, 0.2)
        if not o.tied:
            self.matrix("output.weight", vocabulary, o.hidden, 3.0)

    def write(self):
        vocabulary = self.tokenizer()
        self.metadata(vocabulary)
        self.tensors(vocabulary)
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--arch", choices=["llama", "qwen2"], default="llama")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--types", choices=["mix", *NUMBERS], default="mix", help="of the matrices; vectors are f32")
    parser.add_argument("--tied", action="store_true", help="no output.weight: the embedding makes the logits")
    for name, default in [("layers", 2), ("hidden", 64), ("ffn", 128), ("heads", 4), ("kv-heads", 2),
                          ("merges", 221), ("context", 512)]:
        parser.add_argument("--" + name, type=int, default=default)
    options = parser.parse_args(arguments)
    if options.hidden % options.heads or options.heads % options.kv_heads or options.hidden // options.heads % 2:
        parser.error("hidden must divide into heads of even size, and heads over kv-heads")
    if (options.hidden % 32 or options.ffn % 32) and options.types not in ("f32", "f16", "bf16"):
        parser.error("hidden and ffn must be multiples of 32 with quantised types")
    return options


def make(*arguments):
    """As from the command line: make("out.gguf", "--arch", "qwen2")."""
    Builder(parse([str(a) for a in arguments])).write()


if __name__ == "__main__":
    make(*sys.argv[1:])
