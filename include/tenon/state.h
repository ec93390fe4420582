// State: what is updated in place (caches, parameters, counters); and compile(): a function traced once and replayed.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tenon/tensor.h"

namespace tenon {

struct StateData;

// Holds a value on a device. set() submits the computation of the next value at once; where the expression is an
// update() of the state's own value, it happens in place. A snapshot (value()) that is still held keeps its content:
// then the update works on a copy, counted in Counters::state_copies (in strict mode, TENON_STRICT=1, it is an error).
// When a plan that sets a State fails while it runs, value() throws Error(state_lost) until the State is set again to
// something that does not need the lost value; nothing else is harmed.
class State {
 public:
  // `label` names it in plans as text.
  explicit State(const Tensor& initial, std::string label = {});
  Tensor value() const;
  // Whether value() would throw Error(state_lost), as far as it is known without waiting.
  bool lost() const;
  // Shape and dtype must be those of the state. Inside compile() it becomes part of the compiled function.
  void set(const Tensor& next);
  // set(f(value())) with nothing else holding the value, so that an update in f works in place also outside compile()
  // (in `s.set(update(s.value(), ...))` the temporary is a snapshot that is still held).
  void apply(const std::function<Tensor(Tensor)>& f) {
    const Tensor next = f(value());
    set(next);
  }
  // A new value of another shape or dtype (a grown cache). Not inside compile().
  void reset(const Tensor& value);
  const std::shared_ptr<StateData>& data() const { return data_; }

 private:
  std::shared_ptr<StateData> data_;
};

// Sets several states and evaluates several tensors in one plan.
struct StateUpdate {
  State state;
  Tensor next;
};
void eval(std::span<const Tensor> tensors, std::span<const StateUpdate> updates);

// A function compiled once for the shapes of its inputs: the plan is made at compile(), a call only binds and runs it.
// States that the function reads and sets are read and set by each call; run-time scalars are read at each call.
class Compiled {
 public:
  using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
  // Inputs must have the dtypes and shapes of the examples. Returns at once; the results are being computed.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const;
  std::string plan_text() const;
  std::string plan_json() const;
  int64_t launches() const;
  int64_t copies() const;
  int64_t peak_bytes() const;  // arena and outputs

  struct Impl;
  explicit Compiled(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<Impl> impl_;
};
Compiled compile(const Compiled::Function& f, const std::vector<Tensor>& example_inputs, const Device& device);

}  // namespace tenon
