#include "work_queue.h"

namespace standin {

WorkQueue::WorkQueue(int number) : number_(number), thread_([this] { run(); }) {}

WorkQueue::~WorkQueue() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

uint64_t WorkQueue::post(std::function<void()> work) {
  std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  changed_.notify_all();
  return ++posted_;
}

uint64_t WorkQueue::position() {
  std::lock_guard lock(mutex_);
  return posted_;
}

bool WorkQueue::passed(uint64_t position) {
  std::lock_guard lock(mutex_);
  return done_ >= position;
}

void WorkQueue::wait(uint64_t position) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_ >= position; });
}

void WorkQueue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || !work_.empty(); });
    if (work_.empty()) return;
    const std::function<void()> now = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    now();
    lock.lock();
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace standin
