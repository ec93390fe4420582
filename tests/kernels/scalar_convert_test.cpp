// Loads, stores and dequantisation, for every instruction set that this processor has.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>
#include <vector>

#include "core/half.h"
#include "kernels/scalar/loop_table.cpu.h"
#include "tenon/error.h"

namespace tenon::cpu {
namespace {

constexpr uint32_t poison = 0xdeadbeefu;
constexpr DType plain_dtypes[] = {DType::f32, DType::f16, DType::bf16, DType::i32, DType::u32, DType::bool_};
constexpr DType quantised_dtypes[] = {DType::q8_0, DType::q4_0, DType::q4_1};

std::vector<const LoopTable*> tables() {
  std::vector<const LoopTable*> found;
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512})
    if (loop_table(isa)) found.push_back(loop_table(isa));
  return found;
}
uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }
float f32(uint32_t x) { return std::bit_cast<float>(x); }

std::vector<std::byte> random_bytes(int64_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> v(static_cast<size_t>(n));
  for (std::byte& b : v) b = std::byte(random() & 255u);
  return v;
}
template <class T>
T value_at(const std::byte* base, int64_t i) {
  T v;
  std::memcpy(&v, base + i * int64_t(sizeof v), sizeof v);
  return v;
}
uint32_t loaded(DType t, const std::byte* base, int64_t i) {
  switch (t) {
    case DType::f16: return bits(f32_from_f16(value_at<uint16_t>(base, i)));
    case DType::bf16: return bits(f32_from_bf16(value_at<uint16_t>(base, i)));
    case DType::bool_: return value_at<uint8_t>(base, i) != 0;
    default: return value_at<uint32_t>(base, i);
  }
}
void put(DType t, std::byte* base, int64_t i, uint32_t lane) {
  const uint16_t half = t == DType::f16 ? f16_from_f32(f32(lane)) : bf16_from_f32(f32(lane));
  const uint8_t truth = lane != 0;
  const int64_t size = block_bytes(t);
  const void* from = size == 4 ? static_cast<const void*>(&lane) : size == 2 ? static_cast<const void*>(&half) : &truth;
  std::memcpy(base + i * size, from, size_t(size));
}

struct Access {
  int64_t first, stride, n;
};
constexpr Access accesses[] = {{0, 1, 0},   {5, 1, 1}, {0, 1, 7},   {3, 1, 16},       {1, 1, 1000},    {0, 1, 1024},
                               {9, 0, 100}, {9, 0, 0}, {0, 2, 500}, {1023, -1, 1024}, {1500, -3, 400}, {7, 37, 50},
                               {2000, -1, 1}};

TEST(ScalarConvert, LoadsAnyStride) {
  for (const DType t : plain_dtypes) {
    const std::vector<std::byte> raw = random_bytes(2048 * 4, 1);
    for (const LoopTable* table : tables())
      for (const Access& a : accesses) {
        std::vector<uint32_t> lanes(static_cast<size_t>(a.n) + 8, poison);
        table->load(t, raw.data(), a.first, a.stride, a.n, lanes.data());
        for (int64_t i = 0; i < a.n; ++i)
          ASSERT_EQ(lanes[size_t(i)], loaded(t, raw.data(), a.first + i * a.stride))
              << int(t) << " stride " << a.stride << " at " << i;
        for (int64_t i = a.n; i < a.n + 8; ++i) ASSERT_EQ(lanes[size_t(i)], poison);
      }
  }
}

TEST(ScalarConvert, StoresAnyStride) {
  std::mt19937 random(2);
  std::vector<uint32_t> lanes(1024);
  for (size_t i = 0; i < lanes.size(); ++i) lanes[i] = i % 4 ? uint32_t(random()) : uint32_t(i % 8 ? 0 : 0x3f801234);
  for (const DType t : plain_dtypes)
    for (const LoopTable* table : tables())
      for (const Access& a : accesses) {
        const std::vector<std::byte> before = random_bytes(2048 * 4, 3);
        std::vector<std::byte> got = before, want = before;
        for (int64_t i = 0; i < a.n; ++i) put(t, want.data(), a.first + i * a.stride, lanes[size_t(i)]);
        table->store(t, got.data(), a.first, a.stride, a.n, lanes.data());
        ASSERT_EQ(got, want) << int(t) << " stride " << a.stride;
      }
}

TEST(ScalarConvert, EveryHalfLoadsAndComesBack) {
  std::vector<uint16_t> all(65536), back(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = uint16_t(i);
  std::vector<uint32_t> lanes(65536);
  for (const LoopTable* table : tables())
    for (const DType t : {DType::f16, DType::bf16}) {
      table->load(t, reinterpret_cast<const std::byte*>(all.data()), 0, 1, 65536, lanes.data());
      table->store(t, reinterpret_cast<std::byte*>(back.data()), 0, 1, 65536, lanes.data());
      for (uint32_t h = 0; h < 65536; ++h) {
        ASSERT_EQ(lanes[h], loaded(t, reinterpret_cast<const std::byte*>(all.data()), h)) << h;
        ASSERT_EQ(back[h], t == DType::f16 ? f16_from_f32(f32(lanes[h])) : bf16_from_f32(f32(lanes[h]))) << h;
      }
    }
}

// Hardware and core/half.h round alike: around every f16 boundary, NaN of every payload width, random bits.
TEST(ScalarConvert, RoundingToF16EveryInstructionSet) {
  std::vector<uint32_t> x;
  for (uint32_t h = 0; h < 0x7c00; ++h)
    for (const uint32_t low : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu})
      x.push_back(((h << 13) + 0x38000000u) | low), x.push_back(x.back() | 0x80000000u);
  for (uint32_t a = 0x32000000; a < 0x39000000; a += 997) x.push_back(a);  // subnormal results
  for (uint32_t bit = 0; bit < 23; ++bit) x.push_back(0x7f800000u | 1u << bit), x.push_back(0xff800000u | 1u << bit);
  std::mt19937 random(4);
  for (int i = 0; i < 100000; ++i) x.push_back(uint32_t(random()));
  const int64_t n = int64_t(x.size());
  std::vector<uint16_t> out(x.size());
  std::vector<uint32_t> rounded(x.size());
  const uint32_t* args[] = {x.data()};
  for (const LoopTable* table : tables()) {
    table->store(DType::f16, reinterpret_cast<std::byte*>(out.data()), 0, 1, n, x.data());
    table->scalar(ScalarOp::round_f16, Lane::f32)(rounded.data(), args, n);
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(out[i], f16_from_f32(f32(x[i]))) << std::hex << x[i];
      ASSERT_EQ(rounded[i], bits(f32_from_f16(out[i]))) << std::hex << x[i];
    }
  }
}

