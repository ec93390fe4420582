#include "fibre.h"

#include <sys/mman.h>

#include <new>

namespace standin {

// Callee-saved registers go on the stack, then the stacks change, then the other's come back.
asm(R"(
.text
.globl standin_switch
.type standin_switch,@function
standin_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rdx
  jmp *%rdx
.size standin_switch,.-standin_switch
)");

Fibre::Fibre(void (*start)()) : main(start) {
  void* m = ::mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (m == MAP_FAILED) throw std::bad_alloc();
  memory = static_cast<char*>(m);
  ::mprotect(memory, guard_bytes, PROT_NONE);
  reset();
}

Fibre::~Fibre() { ::munmap(memory, guard_bytes + stack_bytes); }

void Fibre::reset() {
  void** top = reinterpret_cast<void**>(memory + guard_bytes + stack_bytes);
  *--top = nullptr;  // where a return address would be: the stack's alignment at a function's entry
  *--top = reinterpret_cast<void*>(main);
  for (int saved = 0; saved < 6; ++saved) *--top = nullptr;
  position = top;
}

}  // namespace standin
