// Reading a plan: what will run, before it runs, and without the device that it is for.
//
// A line of a plan is a launch:   number kernel [axes] written <- read groups n
//   kernel   its family and the operations fused into it, then a hash of its structure
//   axes     what it runs over; behind a bar: the axes that it reduces
//   @n       offset in the plan's work memory; leafN an input; outN a result
#include <cstdio>
#include <tenon/tenon.h>

using namespace tenon;

Tensor block(const Tensor& x, const Tensor& norm, const Tensor& w1, const Tensor& w2) {
  const Tensor h = gelu(matmul(rms_norm(x, norm), w1));  // [T, F]
  return x + matmul(h, w2);                              // [T, C]
}

void show(const char* device_name) {
  const Device d = Device::open(device_name);
  const Tensor x = full({8, 64}, 0.5, DType::f32, d), norm = ones({64}, DType::f32, d);
  eval(x, norm);
  const Tensor w1 = full({64, 256}, 0.01, DType::f32, d), w2 = full({256, 64}, 0.01, DType::f32, d);
  eval(w1, w2);
  const Tensor y = block(x, norm, w1, w2);
  std::printf("on %s\n%s\n", device_name, plan_text({y}).c_str());
}

int main() {
  // Three launches: the norm; a product with gelu in its store; a product with the sum in its store.
  show("cpu");
  // The same for a device with 4 bindings of at most 128 MiB, which need not exist: null devices plan and run nothing.
  show("null:tiny");
  // The reference runs each op by itself: this is what the fused launches are tested against.
  show("host");

  // The second evaluation of the same structure finds its plan; another factor is only another run-time scalar.
  const Device d = Device::open("cpu");
  const Tensor x = ones({4}, DType::f32, d);
  (x * 3.0 + 1.0).to_vector<float>();
  const int64_t plans = d.counters().plans;
  (x * 7.0 + 1.0).to_vector<float>();
  std::printf("new plans for another factor: %lld\n", static_cast<long long>(d.counters().plans - plans));
  return d.counters().plans == plans ? 0 : 1;
}
