// The stand-in for NVRTC: hands the text on to the stand-in for libcuda, which compiles it when it is wanted.
#include <cstring>
#include <string>

#include "compiler.h"
#include "settings.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int success = 0, invalid_input = 3, invalid_option = 5, compilation = 6;

struct Program {
  standin::Image image;
  std::string packed, log;
};

}  // namespace

EXPORT int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return success;
}

EXPORT const char* nvrtcGetErrorString(int error) {
  switch (error) {
    case success: return "NVRTC_SUCCESS";
    case invalid_input: return "NVRTC_ERROR_INVALID_INPUT";
    case invalid_option: return "NVRTC_ERROR_INVALID_OPTION";
    case compilation: return "NVRTC_ERROR_COMPILATION";
  }
  return "NVRTC_ERROR unknown";
}

EXPORT int nvrtcGetNumSupportedArchs(int* count) {
  *count = int(standin::architectures().size());
  return success;
}

EXPORT int nvrtcGetSupportedArchs(int* all) {
  for (int a : standin::architectures()) *all++ = a;
  return success;
}

EXPORT int nvrtcCreateProgram(Program** program, const char* text, const char* name, int headers, const char* const*, const char* const*) {
  if (!text || headers != 0) return invalid_input;
  *program = new Program{{0, name ? name : "kernel", text}, {}, {}};
  return success;
}

EXPORT int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return success;
}

EXPORT int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
  static const char target[] = "--gpu-architecture=";
  for (int i = 0; i < count; ++i) {
    const std::string option = options[i];
    const size_t number = option.find('_');
    if (option.starts_with(target) && number != option.npos) program->image.capability = std::atoi(option.c_str() + number + 1);
    else if (option != "--fmad=false" && option != "--std=c++17" && option != "--device-as-default-execution-space") {
      program->log = "the stand-in does not know the option " + option;
      return invalid_option;
    }
  }
  if (program->image.text.find("#include") != std::string::npos) {
    program->log = "kernel text includes nothing";
    return compilation;
  }
  if (standin::number_setting("TENON_STANDIN_CHECK", 0)) program->log = standin::Compiler::check(program->image);
  if (!program->log.empty()) return compilation;
  program->packed = standin::pack(program->image);
  return success;
}

EXPORT int nvrtcGetProgramLogSize(Program* program, size_t* size) {
  *size = program->log.size() + 1;
  return success;
}
EXPORT int nvrtcGetProgramLog(Program* program, char* log) {
  std::memcpy(log, program->log.c_str(), program->log.size() + 1);
  return success;
}
EXPORT int nvrtcGetCUBINSize(Program* program, size_t* size) {
  *size = program->packed.size();
  return success;
}
EXPORT int nvrtcGetCUBIN(Program* program, char* image) {
  std::memcpy(image, program->packed.data(), program->packed.size());
  return success;
}
EXPORT int nvrtcGetPTXSize(Program* program, size_t* size) { return nvrtcGetCUBINSize(program, size); }
EXPORT int nvrtcGetPTX(Program* program, char* image) { return nvrtcGetCUBIN(program, image); }
