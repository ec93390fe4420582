#!/usr/bin/env python3
"""The command line as its users meet it: output, JSON, errors, pipes, Ctrl-C. Needs Python's standard library only.

TENON_BIN: the program (build/release/tenon). TENON_MODEL: the SmolLM2 model (models/…); without it, tests of a real
model are skipped.
"""

import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BIN = os.environ.get("TENON_BIN", os.path.join(ROOT, "build", "release", "tenon"))
STANDIN = os.path.join(os.path.dirname(BIN), "tests", "standin", "cuda", "libstandin_")  # + NAME.so
MODEL = os.environ.get("TENON_MODEL", os.path.join(ROOT, "models", "SmolLM2-135M-Instruct.Q4_1.gguf"))
SIZES = {"layers": 2, "channels": 64, "heads": 4, "kv_heads": 2, "ffn": 96, "context": 4096}


# ------------------------------------------------------------------------------------------------- a model of our own

def spelling(byte):
    """A byte in GPT-2's alphabet."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    if byte in printable:
        return chr(byte)
    return chr(256 + [b for b in range(256) if b not in printable].index(byte))


def text(value):
    value = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(value)) + value


def value(v):
    if isinstance(v, str):
        return struct.pack("<I", 8) + text(v)
    if isinstance(v, float):
        return struct.pack("<If", 6, v)
    if isinstance(v, int):
        return struct.pack("<II", 4, v)
    if v and isinstance(v[0], int):
        return struct.pack("<IIQ", 9, 5, len(v)) + struct.pack(f"<{len(v)}i", *v)
    return struct.pack("<IIQ", 9, 8, len(v)) + b"".join(map(text, v))


def numbers(count, scale, middle, state):
    """Reproducible f32 values between middle - scale and middle + scale."""
    out = []
    for _ in range(count):
        state[0] = (state[0] * 6364136223846793005 + 1442695040888963407) % 2**64
        out.append(middle + scale * ((state[0] >> 33) / 2**30 - 1))
    return struct.pack(f"<{count}f", *out)


def write_model(path, metadata=(), quantised_as=None, **sizes):
    """A llama of random f32 weights with a byte vocabulary. `metadata` overrides keys; `quantised_as`: a type id that
    the first tensor claims to have."""
    s = {**SIZES, **sizes}
    keys = s["channels"] // s["heads"] * s["kv_heads"]
    tokens = [spelling(b) for b in range(256)] + ["<|im_start|>", "<|im_end|>", "ab"]
    kv = {"general.architecture": "llama", "llama.block_count": s["layers"], "llama.context_length": s["context"],
          "llama.embedding_length": s["channels"], "llama.feed_forward_length": s["ffn"],
          "llama.attention.head_count": s["heads"], "llama.attention.head_count_kv": s["kv_heads"],
          "llama.attention.layer_norm_rms_epsilon": 1e-5, "tokenizer.ggml.model": "gpt2",
          "tokenizer.ggml.pre": "smollm", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.merges": ["a b"],
          "tokenizer.ggml.token_type": [1] * 256 + [3, 3, 1], "tokenizer.ggml.eos_token_id": 257,
          "tokenizer.chat_template": "<|im_start|>", **dict(metadata)}
    c, v = s["channels"], len(tokens)
    shapes = {"token_embd.weight": [v, c], "output_norm.weight": [c], "output.weight": [v, c]}
    for i in range(s["layers"]):
        b = f"blk.{i}."
        shapes |= {b + "attn_norm.weight": [c], b + "attn_q.weight": [c, c], b + "attn_k.weight": [keys, c],
                   b + "attn_v.weight": [keys, c], b + "attn_output.weight": [c, c], b + "ffn_norm.weight": [c],
                   b + "ffn_gate.weight": [s["ffn"], c], b + "ffn_up.weight": [s["ffn"], c],
                   b + "ffn_down.weight": [c, s["ffn"]]}
    directory, data, state = b"", b"", [1]
    for name, shape in shapes.items():
        kind = quantised_as if quantised_as is not None and name == "token_embd.weight" else 0
        dims = shape[::-1]
        directory += text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, len(data))
        norm = len(shape) == 1
        size = shape[0] if norm else shape[0] * shape[1]
        if name == "output.weight":  # the last rows are 0: control tokens are never best
            data += numbers(256 * c, 0.4, 0, state) + bytes(4 * 3 * c)
        else:
            data += numbers(size, 0.2, 1.0 if norm else 0.0, state)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(kv))
    head += b"".join(text(k) + value(x) for k, x in kv.items()) + directory
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % 32) + data)


# ----------------------------------------------------------------------------------------------------------- helpers

def tenon(*arguments, stdin=b"", **options):
    done = subprocess.run([BIN, *map(str, arguments)], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=120, check=False, **options)
    done.text, done.errors = done.stdout.decode(), done.stderr.decode()
    return done


class CliTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.tiny = os.path.join(cls.folder, "tiny.gguf")
        write_model(cls.tiny)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_json(self, *arguments, **options):
        done = tenon("run", self.tiny, "--json", *arguments, **options)
        self.assertEqual(done.returncode, 0, done.errors)
        return json.loads(done.text)

    def assert_error(self, done, *parts, code=1):
        self.assertEqual(done.returncode, code, done.errors)
        self.assertEqual(done.text, "")
        self.assertTrue(done.errors.startswith("tenon: error: "), done.errors)
        for part in parts:
            self.assertIn(part, done.errors)


class Output(CliTest):
    def test_text_and_statistics(self):
        done = tenon("run", self.tiny, "-p", "hello", "-n", "20")
        self.assertEqual(done.returncode, 0, done.errors)
        self.assertTrue(done.text.endswith("\n"))
        self.assertEqual(done.errors.count("\n"), 1)
        for part in ("load", "prefill", "decode", "tok/s", "peak", "device"):
            self.assertIn(part, done.errors)
        self.assertEqual(self.run_json("-p", "hello", "-n", "20")["text"] + "\n", done.text)

    def test_json_fields(self):
        answer = self.run_json("--raw", "-p", "hello", "-n", "20")
        self.assertEqual(list(answer), ["prompt_ids", "ids", "text", "finish", "load_s", "prefill_tok_s", "decode_tok_s",
                                        "peak_bytes", "device", "counters"])
        self.assertEqual(answer["prompt_ids"], list(b"hello"))
        self.assertEqual(len(answer["ids"]), 20)
        self.assertEqual(answer["finish"], "length")
        self.assertGreater(answer["peak_bytes"], 100000)
        for phase in ("load", "prefill", "decode"):
            for counter in ("launches", "bytes_up", "bytes_down", "waits", "allocations", "plans"):
                self.assertGreaterEqual(answer["counters"][phase][counter], 0)
        self.assertLessEqual(answer["counters"]["decode"]["bytes_down"], 8 * 20)

    def test_prompt_from_everywhere(self):
        wanted = self.run_json("-p", "a prompt", "-n", "5")
        with open(self.path("prompt.txt"), "wb") as file:
            file.write(b"a prompt\n")
        for answer in (self.run_json("-f", self.path("prompt.txt"), "-n", "5"),
                       self.run_json("-n", "5", stdin=b"a prompt\n"), self.run_json("-n", "5", stdin=b"a prompt")):
            self.assertEqual(answer["prompt_ids"], wanted["prompt_ids"])
            self.assertEqual(answer["ids"], wanted["ids"])
        self.assertEqual(self.run_json("--raw", "-n", "1", stdin=b"x\n")["prompt_ids"], [120, 10])

    def test_sampling(self):
        options = ["-p", "a", "-n", "30", "--temp", "1", "--top-k", "50", "--top-p", "0.9", "--min-p", "0.01", "--seed"]
        first = self.run_json(*options, 5)["ids"]
        self.assertEqual(first, self.run_json(*options, 5)["ids"])
        self.assertNotEqual(first, self.run_json(*options, 6)["ids"])
        self.assertEqual(first, self.run_json(*options, 5, "--threads", 1)["ids"])

    def test_kv_and_devices_agree(self):
        for kv in ("f32", "f16"):
            answers = [self.run_json("-p", "a", "-n", "8", "--kv", kv, "--device", d) for d in ("cpu", "host")]
            self.assertEqual([a["device"] for a in answers], ["cpu", "host"])
            self.assertEqual(answers[0]["ids"], answers[1]["ids"])

    def test_score(self):
        with open(self.path("ids.json"), "w") as file:
            json.dump(list(b"some ids"), file)
        done = tenon("score", self.tiny, "--ids", self.path("ids.json"), "--json", "--top", 3, "--device", "host")
        self.assertEqual(done.returncode, 0, done.errors)
        answer = json.loads(done.text)
        self.assertEqual(answer["device"], "host")
        self.assertEqual(len(answer["positions"]), 8)
        for position in answer["positions"]:
            self.assertEqual(len(position["ids"]), 3)
            self.assertEqual(position["logits"], sorted(position["logits"], reverse=True))
        table = tenon("score", self.tiny, "--ids", self.path("ids.json"))
        self.assertEqual(table.text.count("\n"), 9)
        answer = self.run_json("--raw", "-p", "some ids", "-n", "1", "--kv", "f32", "--device", "host")
        self.assertEqual(answer["ids"], [json.loads(done.text)["positions"][-1]["ids"][0]])

    def test_tokenize(self):
        lines = ["hello", "", "a<|im_end|>b", "é\n\u0000"]
        given = "".join(json.dumps(x) + "\n" for x in lines).encode()
        done = tenon("tokenize", self.tiny, stdin=given)
        self.assertEqual(done.returncode, 0, done.errors)
        ids = [json.loads(x) for x in done.text.splitlines()]
        self.assertEqual(ids, [list(b"hello"), [], [97, 257, 98], list("é\n\0".encode())])
        back = tenon("tokenize", self.tiny, "--decode", stdin=done.stdout)
        self.assertEqual([json.loads(x) for x in back.text.splitlines()], lines)
        plain = tenon("tokenize", self.tiny, "--no-special", stdin=b'"<|im_end|>"\n')
        self.assertEqual(json.loads(plain.text), list(b"<|im_end|>"))
        self.assertEqual(json.loads(tenon("tokenize", self.tiny, "--decode", stdin=b"[255]").text), "\ufffd")

    def test_plan(self):
        for device in ("cpu", "host", "null:roomy", "null:webgpu", "null:tiny", "null:cuda"):
            done = tenon("plan", self.tiny, "--device", device)
            self.assertEqual(done.returncode, 0, done.errors)
            self.assertIn("in each of 2 layers", done.text)
        self.assertIn("prompt chunk of 64 tokens", tenon("plan", self.tiny, "--tokens", 64).text)
        self.assertEqual(json.loads(tenon("plan", self.tiny, "--json").text)["layers"], 2)

    def test_devices_doctor_version_help(self):
        self.assertIn("cpu", tenon("devices").text)
        self.assertTrue(any(d["available"] for d in json.loads(tenon("devices", "--json").text)))
        doctor = tenon("doctor")
        self.assertEqual(doctor.returncode, 0)
        for part in ("processor", "threads", "memory", "cpu", "models", "compiler: ", "shipped: ", "own: "):
            self.assertIn(part, doctor.text)
        none = {**os.environ, "TENON_NVRTC_LIBRARY": "libno_such_nvrtc.so.1", "TENON_SHIPPED_KERNELS": "/no/such/folder"}
        doctor = tenon("doctor", env=none).text
        self.assertIn("not found, NVRTC was not found (libno_such_nvrtc.so.1", doctor)
        self.assertIn("shipped: none; looked in /no/such/folder", doctor)
        version = tenon("--version")
        self.assertEqual((version.returncode, version.text[:6]), (0, "tenon "))
        for arguments in ([], ["run"], ["score"], ["tokenize"], ["plan"], ["devices"], ["doctor"]):
            done = tenon(*arguments, "--help")
            self.assertEqual(done.returncode, 0)
            self.assertIn("tenon", done.text)
            self.assertEqual(done.errors, "")

    def test_cache(self):
        folder = os.path.join(self.folder, "kernels")
        environment = {**os.environ, "TENON_KERNEL_CACHE": folder}
        listed = json.loads(tenon("cache", "list", "--json", env=environment).text)
        self.assertEqual(listed, {"folder": folder, "bytes": 0, "kernels": []})
        self.assertIn("0 kernels", tenon("cache", "list", env=environment).text)
        self.assertEqual(tenon("cache", "clear", env=environment).text, "removed 0 kernels\n")
        self.assertIn("not kept", tenon("cache", "list", env={**os.environ, "TENON_KERNEL_CACHE": "off"}).text)

    def test_cache_build(self):
        output = self.path("shipped")
        self.assert_error(tenon("cache", "build", "--arch", "sm_80", "--output", output,
                                env={**os.environ, "TENON_NVRTC_LIBRARY": "libno_such_nvrtc.so.1"}), "NVRTC was not found")
        if not os.path.exists(STANDIN + "nvrtc.so"):
            self.skipTest("no stand-in for NVRTC was built")
        environment = {**os.environ, "TENON_NVRTC_LIBRARY": STANDIN + "nvrtc.so", "TENON_CUDA_LIBRARY": STANDIN + "cuda.so",
                       "TENON_KERNEL_CACHE": "off", "TENON_SHIPPED_KERNELS": output}
        build = lambda *more: tenon("cache", "build", "--arch", "sm_75", *more, env=environment)
        self.assert_error(build("--arch", "gfx90"), "'gfx90' is no architecture")
        plain = build("--output", output)
        self.assertEqual(plain.returncode, 0, plain.errors)
        self.assertIn(" compiled, 0 were there", plain.text)
        self.assertIn(output + "/compute_75: ", plain.text)
        self.assertIn(" 0 compiled, ", build("--output", output).text)
        without = {**environment, "TENON_NVRTC_LIBRARY": "libno_such_nvrtc.so.1"}
        self.assertIn("no NVRTC, kernels shipped for sm_75", tenon("devices", env=without).text)
        self.assertIn(" for sm_75, ", tenon("doctor", env=without).text)
        # A model runs with the kernels of every op, and with its own.
        run = lambda: json.loads(tenon("run", self.tiny, "-p", "a", "-n", "3", "--temp", "0", "--json", "--device", "cuda", env=without).text)
        one_by_one = run()
        self.assertNotIn(" 0 compiled, ", build("--output", output, "--model", self.tiny).text)
        fused = run()
        cpu = json.loads(tenon("run", self.tiny, "-p", "a", "-n", "3", "--temp", "0", "--json", "--device", "cpu").text)
        self.assertEqual((one_by_one["ids"], fused["ids"]), (cpu["ids"], cpu["ids"]))
        launches = lambda result: result["counters"]["decode"]["launches"]
        self.assertLess(2 * launches(fused), launches(one_by_one))
        bench = json.loads(tenon("bench", self.tiny, "-p", "4", "-n", "2", "-r", "1", "--json", "--device", "cuda", env=environment).text)
        self.assertEqual(sorted(bench["start_to_first_token"]), ["cold_s", "shipped_s", "warm_s"])

    def test_trace_and_census(self):
        path = self.path("trace.json")
        done = tenon("run", self.tiny, "-p", "a", "-n", "4", "--trace", path, "--census", "--device", "cpu")
        self.assertEqual(done.returncode, 0, done.errors)
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        rows = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
        spans = [(rows[e["tid"]], e["name"], e["ts"], e["dur"]) for e in events if e["ph"] == "X"]
        self.assertIn("prefill", [name for row, name, *_ in spans if row == "main thread"])
        self.assertEqual(3, [name for row, name, *_ in spans if row == "main thread"].count("decode step"))
        kernels = [s for s in spans if s[0] == "device cpu"]
        self.assertTrue(any("matmul" in name for _, name, *_ in kernels))
        # One queue: no kernel starts before the one before it ended.
        kernels.sort(key=lambda s: s[2])
        for before, after in zip(kernels, kernels[1:]):
            self.assertLessEqual(before[2] + before[3], after[2] + 0.002)
        launches = sum(name != "copy" for _, name, *_ in kernels)
        counted = [line.split() for line in done.errors.splitlines() if line[:10].strip().isdigit()]
        self.assertEqual(launches, sum(int(n) for n, _ in counted))
        self.assert_error(tenon("run", self.tiny, "-p", "a", "--trace", "/no/such/folder/t.json"), "/no/such/folder/t.json")
        self.assertFalse(os.path.exists(path + ".part"))

    def test_bench(self):
        done = tenon("bench", self.tiny, "-p", "8", "-n", "4", "-r", "2", "--json", "--device", "cpu")
        self.assertEqual(done.returncode, 0, done.errors)
        result = json.loads(done.text)
        self.assertIsNone(result["start_to_first_token"])  # nothing is compiled there
        for phase in ("prefill_tok_s", "decode_tok_s"):
            self.assertGreater(result[phase]["min"], 0)
            self.assertLessEqual(result[phase]["min"], result[phase]["median"])
            self.assertLessEqual(result[phase]["median"], result[phase]["max"])
        self.assertIn("decode 4 after 3:", tenon("bench", self.tiny, "-p", "8", "-n", "4", "-d", "3", "-r", "1").text)
        product = json.loads(tenon("bench", "matmul", "--m", "17", "--n", "9", "--k", "33", "-r", "3", "--json").text)
        self.assertGreater(product["gflops"]["min"], 0)
        self.assertEqual([product[x] for x in "mnk"], [17, 9, 33])
        ops = json.loads(tenon("bench", "ops", "--mib", "1", "-r", "2", "--json").text)["ops"]
        self.assertEqual(ops[0]["op"], "copy")
        self.assert_error(tenon("bench"), "MODEL", "--random-weights")
        self.assert_error(tenon("bench", "--random-weights", "gpt"), "qwen2.5-0.5b")

    def test_streams(self):
        process = subprocess.Popen([BIN, "run", self.tiny, "-p", "a", "-n", "4000"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        first = process.stdout.read(1)
        early = process.poll() is None
        process.stdout.read()
        process.communicate()
        self.assertTrue(first)
        self.assertTrue(early, "the first piece came only at the end")
        self.assertEqual(process.returncode, 0)

    @unittest.skipUnless(os.path.exists(MODEL), "the SmolLM2 model is not there")
    def test_a_real_model_answers(self):
        done = tenon("run", MODEL, "-p", "What is the capital of France?", "-n", "32", "--json")
        self.assertIn("Paris", json.loads(done.text)["text"])
        self.assertEqual(json.loads(done.text)["finish"], "eos")


class BadInput(CliTest):
    def run_file(self, name, **options):
        return tenon("run", self.path(name), "-p", "a", **options)

    def test_no_gguf(self):
        for content in (b"", b"GG", b"not a model", bytes(1000)):
            with open(self.path("bad.gguf"), "wb") as file:
                file.write(content)
            self.assert_error(self.run_file("bad.gguf"), "bad.gguf")

    def test_cut_short(self):
        with open(self.tiny, "rb") as file:
            whole = file.read()
        for keep in (20, 100, 3000, len(whole) // 2, len(whole) - 1):
            with open(self.path("cut.gguf"), "wb") as file:
                file.write(whole[:keep])
            self.assert_error(self.run_file("cut.gguf"), "cut.gguf")

    def test_unknown_architecture_quantisation_and_pre(self):
        write_model(self.path("mamba.gguf"), {"general.architecture": "mamba"})
        self.assert_error(self.run_file("mamba.gguf"), "mamba", "llama, qwen2")
        write_model(self.path("q2.gguf"), quantised_as=14, channels=256)  # q6_K
        self.assert_error(self.run_file("q2.gguf"), "token_embd.weight", "q6_K", "q4_1")
        write_model(self.path("pre.gguf"), {"tokenizer.ggml.pre": "dbrx"})
        self.assert_error(self.run_file("pre.gguf"), "dbrx", "smollm", "qwen2")
        write_model(self.path("rope.gguf"), {"llama.rope.scaling.type": "yarn"})
        self.assert_error(self.run_file("rope.gguf"), "yarn", "rope.scaling.type")
        write_model(self.path("chat.gguf"), {"tokenizer.chat_template": "{{ messages }}"})
        self.assert_error(self.run_file("chat.gguf"), "--raw")
        self.assertEqual(tenon("run", self.path("chat.gguf"), "--raw", "-p", "a", "-n", "2").returncode, 0)

    def test_prompt_too_long(self):
        self.assert_error(tenon("run", self.tiny, "--ctx", 16, "--raw", "-p", "x" * 20), "20 tokens", "16", "--ctx")
        self.assert_error(tenon("run", self.tiny, "--raw", stdin=b"x" * 5000), "5000 tokens", "4096")
        self.assertEqual(self.run_json("--ctx", 16, "--raw", "-p", "x" * 10)["finish"], "length")
        self.assert_error(tenon("run", self.tiny, "--ctx", 5000, "-p", "x"), "4096")

    def test_empty_prompt(self):
        self.assert_error(tenon("run", self.tiny, "--raw"), "empty")

    def test_device(self):
        self.assert_error(tenon("run", self.tiny, "-p", "a", "--device", "abacus"), "abacus", "cpu")
        self.assert_error(tenon("run", self.tiny, "-p", "a", env={**os.environ, "TENON_DEVICE": "abacus"}), "abacus", "cpu")
        self.assert_error(tenon("plan", self.tiny, "--device", "null:huge"), "null:huge")

    def test_a_device_that_only_plans(self):
        self.assert_error(tenon("run", self.tiny, "-p", "a", "--device", "null:roomy"), "null:roomy")

    def test_folder_and_missing(self):
        self.assert_error(tenon("run", self.folder, "-p", "a"), "folder")
        self.assert_error(tenon("run", self.path("none.gguf"), "-p", "a"), "none.gguf", "No such file")
        self.assert_error(tenon("run", self.tiny, "-f", self.folder), "directory")
        self.assert_error(tenon("run", self.tiny, "-f", self.path("none.txt")), "none.txt", "No such file")

    @unittest.skipIf(os.geteuid() == 0 and not shutil.which("setpriv"), "root may read everything")
    def test_no_permission(self):
        path = self.path("secret.gguf")
        shutil.copy(self.tiny, path)
        os.chmod(path, 0)
        os.chmod(self.folder, 0o755)
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        copy = self.path("tenon")  # the build's folder may be closed to others
        shutil.copy(BIN, copy)
        done = subprocess.run([*user, copy, "run", path, "-p", "a"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"Permission denied", done.stderr)

    def test_invalid_utf8(self):
        answer = self.run_json("--raw", "-n", "3", stdin=b"\xff\xc0\xaf \xed\xa0\x80\x00z")
        self.assertEqual(answer["prompt_ids"], list(b"\xff\xc0\xaf \xed\xa0\x80\x00z"))
        self.assertEqual(len(answer["ids"]), 3)

    def test_score_and_tokenize_input(self):
        for content, part in (("{", "JSON"), ('{"a": 1}', "array"), ("[1, 2.5]", "token id"), ('["a"]', "token id"),
                              ("[-1]", "token id"), ("[259]", "259"), ("[99999999999]", "token id")):
            with open(self.path("bad.json"), "w") as file:
                file.write(content)
            self.assert_error(tenon("score", self.tiny, "--ids", self.path("bad.json")), part)
        self.assert_error(tenon("score", self.tiny, "--ids", self.path("none.json")), "No such file")
        for given, part in ((b"hello\n", "line 1"), (b"[1]\n", "string"), (b'"\xff"\n', "line 1")):
            self.assert_error(tenon("tokenize", self.tiny, stdin=given), part)
        for given, part in ((b'"a"\n', "array"), (b"[1000]\n", "1000"), (b'["a"]\n', "token id")):
            self.assert_error(tenon("tokenize", self.tiny, "--decode", stdin=given), part)

    def test_usage(self):
        for arguments in ([], ["dance"], ["run"], ["run", self.tiny, "--no-such"], ["run", self.tiny, "-n", "-1"],
                          ["run", self.tiny, "-n", "many"], ["run", self.tiny, "--temp", "-1"],
                          ["run", self.tiny, "--top-p", "2"], ["run", self.tiny, "--top-k", "-3"], ["run", self.tiny, "--kv", "q8"],
                          ["run", self.tiny, "--ctx", "0"], ["run", self.tiny, "--threads", "0"], ["run", self.tiny, "extra"],
                          ["run", self.tiny, "-p", "a", "-f", "b"], ["score", self.tiny], ["score", self.tiny, "--ids", "x", "--top", "0"]):
            done = tenon(*arguments)
            self.assert_error(done, code=2)
            self.assertIn("--help", done.errors)
        self.assert_error(tenon("run", self.tiny, "-p", "a", "--temp", "nan"), "temperature is nan")

    def test_little_memory(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28))
        write_model(self.path("wide.gguf"), {"llama.context_length": 1 << 30})
        done = tenon("run", self.path("wide.gguf"), "--ctx", 1 << 24, "-p", "a", preexec_fn=limit)
        self.assert_error(done, "memory")


class Ends(CliTest):
    """Pipes that close, disks that are full, and Ctrl-C."""

    def test_closed_pipe(self):
        for options in (["-n", "3000"], ["-n", "300", "--json"]):
            process = subprocess.Popen([BIN, "run", self.tiny, "-p", "a", *options], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
            process.stdout.close()
            with process.stderr:
                errors = process.stderr.read().decode()
            self.assertIn(process.wait(60), (0, 1))
            self.assertNotIn("error", errors)

    def test_full_disk(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([BIN, "run", self.tiny, "-p", "a", "-n", "50"], stdout=full, stderr=subprocess.PIPE,
                                  timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"No space left", done.stderr)

    def start(self, *arguments, model=None):
        return subprocess.Popen([BIN, "run", model or self.tiny, *arguments], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_interrupt_in_decode(self):
        process = self.start("-p", "a", "-n", "4000")
        process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130, errors)
        self.assertTrue(out.endswith(b"\n"))
        self.assertIn(b"interrupted", errors)

    def test_interrupt_in_decode_with_json(self):
        write_model(self.path("slow.gguf"), channels=256, ffn=1024, layers=4)
        process = self.start("-p", "a", "-n", "4000", "--json", model=self.path("slow.gguf"))
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130, errors)
        self.assertEqual(json.loads(out)["finish"], "interrupted")

    def test_interrupt_in_prefill(self):
        write_model(self.path("wide.gguf"), {"llama.context_length": 40000}, channels=256, ffn=1024, layers=4)
        with open(self.path("long.txt"), "w") as file:
            file.write("x" * 39000)
        process = self.start("--raw", "--ctx", "40000", "-f", self.path("long.txt"), "--json", model=self.path("wide.gguf"))
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        start = time.time()
        out, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertLess(time.time() - start, 20)
        answer = json.loads(out)
        self.assertEqual((answer["finish"], answer["ids"]), ("interrupted", []))

    def test_second_interrupt_ends_at_once(self):
        write_model(self.path("wide.gguf"), {"llama.context_length": 40000}, channels=256, ffn=1024, layers=4)
        with open(self.path("long.txt"), "w") as file:
            file.write("x" * 39000)
        process = self.start("--raw", "--ctx", "40000", "-f", self.path("long.txt"), model=self.path("wide.gguf"))
        time.sleep(1.5)
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(0.1)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)


if __name__ == "__main__":
    unittest.main()
