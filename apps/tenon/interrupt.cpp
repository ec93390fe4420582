#include "interrupt.h"

#include <csignal>
#include <unistd.h>

#include "commands.h"

namespace tenon::cli {
namespace {

llm::Cancel cancel;

extern "C" void on_interrupt(int) {
  if (cancel.requested.exchange(true)) ::_exit(exit_interrupted);
}

}  // namespace

llm::Cancel& cancel_on_interrupt() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  return cancel;
}

}  // namespace tenon::cli
