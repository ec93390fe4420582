#include "backends/cuda/graph.h"

namespace tenon::cuda {

GraphRecording::GraphRecording(const std::shared_ptr<DeviceHandle>& device, Graph graph, std::string about, Handle scratch)
    : device_(device), about_(std::move(about)), scratch_(scratch) {
  const Result made = device->driver().graph_instantiate(&executable_, graph, 0);
  device->driver().graph_destroy(graph);
  device->check(made, "making " + about_);
}

// One that still runs is given back by the driver when it is done.
GraphRecording::~GraphRecording() {
  const auto device = device_.lock();
  if (device && executable_ && device->activate_quietly()) device->driver().graph_exec_destroy(executable_);
}

void GraphRecording::launch(Stream stream) const {
  if (const auto device = device_.lock()) device->check(device->driver().graph_launch(executable_, stream), about_);
}

}  // namespace tenon::cuda
