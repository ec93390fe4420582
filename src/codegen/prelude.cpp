#include "codegen/prelude.h"

#include <algorithm>

#include "base/cat.h"
#include "codegen/texts.h"

namespace tenon::codegen {
namespace {

// What NVRTC lacks of the compilers that the shared texts are written for. Functions without a mark are the device's
// (option -default-device). 177: a function that is not used; 68: a constant that changes its sign, where instructions
// take bits.
constexpr const char* compiler_text = R"(
#if !defined(TENON_STANDIN)
#pragma nv_diag_suppress 68, 177
typedef unsigned char uint8_t;
typedef signed char int8_t;
typedef unsigned short uint16_t;
typedef short int16_t;
typedef unsigned int uint32_t;
typedef int int32_t;
typedef unsigned long long uint64_t;
typedef long long int64_t;
#define __builtin_inff() __builtin_bit_cast(float, 0x7f800000u)
#define __builtin_inf() __builtin_bit_cast(double, 0x7ff0000000000000ull)
#define __builtin_nanf(text) __builtin_bit_cast(float, 0x7fc00000u)
#define __builtin_nan(text) __builtin_bit_cast(double, 0x7ff8000000000000ull)
#define __builtin_sqrt(x) sqrt(x)
#define __builtin_sqrtf(x) sqrtf(x)
#define __builtin_floor(x) floor(x)
#define __builtin_ceil(x) ceil(x)
#define __builtin_trunc(x) trunc(x)
#define __builtin_memcpy(to, from, bytes) memcpy(to, from, bytes)
#endif
)";

// A file of the library as text of a kernel: without includes, and without an attribute that NVRTC does not know.
std::string as_kernel_text(std::string_view file) {
  constexpr std::string_view attribute = "[[gnu::always_inline]] ";
  std::string out;
  while (!file.empty()) {
    const size_t end = std::min(file.find('\n'), file.size() - 1);
    std::string line(file.substr(0, end + 1));
    file.remove_prefix(end + 1);
    if (line.starts_with("#include") || line.starts_with("#pragma once")) continue;
    for (size_t at; (at = line.find(attribute)) != line.npos;) line.erase(at, attribute.size());
    out += line;
  }
  return out;
}

std::string without_comments(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1);
    const size_t start = text.find_first_not_of(' ', at);
    const bool comment = start < end && text.compare(start, 2, "//") == 0;
    if (!comment && start < end) out.append(text, at, end + 1 - at);
    at = end + 1;
  }
  return out;
}

std::string kernel_text(const char* file) { return without_comments(as_kernel_text(file)); }

// Instructions that go through f64, and lanes of 8 bytes.
bool needs_wide(const KernelDesc& d) {
  return std::any_of(d.program.begin(), d.program.end(), [](const Instr& i) {
    if (is_wide(i.lane) || is_wide(i.arg_lane)) return true;
    if (i.kind != Instr::Kind::op || i.arg_lane != Lane::f32) return false;
    return i.op >= ScalarOp::floor && i.op <= ScalarOp::fma;
  });
}

bool has_reductions(const KernelDesc& d) {
  return std::any_of(d.program.begin(), d.program.end(), [](const Instr& i) { return i.kind == Instr::Kind::reduce; });
}

}  // namespace

Source finished(const KernelDesc& d, const std::string& code, std::vector<Phase> phases, bool scratch) {
  static const std::string base = compiler_text + kernel_text(texts::params) + kernel_text(texts::half) +
                                  kernel_text(texts::math) + kernel_text(texts::scalar_instructions) +
                                  kernel_text(texts::prelude) + kernel_text(texts::instructions);
  static const std::string wide = kernel_text(texts::wide_math) + kernel_text(texts::rounding) + kernel_text(texts::wide_scalar_instructions) +
                                  kernel_text(texts::f64_functions) + kernel_text(texts::wide_instructions);
  static const std::string reduce = kernel_text(texts::reduce);
  Source out;
  out.text = base + (needs_wide(d) ? wide : "") + (has_reductions(d) ? reduce : "") + "\nnamespace tenon {\nnamespace gpu {\n" + code +
             "}  // namespace gpu\n}  // namespace tenon\n";
  out.phases = std::move(phases);
  out.scratch = scratch;
  return out;
}

}  // namespace tenon::codegen
