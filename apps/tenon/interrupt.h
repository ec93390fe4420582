// Ctrl-C: the first asks a generation to stop, the second ends the program at once.
#pragma once
#include "tenon/llm.h"

namespace tenon::cli {
// Installs the handler; the result is set by the first Ctrl-C.
llm::Cancel& cancel_on_interrupt();
}  // namespace tenon::cli
