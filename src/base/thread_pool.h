// A queue with a team behind it. Commands run one after the other in the order of posting; each is cut into groups
// that the team shares. One thread leads (takes commands, joins in the work), the others help.
// Without threads (wasm) commands run inside post(). Throws Error(device) when the threads cannot be started.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tenon {

class TeamQueue {
 public:
  // What a command does: runs group `group`; `scratch` is private to the running thread. Must not throw.
  struct Command {
    void (*run)(void* context, int64_t group, std::byte* scratch) = nullptr;
    void* context = nullptr;
    int64_t groups = 1;
    int64_t scratch_bytes = 0;
    const char* name = nullptr;  // for traces; null: not shown
  };
  using Ticket = uint64_t;

  // `name`: for traces.
  explicit TeamQueue(int threads, std::string name = "queue");
  ~TeamQueue();  // finishes what was posted
  TeamQueue(const TeamQueue&) = delete;
  TeamQueue& operator=(const TeamQueue&) = delete;

  int threads() const;
  // Posts commands; returns at once. The ticket is passed when all of them have run. Contexts must live until then.
  Ticket post(const std::vector<Command>& commands);
  void wait(Ticket ticket);
  bool done(Ticket ticket) const;

 private:
  void stop();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Processors this process may use (affinity and container limits respected), at least 1.
int available_threads();

}  // namespace tenon
