// What this processor can do, read once; TENON_CPU=baseline|avx2|avx512 lowers it (tests run all that exist).
#pragma once
namespace tenon {
enum class Isa { baseline, avx2, avx512 };  // avx2: with FMA and F16C; avx512: F, BW, DQ, VL
Isa cpu_isa();
const char* to_string(Isa isa);
}  // namespace tenon
