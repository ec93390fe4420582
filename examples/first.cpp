#include <cstdio>
#include <tenon/tenon.h>

int main() {
  using namespace tenon;
  Tensor x = Tensor::from({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {2, 3});    // on the best device found
  Tensor w = Tensor::from({.1f, .2f, -.3f, .4f, .5f, .6f}, {3, 2});
  Tensor y = softmax(gelu(matmul(x, w) + 1.0));                        // nothing has run yet
  std::printf("%s", plan_text({y}).c_str());                           // what would run: two launches
  for (float v : y.to_vector<float>()) std::printf("%g ", v);          // runs it
  std::printf("\n");
}
