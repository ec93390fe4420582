#!/usr/bin/env python3
"""PyTorch beside `tenon bench` on an NVIDIA GPU: the same shapes, random weights, medians and spread. One JSON line a figure.

    bench/peers/cuda.py ops|matmul|attention|0.5b|7b...

ops       f32 [65536, 4096] (1 GiB): a copy, softmax, rms_norm, add+gelu, a map of three inputs; bytes read and written
matmul    4096 x 4096 x 4096 in bf16
attention causal, 16 heads of 128, 4096 tokens, bf16, forward
0.5b, 7b  Qwen2.5's shapes in bf16: decode at a context of 512, eager and as a CUDA graph; prefill of 512

Compiled kernels of PyTorch (torch.compile) are taken where they are faster than eager ones: the peer is the best of both.
"""

import json
import sys

import torch
import torch.nn.functional as F

DEVICE = "cuda"


def seconds(function, repeats=20, warm=5):
    """Least, median and most of several runs."""
    for _ in range(warm):
        function()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        function()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    times.sort()
    return times[0], times[len(times) // 2], times[-1]


def report(name, times, amount, unit, **more):
    least, median, most = times
    print(json.dumps({"name": name, "unit": unit, "median": amount / median, "least": amount / most, "most": amount / least,
                      **more}), flush=True)
    return amount / median


def best(name, function, amount, unit):
    """Eager and compiled, the faster reported."""
    results = [("eager", seconds(function))]
    try:
        compiled = torch.compile(function)
        results.append(("compiled", seconds(compiled)))
    except Exception as error:  # pylint: disable=broad-except
        print(f"{name}: torch.compile: {str(error)[:200]}", file=sys.stderr)
    how, times = min(results, key=lambda r: r[1][1])
    report(name, times, amount, unit, how=how)


def ops():
    rows, columns = 65536, 4096
    x, y, z = (torch.randn(rows, columns, device=DEVICE) for _ in range(3))
    weight, out = torch.randn(columns, device=DEVICE), torch.empty_like(x)
    gib = x.numel() * 4 / 1e9
    report("copy", seconds(lambda: out.copy_(x)), 2 * gib, "GB/s")
    best("softmax", lambda: torch.softmax(x, -1), 2 * gib, "GB/s")
    best("rms_norm", lambda: F.rms_norm(x, (columns,), weight, 1e-5), 2 * gib, "GB/s")
    best("layer_norm", lambda: F.layer_norm(x, (columns,), weight, weight, 1e-5), 2 * gib, "GB/s")
    best("add + gelu", lambda: F.gelu(x + y), 3 * gib, "GB/s")
    best("3-input map", lambda: x * y + z, 4 * gib, "GB/s")
    best("sum over rows", lambda: x.sum(-1), gib, "GB/s")


def matmul():
    n = 4096
    a, b = (torch.randn(n, n, device=DEVICE, dtype=torch.bfloat16) for _ in range(2))
    report("matmul bf16 4096", seconds(lambda: a @ b), 2 * n**3 / 1e12, "TFLOP/s")


def attention():
    heads, length, size = 16, 4096, 128
    q, k, v = (torch.randn(1, heads, length, size, device=DEVICE, dtype=torch.bfloat16) for _ in range(3))
    flops = 2 * heads * length * length * size  # half of them: causal
    report("attention causal 16x4096x128", seconds(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)), flops / 1e12,
           "TFLOP/s")


MODELS = {
    "0.5b": {"vocab_size": 151936, "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
             "num_attention_heads": 14, "num_key_value_heads": 2, "tie_word_embeddings": True},
    "7b": {"vocab_size": 152064, "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
           "num_attention_heads": 28, "num_key_value_heads": 4, "tie_word_embeddings": False},
}


def decode(name, context=512):
    from transformers import Qwen2Config, Qwen2ForCausalLM, StaticCache  # pylint: disable=import-outside-toplevel
    config = Qwen2Config(max_position_embeddings=4096, **MODELS[name])
    # Made where it runs, in its own type: 7B in f32 on the host would take a minute.
    torch.set_default_dtype(torch.bfloat16)
    with torch.device(DEVICE):
        model = Qwen2ForCausalLM(config).eval()
    torch.set_default_dtype(torch.float32)
    ids = torch.randint(0, config.vocab_size, (1, context), device=DEVICE)
    with torch.inference_mode():
        report(f"qwen2.5-{name} bf16 prefill {context}", seconds(lambda: model(ids, use_cache=False), 5, 2), context, "tok/s")
        cache = StaticCache(config=config, max_cache_len=context + 128)
        model(ids, past_key_values=cache, use_cache=True)
        token, position = ids[:, -1:].clone(), torch.tensor([context], device=DEVICE)

        def step():
            return model(token, past_key_values=cache, use_cache=True, cache_position=position)
        report(f"qwen2.5-{name} bf16 decode eager", seconds(step, 20, 5), 1, "tok/s")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        report(f"qwen2.5-{name} bf16 decode CUDA graph", seconds(graph.replay, 50, 10), 1, "tok/s")


def main():
    known = {"ops": ops, "matmul": matmul, "attention": attention, **{m: lambda m=m: decode(m) for m in MODELS}}
    if len(sys.argv) < 2 or any(a not in known for a in sys.argv[1:]):
        sys.exit(__doc__)
    print(json.dumps({"name": "machine", "gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda}))
    for argument in sys.argv[1:]:
        known[argument]()
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
