// Kernel text as the stand-in compiles it.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace standin {

// What the stand-in's NVRTC makes and its driver loads: the text, and what it was compiled for.
struct Image {
  int capability = 0;
  std::string name, text;
};
std::string pack(const Image& image);
bool unpack(const char* bytes, Image* image);

// Names of the kernels in a text, in order.
std::vector<std::string> kernels_of(const std::string& text);
// One file for the host's compiler from images by their hashes: each in a namespace of its own, shared memory rewritten,
// an entry for each kernel. What texts have in common before they last open `namespace tenon { namespace gpu {` stands
// there once.
std::string translation_unit(const std::map<std::string, Image>& images);
// The symbol of a kernel's entry.
std::string entry_symbol(const std::string& hash, const std::string& kernel);
// 16 hexadecimal digits.
std::string hash_of(const std::string& text);

}  // namespace standin