// Hazard F1, through the store that every backend's cpu path uses.
TEST(ScalarConvert, Bf16KnownRoundings) {
  const uint32_t from[] = {0x7f800001, 0xff800001, 0x7fffffff, 0x7f7fffff, 0x3f808000, 0x3f808001, 0x3f818000};
  const uint16_t to[] = {0x7fc0, 0xffc0, 0x7fff, 0x7f80, 0x3f80, 0x3f81, 0x3f82};
  for (const LoopTable* table : tables()) {
    uint16_t out[7];
    table->store(DType::bf16, reinterpret_cast<std::byte*>(out), 0, 1, 7, from);
    EXPECT_EQ(std::memcmp(out, to, sizeof out), 0);
  }
}

// ---------------------------------------------------------------------------------------------- dequantisation

float dequantised(DType t, const std::byte* base, int64_t e) {
  const std::byte* p = base + e / 32 * block_bytes(t);
  const int at = int(e % 32);
  const float d = f32_from_f16(value_at<uint16_t>(p, 0));
  if (t == DType::q8_0) return d * float(int8_t(p[2 + at]));
  const std::byte* nibbles = p + (t == DType::q4_0 ? 2 : 4);
  const int byte = int(nibbles[at % 16]), q = at < 16 ? byte & 15 : byte >> 4;
  if (t == DType::q4_0) return d * float(q - 8);
  const float product = d * float(q);
  return product + f32_from_f16(value_at<uint16_t>(p, 1));
}

TEST(ScalarConvert, DequantisesFromAnyElement) {
  constexpr int64_t blocks = 70;
  for (const DType t : quantised_dtypes) {
    // Odd address, because rows in a mapped file align nothing.
    std::vector<std::byte> raw = random_bytes(1 + blocks * block_bytes(t), 6);
    std::byte* base = raw.data() + 1;
    for (int64_t b = 0; b < blocks; ++b) {  // most scales moderate; the rest are whatever random bits give
      const uint16_t scales[] = {0x2c12, 0xb456, 0, 0x8000, 0x7c00, 0xfc00, 0x7e01, 0x0003};
      if (b % 3) std::memcpy(base + b * block_bytes(t), &scales[b % 8], 2);
    }
    for (const LoopTable* table : tables())
      for (const int64_t first : {0, 1, 15, 16, 31, 32, 33, 1000})
        for (const int64_t n : {0, 1, 7, 31, 32, 33, 64, 100, 1024}) {
          std::vector<uint32_t> lanes(static_cast<size_t>(n) + 4, poison);
          table->load(t, base, first, 1, n, lanes.data());
          for (int64_t i = 0; i < n; ++i) {
            const float want = dequantised(t, base, first + i);
            if (want != want) ASSERT_NE(f32(lanes[size_t(i)]), f32(lanes[size_t(i)]));
            else ASSERT_EQ(lanes[size_t(i)], bits(want)) << int(t) << " first " << first << " i " << i;
          }
          for (int64_t i = n; i < n + 4; ++i) ASSERT_EQ(lanes[size_t(i)], poison);
        }
  }
}

TEST(ScalarConvert, DequantisedBitsAreEqual) {
  for (const DType t : quantised_dtypes) {
    std::vector<std::byte> raw = random_bytes(256 * block_bytes(t), 7);
    if (t == DType::q4_1)  // m finite: which NaN comes of d * q + m with two is left open
      for (int64_t b = 0; b < 256; ++b) raw[size_t(b * block_bytes(t) + 3)] &= std::byte(0xbf);
    std::vector<uint32_t> want(256 * 32), got(256 * 32);
    loop_table(Isa::baseline)->load(t, raw.data(), 0, 1, 256 * 32, want.data());
    for (const LoopTable* table : tables()) {
      table->load(t, raw.data(), 0, 1, 256 * 32, got.data());
      ASSERT_EQ(got, want) << int(t);
    }
  }
}

TEST(ScalarConvert, FillsAndRefuses) {
  for (const LoopTable* table : tables()) {
    std::vector<uint32_t> lanes(40, poison);
    table->fill(7, 33, lanes.data());
    for (size_t i = 0; i < 40; ++i) ASSERT_EQ(lanes[i], i < 33 ? 7u : poison);
  }
  std::vector<std::byte> raw(64);
  uint32_t lanes[32] = {};
  EXPECT_THROW(store_lanes(DType::q8_0, raw.data(), 0, 1, 32, lanes), Error);
  EXPECT_THROW(load_lanes(DType::q4_1, raw.data(), 0, 2, 16, lanes), Error);
}

}  // namespace
}  // namespace tenon::cpu
