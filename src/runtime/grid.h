// Groups of a launch spread over the three dimensions of a device's grid.
#pragma once
#include <cstdint>
#include <optional>

namespace tenon {

struct GridDimensions {
  int64_t x = 1, y = 1, z = 1;
};

// Dimensions of at most `max` each whose product is `groups` or a little more (a kernel leaves out the groups beyond),
// x first; nothing when there are more groups than max * max * max.
std::optional<GridDimensions> grid_dimensions(int64_t groups, int64_t max);

}  // namespace tenon
