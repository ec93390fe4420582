// What the tests of anchors' kernels share: a description whose epilogue only stores, and ways to run its groups.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "core/half.h"
#include "kernels/index.h"
#include "runtime/kernel.h"

namespace tenon {
namespace {

// Elements of one dtype, filled from f32 values.
struct Data {
  DType dtype = DType::f32;
  std::vector<float> values;  // what the bytes hold, after rounding
  std::vector<std::byte> bytes;

  Data() = default;
  Data(DType t, std::vector<float> v) : dtype(t), values(std::move(v)) {
    bytes.resize(values.size() * size_t(block_bytes(t)));
    for (size_t i = 0; i < values.size(); i++) set(i, values[i]);
  }
  void set(size_t i, float f) {
    if (dtype == DType::f32) {
      std::memcpy(&bytes[i * 4], &f, 4);
      values[i] = f;
      return;
    }
    const uint16_t h = dtype == DType::f16 ? f16_from_f32(f) : bf16_from_f32(f);
    std::memcpy(&bytes[i * 2], &h, 2);
    values[i] = dtype == DType::f16 ? f32_from_f16(h) : f32_from_bf16(h);
  }
};

inline Data random_values(DType t, int64_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::vector<float> v(static_cast<size_t>(n));
  for (float& f : v) f = float(int32_t(rng())) * 0x1p-31f;  // [-1, 1)
  return Data(t, std::move(v));
}

struct AnchorCase {
  KernelDesc desc;
  Params params;
  std::vector<const std::byte*> inputs;
  std::vector<uint32_t> scalars;
  int64_t out_elements = 0;

  // Adds the epilogue "store the result as f32", over the dense output as one axis.
  void store_result(int64_t elements) {
    desc.anchor_operands = int(desc.operands.size());
    desc.outer_rank = 1;
    Operand out;
    out.access = Access::out;
    out.stride_class[0] = 1;
    desc.operands.push_back(out);
    Instr result, store;
    result.kind = Instr::Kind::accumulator;
    store.kind = Instr::Kind::store;
    store.operand = uint16_t(desc.operands.size() - 1);
    desc.program = {result, store};
    params.region.dims[0] = elements;
    params.region.operands[0].strides[0] = 1;
    out_elements = elements;
  }
  void add_input(DType t, const std::byte* data) {
    Operand in;
    in.dtype = t;
    desc.operands.push_back(in);
    inputs.push_back(data);
  }
};

enum class Order { forward, reverse, two_threads };

// Runs all groups into poisoned memory with poisoned scratch.
inline std::vector<float> run_case(const NativeKernel& kernel, const AnchorCase& c, Order order = Order::reverse) {
  std::vector<float> out(size_t(c.out_elements) + 64);
  std::memset(out.data(), 0xff, out.size() * 4);
  std::vector<std::byte*> buffers;
  for (const std::byte* p : c.inputs) buffers.push_back(const_cast<std::byte*>(p));
  buffers.push_back(reinterpret_cast<std::byte*>(out.data()));
  const auto prepared = kernel.prepare ? kernel.prepare(c.desc) : nullptr;
  const KernelArgs args{&c.desc, prepared.get(), buffers.data(), &c.params, c.scalars.data()};
  const Grid grid = kernel.grid(c.desc, c.params);
  const auto work = [&](int64_t first, int64_t step) {
    std::vector<std::byte> scratch(size_t(grid.scratch_bytes) + 64, std::byte{0xff});
    for (int64_t g = first; g >= 0 && g < grid.groups; g += step) kernel.run(args, g, scratch.data());
    for (size_t i = size_t(grid.scratch_bytes); i < scratch.size(); i++)
      EXPECT_EQ(scratch[i], std::byte{0xff}) << kernel.name << " wrote behind its scratch";
  };
  if (order == Order::forward) work(0, 1);
  if (order == Order::reverse) work(grid.groups - 1, -1);
  if (order == Order::two_threads) {
    std::thread other([&] { work(1, 2); });
    work(0, 2);
    other.join();
  }
  for (size_t i = size_t(c.out_elements); i < out.size(); i++)
    EXPECT_TRUE(std::isnan(out[i])) << kernel.name << " wrote behind its output";
  out.resize(size_t(c.out_elements));
  return out;
}

// All rows of a family that this processor can run.
inline std::vector<const NativeKernel*> rows_for(const char* target, const KernelDesc& desc) {
  std::vector<const NativeKernel*> rows;
  for (const NativeKernel& k : native_kernels(target))
    if (k.family == desc.family && k.applies(desc)) rows.push_back(&k);
  EXPECT_FALSE(rows.empty()) << "no kernel for " << desc.family;
  return rows;
}

inline void expect_equal_bits(const std::vector<float>& a, const std::vector<float>& b, const char* what) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_TRUE(a.empty() || std::memcmp(a.data(), b.data(), a.size() * 4) == 0) << what;
}

}  // namespace
}  // namespace tenon
