// A custom op in ten lines: it is a function of tensors. It needs no registration, no kernel and no build step, fuses
// like any other, and runs on every device.
#include <cmath>
#include <cstdio>
#include <tenon/tenon.h>

using namespace tenon;

// Squared-ReLU feed-forward gate (Primer, So et al., 2021) with a norm in front.
Tensor squared_relu_gate(const Tensor& x, const Tensor& weight, const Tensor& gate) {
  const Tensor h = rms_norm(x, weight);
  return square(relu(h)) * sigmoid(gate);
}

int main() {
  const Tensor x = Tensor::from({1.f, -2.f, 3.f, -4.f, 5.f, -6.f}, {2, 3});
  const Tensor gate = Tensor::from({0.f, 0.f, 0.f, 9.f, 9.f, 9.f}, {2, 3});
  const Tensor y = squared_relu_gate(x, ones({3}), gate);
  std::printf("%s", plan_text({y}).c_str());  // one launch
  std::printf("%s\n", to_string(y).c_str());

  // Row 0: mean square (1 + 4 + 9) / 3, so x becomes x / 2.160247; relu and square leave 0.214286, 0, 1.928571; half.
  const std::vector<float> v = y.to_vector<float>();
  return std::fabs(v[0] - 0.1071428f) < 1e-5f && v[1] == 0 && std::fabs(v[2] - 0.9642856f) < 1e-5f ? 0 : 1;
}
