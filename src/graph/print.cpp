#include "tenon/print.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include "base/cat.h"
#include "graph/handles.h"

namespace tenon {
namespace {

constexpr int64_t threshold = 1000;  // more elements than this are summarised
constexpr int64_t edge_items = 3;    // kept at each end of an axis then
constexpr int64_t line_width = 75;
constexpr int precision = 8;         // digits behind the point, at most

// One value's text in two parts, aligned at the point; the right part is empty where there is no point to align.
struct Cell {
  std::string left, right;
};

template <class F>
std::string chars(F v, std::chars_format format, int digits = -1) {
  char buffer[400];  // the longest f64 without an exponent
  const auto end = digits < 0 ? std::to_chars(buffer, buffer + sizeof buffer, v, format)
                              : std::to_chars(buffer, buffer + sizeof buffer, v, format, digits);
  return {buffer, end.ptr};
}

int fraction_digits(const std::string& text) {
  const size_t point = text.find('.');
  if (point == text.npos) return 0;
  const size_t end = std::min(text.find('e'), text.size());
  return int(end - point) - 1;
}

std::string without_trailing_zeros(std::string s) {
  if (s.find('.') == s.npos) return s;
  while (s.back() == '0') s.pop_back();
  return s;
}

template <class F>
class FloatFormat {
 public:
  explicit FloatFormat(const std::vector<F>& shown) {
    F low = INFINITY, high = 0;
    for (F v : shown)
      if (std::isfinite(v) && v != 0) low = std::min(low, std::fabs(v)), high = std::max(high, std::fabs(v));
    exponent_ = high >= F(1e8) || (high > 0 && (low < F(1e-4) || double(high) / double(low) > 1000.0));
    if (exponent_)
      for (F v : shown)
        if (std::isfinite(v)) {
          digits_ = std::max(digits_, std::min(precision, fraction_digits(chars(v, std::chars_format::scientific))));
          const F size = std::fabs(v);
          long_exponent_ = long_exponent_ || size >= F(1e100L) || (size > 0 && size < F(1e-99L));
        }
  }

  Cell operator()(F v) const {
    if (std::isnan(v)) return {"nan", ""};
    if (std::isinf(v)) return {v < 0 ? "-inf" : "inf", ""};
    if (exponent_) return {scientific(v), ""};
    std::string s = chars(v, std::chars_format::fixed);
    if (fraction_digits(s) > precision) s = without_trailing_zeros(chars(v, std::chars_format::fixed, precision));
    const size_t point = s.find('.');
    if (point == s.npos) return {s, "."};
    return {s.substr(0, point), s.substr(point)};
  }

 private:
  std::string scientific(F v) const {
    std::string s = chars(v, std::chars_format::scientific, digits_);
    if (digits_ == 0) s.insert(s.find('e'), 1, '.');
    if (const size_t sign = s.find('e') + 1; long_exponent_ && s.size() - sign == 3) s.insert(sign + 1, 1, '0');
    return s;
  }
  bool exponent_ = false, long_exponent_ = false;  // three digits of it
  int digits_ = 0;
};

class Printer {
 public:
  Printer(const Shape& shape, bool summarised) : shape_(shape), summarised_(summarised), strides_(dense_strides(shape)) {}

  // Indices along an axis that are shown; -1 stands for those left out.
  std::vector<int64_t> shown(size_t axis) const {
    std::vector<int64_t> out;
    const int64_t n = shape_[axis];
    const bool cut = summarised_ && n > 2 * edge_items;
    for (int64_t i = 0; i < n; ++i) {
      if (cut && i == edge_items) out.push_back(-1), i = n - edge_items;
      out.push_back(i);
    }
    return out;
  }

  template <class F>
  void each_shown(size_t axis, int64_t offset, F&& f) const {
    if (axis == shape_.size()) return f(offset);
    for (int64_t i : shown(axis))
      if (i >= 0) each_shown(axis + 1, offset + i * strides_[axis], f);
  }

  template <class F>
  std::string text(size_t axis, int64_t offset, int indent, F&& cell) const {
    if (axis == shape_.size()) return cell(offset);
    const bool last = axis + 1 == shape_.size();
    std::string out = "[", line = "[";
    const auto items = shown(axis);
    for (size_t k = 0; k < items.size(); ++k) {
      const std::string item = items[k] < 0 ? "..." : text(axis + 1, offset + items[k] * strides_[axis], indent + 1, cell);
      if (last) {
        if (k > 0 && int64_t(line.size() + 1 + item.size()) + indent > line_width - 1) {
          out += cat("\n", std::string(size_t(indent) + 1, ' '), item);
          line = std::string(1, ' ') + item;
        } else {
          out += cat(k ? " " : "", item);
          line += cat(k ? " " : "", item);
        }
      } else {
        out += cat(k ? std::string(shape_.size() - axis - 1, '\n') + std::string(size_t(indent) + 1, ' ') : std::string(), item);
      }
    }
    return out + "]";
  }

