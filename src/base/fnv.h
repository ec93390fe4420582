// FNV-1a, 64 bits: G. Fowler, L. Noll, K.-P. Vo, the FNV non-cryptographic hash algorithm (RFC 9923).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace tenon {

inline constexpr uint64_t fnv_start = 0xcbf29ce484222325u;

// The hash of what `state` stands for, followed by `bytes`.
inline uint64_t fnv(std::span<const std::byte> bytes, uint64_t state = fnv_start) {
  for (std::byte b : bytes) state = (state ^ uint64_t(b)) * 0x100000001b3u;
  return state;
}

}  // namespace tenon
