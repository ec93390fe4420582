#include "block_runner.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <sstream>

#include "memory.h"
#include "source_line.h"

namespace standin {
namespace {

constexpr size_t page = 4096, signal_stack_bytes = 64 << 10;
thread_local BlockRunner* running = nullptr;
struct sigaction handlers_before[32];

std::string text(const si_u3& v) {
  return "(" + std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z) + ")";
}

}  // namespace

const si_api BlockRunner::api = {api_barrier, api_warp, api_shared, api_fail};

BlockRunner::BlockRunner() {
  const size_t slot = max_shared + page;
  void* m = ::mmap(nullptr, (shared_arrays + 1) * slot, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (m == MAP_FAILED) throw std::bad_alloc();
  shared_ = static_cast<char*>(m);
  for (size_t i = 0; i <= shared_arrays; ++i) ::mprotect(shared_end(i), page, PROT_NONE);
  signal_stack_ = std::make_unique<char[]>(signal_stack_bytes);
  stack_t stack{};
  stack.ss_sp = signal_stack_.get();
  stack.ss_size = signal_stack_bytes;
  ::sigaltstack(&stack, nullptr);
  install_handlers();
}

BlockRunner::~BlockRunner() {
  stack_t off{};
  off.ss_flags = SS_DISABLE;
  ::sigaltstack(&off, nullptr);
  ::munmap(shared_, (shared_arrays + 1) * (max_shared + page));
}

char* BlockRunner::shared_end(size_t slot) const { return shared_ + slot * (max_shared + page) + max_shared; }

// ------------------------------------------------------------------------------------------------------- the caller's

std::string BlockRunner::run(const si_kernel& kernel, si_state& state, const LaunchShape& shape, void** parameters) {
  running = this;
  kernel_ = &kernel;
  state_ = &state;
  parameters_ = parameters;
  report_.clear();
  fault_at_ = nullptr;
  prepare(shape);
  const uint64_t blocks = uint64_t(shape.grid.x) * shape.grid.y * shape.grid.z;
  for (uint64_t b = 0; b < blocks && report_.empty(); ++b) run_block(b);
  running = nullptr;
  if (fault_at_) report_ += ", " + source_line(fault_at_);
  return report_;
}

void BlockRunner::prepare(const LaunchShape& shape) {
  shape_ = shape;
  count_ = shape.block.x * shape.block.y * shape.block.z;
  threads_.assign(count_, {});
  warps_.assign((count_ + 31) / 32, {});
  // A step without a common factor visits every thread once.
  stride_ = count_ * 5 / 8 + 1;
  while (std::gcd(stride_, count_) != 1) ++stride_;
  for (unsigned i = 0; i < count_; ++i) {
    const unsigned row = i / shape.block.x;
    threads_[i].index = {i % shape.block.x, row % shape.block.y, row / shape.block.y};
    threads_[i].lane = i % 32;
    threads_[i].warp = i / 32;
  }
  state_->bdim = shape.block;
  state_->gdim = shape.grid;
  state_->dynamic = shared_end(shared_arrays) - (shape.dynamic_bytes + 15) / 16 * 16;
}

void BlockRunner::run_block(uint64_t block) {
  state_->bid = {unsigned(block % shape_.grid.x), unsigned(block / shape_.grid.x % shape_.grid.y),
                 unsigned(block / shape_.grid.x / shape_.grid.y)};
  next_ = returned_ = arrived_ = 0;
  ready_.clear();
  arrays_.clear();
  static_used_ = 0;
  abandoned_ = false;
  std::memset(state_->dynamic, 0xFF, shape_.dynamic_bytes);
  for (Thread& t : threads_) t.status = Status::fresh;
  for (size_t w = 0; w < warps_.size(); ++w) {
    const size_t left = count_ - w * 32;
    warps_[w].present = left >= 32 ? ~0u : (1u << left) - 1;
    warps_[w].arrived = warps_[w].left = 0;
  }
  go_to(nullptr, idle_fibre());
  if (!abandoned_) return;
  idle_.clear();  // what threads left on their stacks is of no use
  for (auto& f : fibres_) {
    f->reset();
    idle_.push_back(f.get());
  }
}

Fibre* BlockRunner::idle_fibre() {
  if (idle_.empty()) {
    fibres_.push_back(std::make_unique<Fibre>(fibre_main));
    return fibres_.back().get();
  }
  Fibre* f = idle_.back();
  idle_.pop_back();
  return f;
}

void BlockRunner::go_to(Fibre* from, Fibre* to) {
  if (from == to) return;
  self_ = to;
  standin_switch(from ? &from->position : &caller_, to ? to->position : caller_);
}

// ---------------------------------------------------------------------------------------------------------- on fibres

void BlockRunner::fibre_main() { running->run_threads(); }

void BlockRunner::run_threads() {
  for (;;) {
    while (next_ < count_ && ready_.empty()) {
      unsigned i = next_++;
      if (shape_.order == Order::backward) i = count_ - 1 - i;
      if (shape_.order == Order::scattered) i = unsigned(uint64_t(i) * stride_ % count_);
      resume(i);
      threads_[i].fibre = self_;
      kernel_->call(parameters_);
      thread_returned();
    }
    Fibre* own = self_;
    if (!ready_.empty()) {
      idle_.push_back(own);
      leave_for_ready();
      continue;
    }
    if (returned_ < count_) {
      stuck();
      abandoned_ = true;
    }
    idle_.push_back(own);
    go_to(own, nullptr);
  }
}

void BlockRunner::resume(unsigned thread) {
  Thread& t = threads_[thread];
  current_ = thread;
  t.status = Status::running;
  state_->tid = t.index;
  state_->lane = t.lane;
  state_->warp = t.warp;
}

void BlockRunner::leave_for_ready() {
  const unsigned thread = ready_.front();
  ready_.pop_front();
  Fibre* own = self_;
  resume(thread);
  go_to(own, threads_[thread].fibre);
}

void BlockRunner::make_ready(unsigned thread) {
  threads_[thread].status = Status::ready;
  ready_.push_back(thread);
}

void BlockRunner::wait_here(Status status) {
  Thread& t = threads_[current_];
  t.status = status;
  t.fibre = self_;
  if (!ready_.empty()) return leave_for_ready();
  if (next_ < count_) return go_to(self_, idle_fibre());
  stuck();
  abandoned_ = true;
  go_to(self_, nullptr);
}

void BlockRunner::thread_returned() {
  Thread& t = threads_[current_];
  t.status = Status::done;
  ++returned_;
  warps_[t.warp].left |= 1u << t.lane;
}

void BlockRunner::report(const std::string& what) {
  if (report_.empty()) report_ = what;
}

// Nothing may be alive on the stack that has to be freed: the stack is never gone back to.
void BlockRunner::abandon() {
  abandoned_ = true;
  go_to(self_, nullptr);
  std::abort();
}

std::string BlockRunner::where() const { return "block " + text(state_->bid) + " thread " + text(threads_[current_].index); }

void BlockRunner::stuck() {
  unsigned at_barrier = 0, at_warp = 0;
  std::map<int, unsigned> lines;
  const Thread* first = nullptr;
  for (const Thread& t : threads_) {
    if (t.status == Status::done) continue;
    ++(t.status == Status::at_barrier ? at_barrier : at_warp);
    ++lines[t.line];
    if (!first) first = &t;
  }
  std::ostringstream out;
  out << "divergent barrier in block " << text(state_->bid) << ": " << at_barrier << " threads wait at a barrier, " << at_warp
      << " at a warp operation, " << returned_ << " of " << count_ << " have returned; lines";
  for (const auto& [line, threads] : lines) out << " " << line << " (" << threads << " threads)";
  if (first) out << "; the first that waits is thread " << text(first->index);
  report(out.str());
}

void BlockRunner::release_barrier() {
  arrived_ = 0;
  for (unsigned k = 0; k < count_; ++k) {
    const unsigned i = shape_.order == Order::backward ? count_ - 1 - k : k;
    if (threads_[i].status == Status::at_barrier) make_ready(i);
  }
}

void BlockRunner::api_barrier(int line) {
  BlockRunner& r = *running;
  Thread& own = r.threads_[r.current_];
  own.line = line;
  if (r.arrived_)
    for (const Thread& t : r.threads_)
      if (t.status == Status::at_barrier && t.line != line) {
        r.report("threads of a block meet at different barriers, lines " + std::to_string(t.line) + " and " +
                 std::to_string(line) + ", " + r.where());
        r.abandon();
      }
  if (++r.arrived_ < r.count_) return r.wait_here(Status::at_barrier);
  if (r.count_ == 1) {
    r.arrived_ = 0;
    return;
  }
  own.fibre = r.self_;
  own.status = Status::at_barrier;
  r.release_barrier();
  r.leave_for_ready();
}

void BlockRunner::finish_warp(Warp& warp, unsigned number, unsigned own_lane) {
  const unsigned mask = warp.arrived;
  warp.fold(warp.in, warp.src, warp.out, mask);
  warp.arrived = 0;
  for (unsigned i = 0; i < 32; ++i) {
    if (!(mask >> i & 1)) continue;
    threads_[number * 32 + i].result = warp.out[i];
    if (i != own_lane) make_ready(number * 32 + i);
  }
}

uint64_t BlockRunner::api_warp(unsigned mask, uint64_t value, int src, si_fold* fold, int line) {
  BlockRunner& r = *running;
  const unsigned me = r.current_;
  Thread& own = r.threads_[me];
  Warp& warp = r.warps_[own.warp];
  own.line = line;
  const char* wrong = nullptr;
  mask &= warp.present;
  if (!(mask >> own.lane & 1)) wrong = "a lane is not in the mask of its warp operation: ";
  else if (mask & warp.left) wrong = "a warp operation waits for a lane that has returned: ";
  else if (warp.arrived && warp.mask != mask) wrong = "lanes of one warp operation give different masks: ";
  else if (warp.arrived && warp.fold != fold) wrong = "lanes of one warp meet at different operations: ";
  if (wrong) {
    r.report(wrong + r.where() + ", line " + std::to_string(line));
    r.abandon();
  }
  warp.mask = mask;
  warp.fold = fold;
  warp.in[own.lane] = value;
  warp.src[own.lane] = src;
  warp.arrived |= 1u << own.lane;
  if (warp.arrived == mask) r.finish_warp(warp, own.warp, own.lane);
  else r.wait_here(Status::at_warp);
  return r.threads_[me].result;
}

void* BlockRunner::api_shared(const void* key, size_t size) {
  BlockRunner& r = *running;
  size_t slot = 0;
  while (slot < r.arrays_.size() && r.arrays_[slot].key != key) ++slot;
  char* start = r.shared_end(slot) - (size + 15) / 16 * 16;
  if (slot < r.arrays_.size()) return start;
  r.static_used_ += size;
  if (r.static_used_ > max_static_shared || slot == shared_arrays) {
    r.report(slot == shared_arrays ? "a kernel has more shared arrays than the stand-in takes"
                                   : "static shared memory of " + std::to_string(r.static_used_) +
                                         " bytes is over the limit of " + std::to_string(max_static_shared));
    r.abandon();
  }
  r.arrays_.push_back({key, size});
  std::memset(start, 0xFF, size);
  return start;
}

void BlockRunner::api_fail(const char* message, int line) {
  BlockRunner& r = *running;
  r.report(std::string(message) + ": " + r.where() + (line ? ", line " + std::to_string(line) : ""));
  r.abandon();
}

// ------------------------------------------------------------------------------------------------------------- faults

std::string BlockRunner::fault_text(int signal, const char* address) const {
  if (signal == SIGFPE) return "an integer division by zero: " + where();
  if (signal == SIGILL) return "an index over an array's bound, or an access that is not aligned: " + where();
  for (const auto& f : fibres_)
    if (f->overflowed_at(address)) return "a thread's stack of " + std::to_string(Fibre::stack_bytes) + " bytes is full: " + where();
  const size_t slot = max_shared + page;
  if (address >= shared_ && address < shared_ + (shared_arrays + 1) * slot) {
    const size_t which = size_t(address - shared_) / slot;
    const size_t bytes = which == shared_arrays ? shape_.dynamic_bytes : arrays_[which].bytes;
    const std::string array = which == shared_arrays ? "the dynamic shared memory" : "a shared array";
    return "an access past the end of " + array + " of " + std::to_string(bytes) + " bytes: " + where();
  }
  return "an access out of bounds, " + memory().describe(address) + ": " + where();
}

// A fault of kernel code ends its block: the handler leaves for the caller's stack and never returns.
void BlockRunner::on_signal(int signal, siginfo_t* info, void* context) {
  BlockRunner* r = running;
  if (!r || !r->self_) {
    ::sigaction(signal, &handlers_before[signal], nullptr);
    return;
  }
  r->fault_at_ = reinterpret_cast<void*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  r->report(r->fault_text(signal, static_cast<const char*>(info->si_addr)));
  r->abandon();
}

void BlockRunner::install_handlers() {
  [[maybe_unused]] static const bool once = [] {
    struct sigaction a {};
    a.sa_sigaction = on_signal;
    a.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ::sigaction(s, &a, &handlers_before[s]);
    return true;
  }();
}

}  // namespace standin
