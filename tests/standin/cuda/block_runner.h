// Runs the blocks of a launch, one after the other, their threads as fibres of the calling thread.
//
// Threads start one after another on the same stack; a stack is kept only when its thread waits at a barrier or a warp
// operation. A warp operation is one meeting: each lane leaves its value, the last to come makes all results.
#pragma once
#include <csignal>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "fibre.h"
#include "include/standin_abi.h"

namespace standin {

enum class Order { forward, backward, scattered };  // in which the threads of a block start

struct LaunchShape {
  si_u3 grid{1, 1, 1}, block{1, 1, 1};
  size_t dynamic_bytes = 0;
  Order order = Order::forward;
};

class BlockRunner {
 public:
  static constexpr size_t max_shared = 160 << 10;        // of one array
  static constexpr size_t max_static_shared = 48 << 10;  // of a block
  static constexpr unsigned max_threads = 1024;

  BlockRunner();
  ~BlockRunner();
  BlockRunner(const BlockRunner&) = delete;

  // Empty when all threads returned; otherwise what went wrong, with line, block and thread.
  std::string run(const si_kernel& kernel, si_state& state, const LaunchShape& shape, void** parameters);

 private:
  enum class Status : uint8_t { fresh, running, ready, at_barrier, at_warp, done };
  struct Thread {
    si_u3 index;
    unsigned lane, warp;
    Fibre* fibre = nullptr;  // where it waits
    Status status = Status::fresh;
    int line = 0;
    uint64_t result = 0;
  };
  struct Warp {
    unsigned present, arrived, left, mask;
    uint64_t in[32], out[32];
    int src[32];
    si_fold* fold;
  };
  struct SharedArray {
    const void* key;
    size_t bytes;
  };
  static constexpr size_t shared_arrays = 16;

  void prepare(const LaunchShape& shape);
  void run_block(uint64_t block);
  Fibre* idle_fibre();
  char* shared_end(size_t slot) const;

  // On fibres.
  [[noreturn]] static void fibre_main();
  [[noreturn]] void run_threads();
  void go_to(Fibre* from, Fibre* to);  // null: the caller's stack
  void resume(unsigned thread);
  void leave_for_ready();
  void make_ready(unsigned thread);
  void wait_here(Status status);
  void thread_returned();
  void release_barrier();
  void finish_warp(Warp& warp, unsigned number, unsigned own_lane);
  void report(const std::string& what);  // the first one counts
  [[noreturn]] void abandon();
  void stuck();
  std::string where() const;
  std::string fault_text(int signal, const char* address) const;

  static void api_barrier(int line);
  static uint64_t api_warp(unsigned mask, uint64_t value, int src, si_fold* fold, int line);
  static void* api_shared(const void* key, size_t size);
  static void api_fail(const char* message, int line);
  static void on_signal(int signal, siginfo_t* info, void* context);
  static void install_handlers();

  std::vector<std::unique_ptr<Fibre>> fibres_;
  std::vector<Fibre*> idle_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::deque<unsigned> ready_;
  std::vector<SharedArray> arrays_;  // of the running block
  char* shared_ = nullptr;           // slots that end at a guard page; the last one is the dynamic memory
  size_t static_used_ = 0;

  const si_kernel* kernel_ = nullptr;
  si_state* state_ = nullptr;
  void** parameters_ = nullptr;
  LaunchShape shape_;
  unsigned count_ = 0, next_ = 0, current_ = 0, returned_ = 0, arrived_ = 0, stride_ = 1;
  bool abandoned_ = false;
  Fibre* self_ = nullptr;
  void* caller_ = nullptr;
  std::string report_;
  void* fault_at_ = nullptr;  // the instruction
  std::unique_ptr<char[]> signal_stack_;

 public:
  static const si_api api;
};

}  // namespace standin
