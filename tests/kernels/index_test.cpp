// The kernel index of the targets whose kernels are C++ functions.
#include "kernels/anchor_case.h"

#include <map>

namespace tenon {
namespace {

TEST(KernelIndex, UnknownTargetHasNoKernels) {
  EXPECT_TRUE(native_kernels("abacus").empty());
  EXPECT_EQ(find_native_kernel("abacus", {}), nullptr);
}

TEST(KernelIndex, UnknownFamilyAndDtypeHaveNoKernel) {
  AnchorCase c;
  c.desc.family = "matmul";
  c.add_input(DType::f32, nullptr);
  c.add_input(DType::f32, nullptr);
  c.store_result(1);
  EXPECT_NE(find_native_kernel("cpu", c.desc), nullptr);
  EXPECT_NE(find_native_kernel("host", c.desc), nullptr);
  c.desc.operands[1].dtype = DType::i32;
  EXPECT_EQ(find_native_kernel("cpu", c.desc), nullptr);
  EXPECT_EQ(find_native_kernel("host", c.desc), nullptr);
  c.desc.family = "no such family";
  EXPECT_EQ(find_native_kernel("cpu", c.desc), nullptr);
}

TEST(KernelIndex, TheBestRowComesFirst) {
  AnchorCase c;
  c.desc.family = "matmul";
  c.add_input(DType::f16, nullptr);
  c.add_input(DType::bf16, nullptr);
  c.store_result(1);
  EXPECT_EQ(find_native_kernel("cpu", c.desc), rows_for("cpu", c.desc).front());
}

TEST(KernelIndex, EveryFamilyOfTheCpuHasAPlainRowBehindItsTunedOnes) {
  std::map<std::string, bool> plain_seen;
  for (const NativeKernel& k : native_kernels("cpu")) {
    bool& seen = plain_seen[k.family];
    EXPECT_FALSE(seen && !k.plain) << k.name;
    seen = seen || k.plain;
  }
  for (const auto& [family, seen] : plain_seen) EXPECT_TRUE(seen) << family;
}

TEST(KernelIndex, PlainSkipsTunedRows) {
  AnchorCase c;
  c.desc.family = "matmul";
  c.add_input(DType::f16, nullptr);
  c.add_input(DType::bf16, nullptr);
  c.store_result(1);
  EXPECT_STREQ(find_native_kernel("cpu", c.desc, KernelChoice::plain)->name, "matmul_plain");
  EXPECT_FALSE(find_native_kernel("cpu", c.desc)->plain);
}

TEST(KernelIndex, RowsAreComplete) {
  for (const char* target : {"cpu", "host"})
    for (const NativeKernel& k : native_kernels(target)) {
      EXPECT_NE(k.family, nullptr);
      EXPECT_NE(k.name, nullptr);
      EXPECT_NE(k.applies, nullptr);
      EXPECT_NE(k.grid, nullptr);
      EXPECT_NE(k.run, nullptr);
    }
}

}  // namespace
}  // namespace tenon
