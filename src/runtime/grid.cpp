#include "runtime/grid.h"

namespace tenon {
namespace {

int64_t parts(int64_t n, int64_t size) { return n / size + (n % size != 0); }

}  // namespace

std::optional<GridDimensions> grid_dimensions(int64_t groups, int64_t max) {
  if (groups <= max) return GridDimensions{groups, 1, 1};
  const int64_t lines = parts(groups, max);
  if (lines <= max) return GridDimensions{parts(groups, lines), lines, 1};
  const int64_t planes = parts(lines, max);
  if (planes > max) return std::nullopt;
  const int64_t y = parts(lines, planes);
  return GridDimensions{parts(groups, y * planes), y, planes};
}

}  // namespace tenon
