// Linear algebra by hand: the largest eigenvalue of a symmetric matrix by power iteration, as a compiled step.
//
// A power iteration multiplies a vector by the matrix and normalises it, again and again; it turns towards the
// eigenvector of the largest eigenvalue. The vector is a State: it lives on the device, and each step updates it.
#include <cmath>
#include <cstdio>
#include <tenon/tenon.h>

using namespace tenon;

int main() {
  // [[4, 1, 0], [1, 3, 1], [0, 1, 2]]: its characteristic polynomial is -(x^3 - 9 x^2 + 24 x - 18), and its largest
  // root is 3 + sqrt(3).
  const Tensor a = Tensor::from({4.f, 1.f, 0.f, 1.f, 3.f, 1.f, 0.f, 1.f, 2.f}, {3, 3});
  State v(Tensor::from({1.f, 1.f, 1.f}, {3}));

  // Compiled once; each call runs the same plan.
  const Compiled step = compile(
      [&](const std::vector<Tensor>&) {
        const Tensor w = matmul(a, v.value());        // [3]
        const Tensor length = sqrt(sum(square(w)));   // |w| tends to the eigenvalue, because |v| is 1
        v.set(w / length);
        return std::vector<Tensor>{length};
      },
      {}, a.device());
  std::printf("%s", step.plan_text().c_str());

  float eigenvalue = 0;
  for (int i = 0; i < 60; ++i) eigenvalue = step({})[0].item<float>();
  std::printf("largest eigenvalue  %.6f (3 + sqrt(3) = %.6f)\n", double(eigenvalue), 3 + std::sqrt(3.0));
  std::printf("its eigenvector     %s\n", to_string(v.value()).c_str());

  // The proof: A v - lambda v is nothing.
  const Tensor rest = matmul(a, v.value()) - v.value() * double(eigenvalue);
  const float error = max(abs(rest)).item<float>();
  std::printf("|A v - lambda v|    %g\n", double(error));
  return error < 1e-5f && std::fabs(double(eigenvalue) - 3 - std::sqrt(3.0)) < 1e-5 ? 0 : 1;
}
