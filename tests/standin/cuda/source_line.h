// The line of kernel text that an instruction comes from.
#pragma once
#include <string>

namespace standin {

// "line 12 of vector_add", by the debug information of the file that `instruction` lies in.
std::string source_line(const void* instruction);

}  // namespace standin
