// Random graphs from a seed: a list of steps that builds the same tensors on any device, with other shapes and ops for
// every seed, and a way to make a failing one smaller.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tenon/tenon.h"

namespace tenon::testing_graphs {

// splitmix64 (Steele, Lea, Flood, 2014); the standard's distributions differ between libraries.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  uint64_t word() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t n) { return int64_t(word() % uint64_t(n)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  double real(double low, double high) { return low + (high - low) * double(word() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

struct Step {
  std::string op;             // "leaf", "add", …
  std::vector<int> in;        // earlier steps
  std::vector<int64_t> p;     // the op's numbers: axes, shapes, seeds
  DType dtype = DType::f32;   // leaf, cast: wanted; then that of the result
  Shape shape;                // leaf: wanted; then that of the result
};

struct Graph {
  std::vector<Step> steps;
  std::vector<int> roots;
};

Graph random_graph(uint64_t seed);
// All steps' tensors on a device.
std::vector<Tensor> build(const Graph& graph, const Device& device);
// Steps that the roots need, as text, one a line.
std::string to_text(const Graph& graph);
// The smallest graph reached for which `fails` still holds: fewer roots, steps replaced by leaves.
template <class F>
Graph shrink(Graph graph, F&& fails);

// The graph with one step replaced by a leaf of its shape and dtype.
inline Graph with_leaf(Graph g, int step) {
  Step& s = g.steps[size_t(step)];
  s.op = "leaf";
  s.in.clear();
  s.p = {step, 0};
  return g;
}

// Which steps the roots need.
inline std::vector<bool> needed(const Graph& g) {
  std::vector<bool> need(g.steps.size(), false);
  for (int r : g.roots) need[size_t(r)] = true;
  for (size_t i = g.steps.size(); i-- > 0;)
    if (need[i])
      for (int j : g.steps[i].in) need[size_t(j)] = true;
  return need;
}

template <class F>
Graph shrink(Graph graph, F&& fails) {
  bool smaller = true;
  while (smaller) {
    smaller = false;
    for (size_t r = 0; graph.roots.size() > 1 && r < graph.roots.size(); ++r) {
      Graph g = graph;
      g.roots.erase(g.roots.begin() + int64_t(r));
      if (fails(g)) graph = g, smaller = true, --r;
    }
    const std::vector<bool> need = needed(graph);
    for (size_t i = 0; i < graph.steps.size(); ++i) {
      if (!need[i] || graph.steps[i].op == "leaf" || is_quantised(graph.steps[i].dtype)) continue;
      Graph g = with_leaf(graph, int(i));
      if (fails(g)) {
        graph = g, smaller = true;
        break;
      }
      // A unary op may be skipped altogether, its user reading the input.
      if (graph.steps[i].in.size() == 1) {
        const Step& from = graph.steps[size_t(graph.steps[i].in[0])];
        if (from.shape != graph.steps[i].shape || from.dtype != graph.steps[i].dtype) continue;
        g = graph;
        for (Step& s : g.steps)
          for (int& j : s.in)
            if (j == int(i)) j = graph.steps[i].in[0];
        for (int& j : g.roots)
          if (j == int(i)) j = graph.steps[i].in[0];
        if (fails(g)) {
          graph = g, smaller = true;
          break;
        }
      }
    }
  }
  return graph;
}

}  // namespace tenon::testing_graphs
