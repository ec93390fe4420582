// Stacks that threads of a block wait on. x86-64 only: the switch is written by hand, as the system's own (swapcontext)
// makes two calls to the kernel each time and is fifteen times slower.
#pragma once
#include <cstddef>

namespace standin {

// Leaves the running stack, whose position goes to *save, and goes on at `next`.
extern "C" void standin_switch(void** save, void* next);

struct Fibre {
  static constexpr size_t stack_bytes = 256 << 10;
  explicit Fibre(void (*main)());  // `main` must never return
  ~Fibre();
  Fibre(const Fibre&) = delete;
  // Forgets what was on the stack; the fibre starts anew.
  void reset();
  // Whether an address lies in the guard page below the stack.
  bool overflowed_at(const char* address) const { return address >= memory && address < memory + guard_bytes; }

  static constexpr size_t guard_bytes = 4096;
  void (*main)();
  char* memory;
  void* position = nullptr;
};

}  // namespace standin
