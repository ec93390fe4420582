// Printing against what NumPy 2.4 prints for the same arrays.
#include "tenon/print.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tenon/ops.h"

namespace {

using namespace tenon;
using Floats = std::vector<float>;

const Device& cpu() {
  static const Device d = Device::open("cpu");
  return d;
}
std::string floats(const Floats& v, Shape shape) { return to_string(Tensor::from<float>(v, std::move(shape), cpu())); }
Floats ramp(int n) {
  Floats v(size_t(n), 0.0f);
  std::iota(v.begin(), v.end(), 0.0f);
  return v;
}

TEST(Print, Floats) {
  EXPECT_EQ(floats({1, 2, 3}, {3}), "[1. 2. 3.]");
  EXPECT_EQ(floats({1, 2.5, -3, 0.125}, {2, 2}), "[[ 1.     2.5  ]\n [-3.     0.125]]");
  EXPECT_EQ(floats({1e-5f, 1, 1000}, {3}), "[1.e-05 1.e+00 1.e+03]");
  EXPECT_EQ(floats({NAN, INFINITY, -INFINITY, 1.5}, {4}), "[ nan  inf -inf  1.5]");
  EXPECT_EQ(floats({1e10f, 1}, {2}), "[1.e+10 1.e+00]");
  EXPECT_EQ(floats({0.1f, 0.1f, 0.1f, 0.1f}, {2, 2}), "[[0.1 0.1]\n [0.1 0.1]]");
  EXPECT_EQ(floats({1.0f / 3, 2.0f / 3, 100}, {3}), "[  0.33333334   0.6666667  100.        ]");
  EXPECT_EQ(floats({1e-4f, 0.1f}, {2}), "[1.e-04 1.e-01]");
  EXPECT_EQ(floats({-0.0f, 0.0f}, {2}), "[-0.  0.]");
  EXPECT_EQ(floats({123456.789f, 0.5}, {2}), "[1.2345679e+05 5.0000000e-01]");
  EXPECT_EQ(floats({}, {0, 3}), "[]");
  EXPECT_EQ(floats({2.5}, {}), "2.5");
  EXPECT_EQ(floats({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2}), "[[[1. 2.]\n  [3. 4.]]\n\n [[5. 6.]\n  [7. 8.]]]");
}

TEST(Print, LongLinesAndSummaries) {
  EXPECT_EQ(floats(ramp(40), {40}),
            "[ 0.  1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11. 12. 13. 14. 15. 16. 17.\n"
            " 18. 19. 20. 21. 22. 23. 24. 25. 26. 27. 28. 29. 30. 31. 32. 33. 34. 35.\n"
            " 36. 37. 38. 39.]");
  EXPECT_EQ(floats(ramp(1200), {30, 40}),
            "[[0.000e+00 1.000e+00 2.000e+00 ... 3.700e+01 3.800e+01 3.900e+01]\n"
            " [4.000e+01 4.100e+01 4.200e+01 ... 7.700e+01 7.800e+01 7.900e+01]\n"
            " [8.000e+01 8.100e+01 8.200e+01 ... 1.170e+02 1.180e+02 1.190e+02]\n"
            " ...\n"
            " [1.080e+03 1.081e+03 1.082e+03 ... 1.117e+03 1.118e+03 1.119e+03]\n"
            " [1.120e+03 1.121e+03 1.122e+03 ... 1.157e+03 1.158e+03 1.159e+03]\n"
            " [1.160e+03 1.161e+03 1.162e+03 ... 1.197e+03 1.198e+03 1.199e+03]]");
}

TEST(Print, IntegersAndBools) {
  EXPECT_EQ(to_string(arange(0, 2000, 1, DType::i32, cpu())), "[   0    1    2 ... 1997 1998 1999]");
  EXPECT_EQ(to_string(reshape(arange(0, 6, 1, DType::i32, cpu()), {1, 2, 3})), "[[[0 1 2]\n  [3 4 5]]]");
  EXPECT_EQ(to_string(Tensor::from({true, false}, {2}, cpu())), "[ True False]");
}

TEST(Print, TransposedAndHalf) {
  const Tensor x = Tensor::from({1.f, 2.f, 3.f, 4.f}, {2, 2}, cpu());
  EXPECT_EQ(to_string(transpose(x)), "[[1. 3.]\n [2. 4.]]");
  EXPECT_EQ(to_string(cast(x, DType::f16)), "[[1. 2.]\n [3. 4.]]");
}

TEST(Print, Graph) {
  const Tensor x = zeros({2, 3}, DType::f32, cpu());
  EXPECT_EQ(graph_text({sum(exp(x), {1})}),
            "%0 = constant 0 : f32[2,3]\n"
            "%1 = exp %0 : f32[2,3]\n"
            "%2 = sum [1] %1 : f32[2]\n"
            "result %2\n");
}

}  // namespace
