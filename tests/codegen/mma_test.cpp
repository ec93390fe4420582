// Which kernels get phases on tensor cores, and which launches go to them. Values: tests/ops/many_rows_test.cpp.
#include "codegen/mma.h"

#include <algorithm>

#include "kernels/anchor_case.h"

namespace tenon::codegen {
namespace {

KernelDesc product(const char* family, DType a, DType b) {
  AnchorCase c;
  c.desc.family = family;
  c.add_input(a, nullptr);
  c.add_input(b, nullptr);
  c.store_result(2);
  return c.desc;
}

constexpr Target with_units{80, 1024, 163 << 10, false}, without{75, 1024, 64 << 10, false}, plain{80, 1024, 163 << 10, true};

int phases_of(const KernelDesc& d, const Target& target) {
  const Source s = emit(d, target);
  return int(std::count_if(s.phases.begin(), s.phases.end(), [](const Phase& p) { return p.entry.find("_mma_") != p.entry.npos; }));
}

TEST(TensorCores, ServeProductsWithA16BitOrQuantisedFactor) {
  using D = DType;
  for (auto [a, b] : {std::pair{D::bf16, D::bf16}, {D::f16, D::f16}, {D::f32, D::bf16}, {D::f16, D::f32}, {D::bf16, D::f16}}) {
    EXPECT_EQ(phases_of(product("matmul", a, b), with_units), 4);
    EXPECT_EQ(phases_of(product("matmul", a, b), without), 0);
    EXPECT_EQ(phases_of(product("matmul", a, b), plain), 0);
  }
  for (D w : {D::q8_0, D::q4_0, D::q4_1}) EXPECT_EQ(phases_of(product("quant_matmul", D::f32, w), with_units), 2);
  EXPECT_EQ(phases_of(product("matmul", D::f32, D::f32), with_units), 0);
}

TEST(TensorCores, NoInstructionOfTheirsIsInOtherTexts) {
  const KernelDesc d = product("matmul", DType::bf16, DType::bf16);
  for (const char* word : {"mma.sync", "ldmatrix", "cp.async"}) {
    EXPECT_NE(emit(d, with_units).text.find(word), std::string::npos);
    EXPECT_EQ(emit(d, without).text.find(word), std::string::npos);
    EXPECT_EQ(emit(d, plain).text.find(word), std::string::npos);
    EXPECT_EQ(emit(product("matmul", DType::f32, DType::f32), with_units).text.find(word), std::string::npos);
  }
}

// The entry that a launch of out[m,n] runs, behind the kernel's name.
std::string entry_for(int64_t m, int64_t n, int64_t k, bool a_by_k, bool b_by_k) {
  const KernelDesc d = product("matmul", DType::bf16, DType::bf16);
  const Source s = emit(d, with_units);
  Params p{};
  p.matmul.m = m, p.matmul.n = n, p.matmul.k = k;
  for (I64& b : p.matmul.batch) b = 1;
  p.matmul.a_row = a_by_k ? k : 1, p.matmul.a_col = a_by_k ? 1 : m;
  p.matmul.b_row = b_by_k ? 1 : n, p.matmul.b_col = b_by_k ? k : 1;
  const Extent e = extent(d, s, p);
  std::string out;
  for (size_t i = 0; i < e.groups.size(); ++i)
    if (e.groups[i] > 0) out += s.phases[i].entry.substr(kernel_name(d).size());
  return out;
}

TEST(TensorCores, TakeManyRowsOfEveryLayoutButOne) {
  EXPECT_EQ(entry_for(4096, 4096, 64, true, true), "_mma_kk128");
  EXPECT_EQ(entry_for(4096, 4096, 64, true, false), "_mma_kn128");
  EXPECT_EQ(entry_for(4096, 4096, 64, false, false), "_mma_mn128");
  EXPECT_EQ(entry_for(4096, 4096, 64, false, true), "_tiles");
  EXPECT_EQ(entry_for(9, 896, 896, true, true), "_mma_kk64");
  EXPECT_EQ(entry_for(8, 896, 896, true, true), "_column8");
  EXPECT_EQ(entry_for(0, 896, 896, true, true), "");
}

}  // namespace
}  // namespace tenon::codegen