 private:
  const Shape& shape_;
  bool summarised_;
  Strides strides_;
};

// `cells(i)` gives element i's text; all are padded to one width on both sides of the point.
template <class F>
std::string print(const Shape& shape, F&& cells) {
  const int64_t n = element_count(shape);
  if (n == 0) return "[]";
  const Printer printer(shape, n > threshold);
  size_t left = 0, right = 0, whole = 0;
  printer.each_shown(0, 0, [&](int64_t i) {
    const Cell c = cells(i);
    if (c.right.empty()) whole = std::max(whole, c.left.size());
    else left = std::max(left, c.left.size());
    right = std::max(right, c.right.size());
  });
  const size_t width = std::max(whole, left + right);
  return printer.text(0, 0, 0, [&](int64_t i) {
    const Cell c = cells(i);
    const size_t tail = c.right.empty() ? 0 : right - c.right.size();
    return std::string(width - tail - c.left.size() - c.right.size(), ' ') + c.left + c.right + std::string(tail, ' ');
  });
}

template <class F>
std::string print_floats(const Tensor& t) {
  const std::vector<F> v = t.to_vector<F>();
  std::vector<F> shown;
  Printer(t.shape(), int64_t(v.size()) > threshold).each_shown(0, 0, [&](int64_t i) {
    if (!v.empty()) shown.push_back(v[size_t(i)]);
  });
  const FloatFormat<F> format(shown);
  if (t.rank() == 0) {
    const Cell c = format(v[0]);
    return c.left + (c.right == "." ? ".0" : c.right);
  }
  return print(t.shape(), [&](int64_t i) { return format(v[size_t(i)]); });
}

template <class T>
std::string print_integers(const Tensor& t) {
  const std::vector<T> v = t.to_vector<T>();
  return print(t.shape(), [&](int64_t i) { return Cell{std::to_string(v[size_t(i)]), ""}; });
}

std::string print_bools(const Tensor& t) {
  const std::vector<uint8_t> v = t.to_vector<uint8_t>();
  return print(t.shape(), [&](int64_t i) { return Cell{v[size_t(i)] ? "True" : "False", ""}; });
}

}  // namespace

std::string to_string(const Tensor& t) {
  switch (t.dtype()) {
    case DType::i32: return print_integers<int32_t>(t);
    case DType::u32: return print_integers<uint32_t>(t);
    case DType::i8: return print_integers<int8_t>(t);
    case DType::u8: return print_integers<uint8_t>(t);
    case DType::i64: return print_integers<int64_t>(t);
    case DType::bool_: return print_bools(t);
    case DType::f64: return print_floats<double>(t);
    default: return print_floats<float>(t);
  }
}

namespace {

std::string detail(const graph::Node& n) {
  switch (n.kind) {
    case graph::Kind::map: return info(n.op).name;
    case graph::Kind::reduce: return to_string(n.reduce);
    case graph::Kind::anchor: return n.anchor->family;
    case graph::Kind::constant:
      if (n.dtype == DType::f64) return cat("constant ", std::bit_cast<double>(n.ints[0]));
      if (!is_float(n.dtype)) return cat("constant ", n.ints[0]);
      return cat("constant ", std::bit_cast<float>(uint32_t(n.ints[0])));
    case graph::Kind::leaf: return n.label.empty() ? std::string("leaf") : cat("leaf ", n.label);
    default: return to_string(n.kind);
  }
}

bool has_axes(graph::Kind k) {
  using graph::Kind;
  return k == Kind::permute || k == Kind::slice || k == Kind::reduce || k == Kind::gather || k == Kind::concat ||
         k == Kind::update || k == Kind::dynamic_slice || k == Kind::iota;
}

}  // namespace

std::string graph_text(std::span<const Tensor> tensors) {
  std::vector<graph::NodeRef> roots;
  for (const Tensor& t : tensors) roots.push_back(graph::node_of(t));
  std::unordered_map<const graph::Node*, size_t> number;
  std::string out;
  for (const graph::Node* n : graph::topological_order(roots)) {
    const size_t own = number.size();
    number[n] = own;
    out += cat("%", own, " = ", detail(*n));
    if (has_axes(n->kind)) out += cat(" ", to_string(Shape(n->ints)));
    for (const graph::NodeRef& i : n->inputs) out += cat(" %", number.at(i.get()));
    out += cat(" : ", to_string(n->dtype), to_string(n->shape), "\n");
  }
  for (const graph::NodeRef& r : roots) out += cat("result %", number.at(r.get()), "\n");
  return out;
}

}  // namespace tenon
