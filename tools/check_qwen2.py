#!/usr/bin/env python3
"""Compares Tenon with the oracle on small random models: Qwen2 (biases, half pairing) and Llama, tied and untied.

    check_qwen2.py [--tenon BIN] [--device D] [--seeds N] [--length T]

The name says what no real model at hand covers; the Llama models cover every tensor type in one file.
"""

import argparse
import os
import random
import sys
import tempfile

import make_random_model
from check_score import CheckError, add_options, check

VARIANTS = [
    ("qwen2", []),
    ("qwen2-tied", ["--arch", "qwen2", "--tied", "--heads", "8", "--kv-heads", "2"]),
    ("llama", ["--arch", "llama"]),
    ("llama-tied", ["--arch", "llama", "--tied", "--kv-heads", "4", "--types", "q4_0"]),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, rtol=1e-4, atol=0.0)
    parser.add_argument("--seeds", type=int, default=2, help="models of each variant")
    parser.add_argument("--length", type=int, default=70, help="ids fed; more than one block of a prefill")
    o = parser.parse_args()
    results = []
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name, options in VARIANTS:
                for seed in range(1, o.seeds + 1):
                    path = os.path.join(folder, f"{name}-{seed}.gguf")
                    make_random_model.make(path, "--arch", "qwen2", *options, "--seed", seed)
                    ids = random.Random(seed).choices(range(400), k=o.length)
                    results.append(check(o.tenon, path, [ids[:1], ids], o.device, o.rtol, o.atol))
    except (CheckError, OSError, ValueError) as error:
        sys.exit(f"check_qwen2: {error}")
    print(f"{sum(results)} of {len(results)} models agree")
    sys.exit(0 if results and all(results) else 1)


if __name__ == "__main__":
    main()
