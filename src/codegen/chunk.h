// A chunk: the elements along a region's last axis that one thread computes at once.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "codegen/program.h"

namespace tenon::codegen {

// Emits the code of one chunk: loads of contiguous operands at once, the instructions for each element, stores.
// Around it must be in scope: `B`, `p`, coordinates c<begin> … c<end-1> of the first element, `count` elements of `width`
// that exist, and for each operand a base offset o<operand> (int64_t) without the axes [begin, end).
struct ChunkCode {
  const KernelDesc& desc;
  const ProgramText& text;
  int begin, end;
  int width;

  // `wanted`: instructions that are computed per element, in order; values of all others are in scope. `each`: code at the
  // end of each element `e`, also of those from `count` on. `stores`: instructions that store per element.
  void emit(Code& code, const std::vector<size_t>& wanted, const std::vector<size_t>& stores,
            const std::function<void(Code&)>& each) const;

 private:
  bool at_once(int operand) const;
  std::string offset(int operand) const;
};

}  // namespace tenon::codegen
