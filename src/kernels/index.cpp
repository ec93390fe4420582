#include "kernels/index.h"

#include <vector>

#include "kernels/attention/attention.cpu.h"
#include "kernels/attention/attention_plain.cpu.h"
#include "kernels/matmul/matmul.cpu.h"
#include "kernels/matmul/matmul.host.h"
#include "kernels/matmul/matmul_f64.cpu.h"
#include "kernels/matmul/matmul_plain.cpu.h"
#include "kernels/quant_matmul/quant_matmul.cpu.h"
#include "kernels/quant_matmul/quant_matmul_plain.cpu.h"
#include "kernels/region/plain.cpu.h"
#include "kernels/region/region.cpu.h"
#include "kernels/region/region.host.h"
#include "kernels/sample/sample.cpu.h"
#include "kernels/scan/scan.cpu.h"
#include "kernels/scatter/scatter.cpu.h"
#include "kernels/sort/sort.cpu.h"

namespace tenon {
namespace {

using Rows = std::vector<NativeKernel>;

void append(Rows& rows, std::span<const NativeKernel> more) { rows.insert(rows.end(), more.begin(), more.end()); }

Rows cpu_rows() {
  Rows rows{cpu::map_kernel, cpu::row_kernel};
  append(rows, cpu::matmul_kernels());
  append(rows, cpu::quant_matmul_kernels());
  append(rows, cpu::attention_kernels());
  for (const NativeKernel& k :
       {cpu::matmul_f64_kernel, cpu::scan_kernel, cpu::sort_kernel, cpu::scatter_kernel, cpu::plain_map_kernel,
        cpu::plain_row_kernel,
        cpu::matmul_plain_kernel, cpu::quant_matmul_plain_kernel, cpu::attention_plain_kernel, scan_plain_kernel,
        sort_plain_kernel, scatter_plain_kernel, sample_kernel})
    rows.push_back(k);
  return rows;
}

Rows host_rows() {
  return {host::map_kernel,  host::row_kernel,     host::matmul_kernel, scan_plain_kernel,
          sort_plain_kernel, scatter_plain_kernel, sample_kernel};
}

}  // namespace

std::span<const NativeKernel> native_kernels(const char* target) {
  // Never destroyed: at exit a device's threads may still run what was submitted last.
  static const Rows &cpu = *new Rows(cpu_rows()), &host = *new Rows(host_rows());
  const std::string_view name = target;
  if (name == "cpu") return cpu;
  if (name == "host") return host;
  return {};
}

const NativeKernel* find_native_kernel(std::string_view target, const KernelDesc& desc, KernelChoice choice) {
  for (const NativeKernel& kernel : native_kernels(std::string(target).c_str()))
    if (desc.family == kernel.family && (kernel.plain || choice == KernelChoice::best) && kernel.applies(desc)) return &kernel;
  return nullptr;
}

}  // namespace tenon
