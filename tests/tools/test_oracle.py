"""The NumPy oracle and the random models: that the oracle is right on its own."""

import os
import sys
import tempfile
import unittest

import gguf
import numpy as np

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools")
sys.path[:0] = [TOOLS, os.path.join(TOOLS, "oracle")]

import blocks  # noqa: E402
import exact  # noqa: E402
import make_random_model  # noqa: E402
import model as oracle  # noqa: E402


class Blocks(unittest.TestCase):
    VALUES = np.random.default_rng(3).standard_normal((4, 96)).astype(np.float32)

    def test_decoding_equals_the_gguf_package(self):
        for name in ("bf16", "q8_0", "q4_0", "q4_1"):
            raw = blocks.encode(self.VALUES, name)
            number = blocks.NUMBERS[name]
            rows = np.frombuffer(raw, dtype=np.uint8).reshape(4, -1)
            theirs = gguf.quants.dequantize(rows, gguf.GGMLQuantizationType(number))
            ours = blocks.decode(raw, number, self.VALUES.size).reshape(4, 96)
            np.testing.assert_array_equal(ours, theirs.astype(np.float64))

    def test_a_round_trip_is_close(self):
        for name, step in (("f32", 0), ("f16", 2e-3), ("bf16", 2e-2), ("q8_0", 2e-2), ("q4_0", 0.3), ("q4_1", 0.25)):
            back = blocks.decode(blocks.encode(self.VALUES, name), blocks.NUMBERS[name], self.VALUES.size)
            self.assertLessEqual(np.abs(back - self.VALUES.reshape(-1)).max(), step, name)

    def test_blocks_by_hand(self):
        half = lambda x: np.float16(x).tobytes()
        nibbles = bytes(i | (15 - i) << 4 for i in range(16))  # low: 0..15, high: 15..0
        counted = np.concatenate([np.arange(16), 15 - np.arange(16)])
        self.assertEqual(list(blocks.decode(half(0.5) + nibbles, 2, 32)), list((counted - 8) * 0.5))
        self.assertEqual(list(blocks.decode(half(0.5) + half(-1) + nibbles, 3, 32)), list(counted * 0.5 - 1))
        signed = np.arange(-16, 16, dtype=np.int8)
        self.assertEqual(list(blocks.decode(half(2) + signed.tobytes(), 8, 32)), list(signed * 2.0))

    def test_a_wrong_size_is_an_error(self):
        for raw, number, count in ((b"\0" * 33, 8, 32), (b"\0" * 34, 8, 31), (b"", 99, 0)):
            with self.assertRaises(ValueError):
                blocks.decode(raw, number, count)


class Rope(unittest.TestCase):
    def turned(self, arch):
        model = oracle.Model.__new__(oracle.Model)
        model.arch, model.rotated, model.rope_base = arch, 4, 1e4
        return model.rope(np.array([[[1.0, 2.0, 3.0, 4.0]]]), 1)[0, 0]

    def test_the_two_pairings(self):
        np.testing.assert_allclose(self.turned("llama"), [-1.142640, 1.922076, 2.959851, 4.029800], atol=1e-6)
        np.testing.assert_allclose(self.turned("qwen2"), [-1.984111, 1.959901, 2.462378, 4.019800], atol=1e-6)


class RandomModels(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, *arguments):
        path = os.path.join(self.folder.name, name)
        make_random_model.make(path, *arguments)
        return path

    def test_the_same_arguments_give_the_same_bytes(self):
        with open(self.path("a"), "rb") as a, open(self.path("b"), "rb") as b, open(self.path("c", "--seed", 2), "rb") as c:
            first = a.read()
            self.assertEqual(first, b.read())
            self.assertNotEqual(first, c.read())

    def test_all_at_once_equals_one_by_one(self):
        for arch in ("llama", "qwen2"):
            model = oracle.Model(self.path(arch, "--arch", arch))
            chosen, positions = oracle.greedy(model, [5, 6, 7], 6)
            forced = oracle.teacher_forced(model, [5, 6, 7] + chosen[:-1])[2:]
            self.assertEqual([p["ids"] for p in forced], [p["ids"] for p in positions])
            np.testing.assert_allclose([p["logits"] for p in forced], [p["logits"] for p in positions], rtol=1e-12)

    def test_biases_pairing_and_tying_matter(self):
        path = self.path("m", "--arch", "qwen2")
        ids = list(range(20, 40))
        right = [p["logits"][0] for p in oracle.teacher_forced(oracle.Model(path), ids)]

        def differs(change):
            model = oracle.Model(path)
            change(model)
            wrong = [p["logits"][0] for p in oracle.teacher_forced(model, ids)]
            self.assertGreater(np.abs(np.array(wrong) - right).max(), 0.5)

        for part in ("q", "k", "v"):
            differs(lambda m: m.weights.pop(f"blk.0.attn_{part}.bias"))
        differs(lambda m: setattr(m, "arch", "llama"))
        differs(lambda m: setattr(m, "output", m.weights["token_embd.weight"]))


class Two(unittest.TestCase):
    def test_the_lower_id_wins_a_tie(self):
        self.assertEqual(oracle.two_best(np.array([1.0, 3.0, 3.0, 2.0])), {"ids": [1, 2], "logits": [3.0, 3.0]})

    def test_ids_are_read_from_text_and_lines(self):
        self.assertEqual(exact.read_ids("[1, 2]"), [[1, 2]])
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.write('[1, 2]\n{"ids": [3]}\n')
            file.flush()
            self.assertEqual(exact.read_ids(file.name), [[1, 2], [3]])
        for bad in ("[]", "[1.5]", '["a"]', "{\"ids\": [true]}"):
            with self.assertRaises(ValueError):
                exact.read_ids(bad)


if __name__ == "__main__":
    unittest.main()
