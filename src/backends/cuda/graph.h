// A plan's launches as one CUDA graph: recorded from a stream, launched as one.
#pragma once
#include <memory>
#include <string>

#include "backends/cuda/context.h"
#include "runtime/backend.h"

namespace tenon::cuda {

class GraphRecording : public Recording {
 public:
  // Takes the graph, which goes whether or not it can be made to run. Throws what the driver finds wrong with it.
  GraphRecording(const std::shared_ptr<DeviceHandle>& device, Graph graph, std::string about, Handle scratch);
  ~GraphRecording() override;
  GraphRecording(const GraphRecording&) = delete;

  void launch(Stream stream) const;
  const std::string& about() const { return about_; }  // "a replay of 27 launches, from … to …"
  Handle scratch() const { return scratch_; }          // that its kernels use

 private:
  std::weak_ptr<DeviceHandle> device_;  // plans may outlive the device
  GraphExec executable_ = nullptr;
  const std::string about_;
  const Handle scratch_;
};

}  // namespace tenon::cuda
