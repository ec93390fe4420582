#pragma once
#include "graph/node.h"

namespace tenon::ops {
// sample() by sorting, for devices without its kernel. Inputs as those of the anchor: logits [N, V], then the settings.
graph::NodeRef compose_sample(const graph::Node& node);
}  // namespace tenon::ops
