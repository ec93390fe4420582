// Kernel text, line by line, indented by its braces.
#pragma once
#include <string>

#include "base/cat.h"

namespace tenon::codegen {

class Code {
 public:
  template <class... Parts>
  void line(const Parts&... parts) {
    const std::string l = cat(parts...);
    if (l.starts_with('}')) --depth_;
    text_.append(size_t(depth_ > 0 ? 2 * depth_ : 0), ' ');
    text_ += l;
    text_ += '\n';
    if (l.ends_with('{')) ++depth_;
  }
  void raw(const std::string& text) { text_ += text; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  int depth_ = 0;
};

}  // namespace tenon::codegen
