#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "graph/schedule.h"

namespace tenon::graph {
namespace {

// A buffer, and what it was copied from (an update with nothing to write has no region of its own).
template <class F>
void depend_on(int buffer, const std::unordered_map<int, int>& copied_from, F&& f) {
  for (;;) {
    f(buffer);
    auto it = copied_from.find(buffer);
    if (it == copied_from.end()) return;
    buffer = it->second;
  }
}

}  // namespace

// Producers before consumers; among those that can run, the one that was made last (closest to the leaves) first.
void sort_regions(Schedule& s) {
  const size_t n = s.regions.size();
  std::unordered_map<int, std::vector<size_t>> writers;  // buffer -> regions
  std::unordered_map<int, int> copied_from;
  for (const BufferCopy& c : s.copies) copied_from[c.to] = c.from;
  for (size_t i = 0; i < n; ++i)
    for (const Output& o : s.regions[i]->outputs) writers[o.buffer].push_back(i);
  std::vector<std::vector<size_t>> users(n);
  std::vector<int> missing(n, 0);
  auto depend = [&](size_t region, int buffer) {
    auto it = writers.find(buffer);
    if (it == writers.end()) return;
    for (size_t w : it->second) {
      if (w == region) continue;
      users[w].push_back(region);
      ++missing[region];
    }
  };
  for (size_t i = 0; i < n; ++i) {
    for (const Use& u : s.regions[i]->uses)
      if (u.state == Use::State::loaded) depend_on(u.buffer, copied_from, [&](int b) { depend(i, b); });
    for (const Output& o : s.regions[i]->outputs)
      if (auto it = copied_from.find(o.buffer); it != copied_from.end())
        depend_on(it->second, copied_from, [&](int b) { depend(i, b); });
  }
  std::vector<size_t> ready;
  for (size_t i = 0; i < n; ++i)
    if (missing[i] == 0) ready.push_back(i);
  std::vector<std::unique_ptr<Region>> sorted;
  std::make_heap(ready.begin(), ready.end());
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end());
    const size_t i = ready.back();
    ready.pop_back();
    sorted.push_back(std::move(s.regions[i]));
    for (size_t u : users[i])
      if (--missing[u] == 0) {
        ready.push_back(u);
        std::push_heap(ready.begin(), ready.end());
      }
  }
  TENON_CHECK(sorted.size() == n, "regions depend on each other in a circle");
  s.regions = std::move(sorted);
}

}  // namespace tenon::graph
