#include "launch.h"

#include <cstring>

#include "memory.h"
#include "settings.h"

namespace standin {
namespace {

constexpr uint64_t max_grid_x = 2147483647, max_grid_y = 65535;

std::string text(const si_u3& v) {
  return std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z);
}

const char* as_address(const std::vector<char>& parameter) {
  const char* a = nullptr;
  if (parameter.size() == sizeof a) std::memcpy(&a, parameter.data(), sizeof a);
  return a;
}

struct Saved {
  Allocation allocation;
  std::vector<char> bytes;
};

// All allocations that the parameters point into.
std::vector<Saved> saved(const Launch& launch) {
  std::vector<Saved> all;
  for (const auto& p : launch.parameters) {
    Allocation a;
    if (!as_address(p) || !memory().find(as_address(p), &a)) continue;
    bool known = false;
    for (const Saved& s : all) known = known || s.allocation.number == a.number;
    if (!known) all.push_back({a, {a.start, a.start + a.bytes}});
  }
  return all;
}

void restore(const std::vector<Saved>& all) {
  for (const Saved& s : all) std::memcpy(s.allocation.start, s.bytes.data(), s.bytes.size());
}

// Where memory is not what `all` says, or "".
std::string difference(const std::vector<Saved>& all) {
  for (const Saved& s : all)
    for (size_t i = 0; i < s.bytes.size(); ++i)
      if (s.allocation.start[i] != s.bytes[i]) return "offset " + std::to_string(i) + " of allocation m" + std::to_string(s.allocation.number);
  return {};
}

std::string run_once(const Launch& launch, Order order) {
  thread_local BlockRunner runner;
  std::vector<std::vector<char>> copies = launch.parameters;  // a kernel may change its parameters
  std::vector<void*> parameters;
  for (auto& c : copies) parameters.push_back(c.data());
  LaunchShape shape = launch.shape;
  shape.order = order;
  return runner.run(*launch.code.kernel, *launch.code.state(), shape, parameters.data());
}

}  // namespace

std::string over_limits(const LaunchShape& s, size_t dynamic_limit) {
  const uint64_t threads = uint64_t(s.block.x) * s.block.y * s.block.z;
  if (threads == 0 || threads > BlockRunner::max_threads || s.block.z > 64)
    return "a block of " + text(s.block) + " threads; the limit is " + std::to_string(BlockRunner::max_threads);
  if (s.grid.x == 0 || s.grid.y == 0 || s.grid.z == 0 || s.grid.x > max_grid_x || s.grid.y > max_grid_y || s.grid.z > max_grid_y)
    return "a grid of " + text(s.grid) + " blocks; the limits are 2147483647,65535,65535, and none is 0";
  if (s.dynamic_bytes > dynamic_limit)
    return std::to_string(s.dynamic_bytes) + " bytes of dynamic shared memory; the kernel may have " + std::to_string(dynamic_limit);
  return {};
}

std::string describe(const Launch& launch) {
  std::string out = "grid " + text(launch.shape.grid) + " block " + text(launch.shape.block) + " shared " +
                    std::to_string(launch.shape.dynamic_bytes);
  for (const auto& p : launch.parameters) {
    const std::string name = as_address(p) ? memory().name(as_address(p)) : "";
    out += " " + (name.empty() ? hash_of(std::string(p.begin(), p.end())) : name);
  }
  return out;
}

std::string run(const Launch& launch) {
  const int orders = int(number_setting("TENON_STANDIN_ORDERS", 1));
  const std::vector<Saved> before = orders > 1 ? saved(launch) : std::vector<Saved>();
  std::string wrong = run_once(launch, Order::forward);
  if (orders <= 1 || !wrong.empty()) return wrong;
  const std::vector<Saved> after = saved(launch);
  for (const Order order : {Order::backward, Order::scattered}) {
    if (int(order) >= orders) break;
    restore(before);
    wrong = run_once(launch, order);
    if (!wrong.empty()) return wrong;
    if (const std::string where = difference(after); !where.empty())
      return "the result depends on the order of the threads (a barrier is missing?), at " + where;
  }
  return {};
}

}  // namespace standin
