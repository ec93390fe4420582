// What kernel text that was compiled for the CPU and the stand-in that runs it know of each other. No standard header
// beyond these two: kernels are compiled in great numbers, and parse time is most of their cost.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct si_u3 {
  unsigned x, y, z;
};
// One per thread of the system and compiled file; the runner rewrites it when it goes from one kernel thread to another.
struct si_state {
  si_u3 tid, bid, bdim, gdim;
  unsigned lane, warp;
  void* dynamic;  // dynamic shared memory
};
// Makes the results of a warp operation for all lanes of `mask`, when the last one has come: in[lane] is what a lane
// brought, src[lane] the lane that it reads.
typedef void si_fold(const uint64_t* in, const int* src, uint64_t* out, unsigned mask);
struct si_api {
  void (*barrier)(int line);
  uint64_t (*warp)(unsigned mask, uint64_t value, int src, si_fold* fold, int line);
  void* (*shared)(const void* key, size_t size);  // a static shared array: the same for all threads of a block
  void (*fail)(const char* message, int line);
};
// One kernel of a compiled file.
struct si_kernel {
  void (*call)(void** parameters);
  const unsigned* sizes;  // of the parameters, in bytes
  unsigned parameters;
};
