// What a stream is: a thread that runs what was recorded, in order. An event is a position of it.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace standin {

class WorkQueue {
 public:
  explicit WorkQueue(int number);
  ~WorkQueue();  // runs what is left
  int number() const { return number_; }
  uint64_t post(std::function<void()> work);
  uint64_t position();  // after all that was posted
  bool passed(uint64_t position);
  void wait(uint64_t position);

 private:
  void run();
  const int number_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  uint64_t posted_ = 0, done_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace standin
