// Einstein summation: every pair of operands, from left to right, is one contraction.
#include <algorithm>
#include <map>
#include <string_view>

#include "base/check.h"
#include "ops/contract.h"

namespace tenon {

using namespace ops;

namespace {

using Labels = std::vector<int>;

[[noreturn]] void fail(const std::string& subscripts, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, cat("einsum(\"", subscripts, "\"): ", why), {.op = "einsum"});
}

// A letter is its own label; the axes that "..." stands for are -1 (the last), -2, …
struct Term {
  Labels before, after;  // the letters around "..."
  bool ellipsis = false;
  Labels labels(int64_t ellipsis_axes) const {
    Labels out = before;
    for (int64_t i = ellipsis_axes; i > 0; --i) out.push_back(int(-i));
    out.insert(out.end(), after.begin(), after.end());
    return out;
  }
  int64_t letters() const { return int64_t(before.size() + after.size()); }
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

Term parse_term(const std::string& all, std::string_view text) {
  Term t;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text[i] == '.') {
      if (t.ellipsis || text.substr(i, 3) != "...") fail(all, "a dot belongs to one \"...\" per operand");
      t.ellipsis = true;
      i += 2;
    } else if (is_letter(text[i])) {
      (t.ellipsis ? t.after : t.before).push_back(text[i]);
    } else {
      fail(all, cat("'", std::string(1, text[i]), "' is no letter; write operands as letters and \"...\", split by ',', then \"->\" and the result"));
    }
  }
  return t;
}

std::vector<Term> parse_inputs(const std::string& all, std::string_view text) {
  std::vector<Term> terms;
  for (size_t from = 0;;) {
    const size_t comma = std::min(text.find(',', from), text.size());
    terms.push_back(parse_term(all, text.substr(from, comma - from)));
    if (comma == text.size()) return terms;
    from = comma + 1;
  }
}

// Without "->": the axes of "...", then the letters that occur once, in the order of their codes.
Labels implicit_output(const std::vector<Labels>& inputs, int64_t ellipsis_axes) {
  std::map<int, int> count;
  for (const Labels& in : inputs)
    for (int l : in) ++count[l];
  Labels out;
  for (int64_t i = ellipsis_axes; i > 0; --i) out.push_back(int(-i));
  for (auto [l, n] : count)
    if (l > 0 && n == 1) out.push_back(l);
  return out;
}

std::string name_of(int label) { return label > 0 ? cat("'", std::string(1, char(label)), "'") : cat("axis ", label, " of \"...\""); }

// Axes with the same label become one: their diagonal.
Labelled without_repeats(const std::string& all, Labelled t) {
  for (size_t i = 0; i < t.labels.size(); ++i)
    for (size_t j = i + 1; j < t.labels.size(); ++j) {
      if (t.labels[i] != t.labels[j]) continue;
      if (t.x.dim(int64_t(i)) != t.x.dim(int64_t(j)))
        fail(all, cat(name_of(t.labels[i]), " names axes of sizes ", t.x.dim(int64_t(i)), " and ", t.x.dim(int64_t(j)), " of ", to_string(t.x.shape())));
      const int label = t.labels[i];
      std::vector<int64_t> axes;
      Labels labels;
      for (size_t a = 0; a < t.labels.size(); ++a) {
        if (a == i || a == j) continue;
        axes.push_back(int64_t(a));
        labels.push_back(t.labels[a]);
      }
      axes.insert(axes.end(), {int64_t(i), int64_t(j)});
      labels.push_back(label);
      return without_repeats(all, {diagonal(permute(t.x, axes)), labels});
    }
  return t;
}

// An axis of size 1 beside a longer one with its label broadcasts: it goes, the product brings the label back.
Labelled without_ones(const Labelled& t, const std::map<int, int64_t>& size) {
  Labelled out{t.x, {}};
  for (size_t a = t.labels.size(); a-- > 0;) {
    const bool one = t.x.dim(int64_t(a)) == 1 && size.at(t.labels[a]) != 1;
    if (one) out.x = squeeze(out.x, int64_t(a));
    else out.labels.insert(out.labels.begin(), t.labels[a]);
  }
  return out;
}

// Summed over the labels that nothing else needs.
Labelled sum_alone(const Labelled& t, const Labels& needed) {
  std::vector<int64_t> axes;
  Labelled out;
  for (size_t a = 0; a < t.labels.size(); ++a) {
    if (contains(needed, t.labels[a])) out.labels.push_back(t.labels[a]);
    else axes.push_back(int64_t(a));
  }
  out.x = axes.empty() ? t.x : sum(t.x, axes);
  return out;
}

// What is needed after operand `done`: the result's labels and those of the operands to come.
Labels needed_after(const std::vector<Labelled>& terms, size_t done, const Labels& output) {
  Labels out = output;
  for (size_t i = done; i < terms.size(); ++i) out.insert(out.end(), terms[i].labels.begin(), terms[i].labels.end());
  return out;
}

Tensor evaluate_terms(std::vector<Labelled> terms, const Labels& output) {
  Labelled done = sum_alone(terms[0], needed_after(terms, 1, output));
  for (size_t i = 1; i < terms.size(); ++i) {
    Labels needed = needed_after(terms, i + 1, output);
    const Labels both = needed;
    needed.insert(needed.end(), done.labels.begin(), done.labels.end());
    done = contract(done, sum_alone(terms[i], needed), both);
  }
  return in_order(done, output);
}

// Whether f16 and bf16 would be rounded on the way: more than one product, or a sum beside it.
bool needs_f32(const std::vector<Labelled>& terms, const Labels& output) {
  if (terms.size() > 2) return true;
  for (size_t i = 0; i < terms.size(); ++i)
    for (int l : terms[i].labels)
      if (!contains(output, l) && (terms.size() == 1 || !contains(terms[1 - i].labels, l))) return true;
  return false;
}

void check_output(const std::string& all, const Labels& output, const std::map<int, int64_t>& size) {
  for (size_t i = 0; i < output.size(); ++i) {
    if (!size.contains(output[i])) fail(all, cat(name_of(output[i]), " of the result is in no operand"));
    if (std::count(output.begin(), output.end(), output[i]) > 1) fail(all, cat(name_of(output[i]), " is twice in the result"));
  }
}

}  // namespace

Tensor einsum(const std::string& subscripts, const std::vector<Tensor>& operands) {
  const size_t arrow = std::min(subscripts.find("->"), subscripts.size());
  const std::vector<Term> inputs = parse_inputs(subscripts, std::string_view(subscripts).substr(0, arrow));
  if (inputs.size() != operands.size() || operands.empty())
    fail(subscripts, cat("names ", int64_t(inputs.size()), " operands, there are ", int64_t(operands.size())));
  int64_t most = 0;
  DType type = operands[0].dtype();
  std::vector<Labels> labels;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Tensor& x = operands[i];
    const int64_t rest = x.rank() - inputs[i].letters();
    if (rest < 0 || (rest > 0 && !inputs[i].ellipsis))
      fail(subscripts, cat("operand ", int64_t(i), " has ", x.rank(), " axes ", to_string(x.shape()), ", its subscripts name ", inputs[i].letters()));
    if (x.dtype() == DType::bool_) fail_dtype("einsum", {&x}, "needs numbers; cast() it first");
    promote("einsum", operands[0], x);  // its errors name two of the operands
    type = promote("einsum", to_tensor(graph::constant(node_of(x)->device, type, 0, {})), x);
    most = std::max(most, rest);
    labels.push_back(inputs[i].labels(rest));
  }
  Labels output = implicit_output(labels, most);
  if (arrow < subscripts.size()) {
    const Term term = parse_term(subscripts, std::string_view(subscripts).substr(arrow + 2));
    output = term.labels(term.ellipsis ? most : 0);
  }
  std::vector<Labelled> terms;
  std::map<int, int64_t> size;
  for (size_t i = 0; i < operands.size(); ++i) {
    terms.push_back(without_repeats(subscripts, {cast(operands[i], type), labels[i]}));
    for (size_t a = 0; a < terms[i].labels.size(); ++a) {
      const int64_t n = terms[i].x.dim(int64_t(a));
      int64_t& known = size.try_emplace(terms[i].labels[a], 1).first->second;
      if (n != 1 && known != 1 && n != known) fail(subscripts, cat(name_of(terms[i].labels[a]), " has sizes ", known, " and ", n));
      if (n != 1) known = n;
    }
  }
  check_output(subscripts, output, size);
  for (Labelled& t : terms) t = without_ones(t, size);
  const bool wide = is_float(type) && real_dtype(type) != type && needs_f32(terms, output);
  if (wide)
    for (Labelled& t : terms) t.x = cast(t.x, DType::f32);
  return cast(evaluate_terms(std::move(terms), output), type);
}

Tensor outer(const Tensor& a, const Tensor& b) {
  if (a.rank() != 1 || b.rank() != 1) fail_shape("outer", {&a, &b}, "needs two tensors of one axis");
  return binary("outer", ScalarOp::mul, expand_dims(a, 1), expand_dims(b, 0));
}

Tensor tensordot(const Tensor& a, const Tensor& b, const std::vector<int64_t>& a_axes, const std::vector<int64_t>& b_axes) {
  const DType type = promote("tensordot", a, b);
  if (type == DType::bool_) fail_dtype("tensordot", {&a, &b}, "needs numbers; cast() first");
  if (a_axes.size() != b_axes.size()) fail_shape("tensordot", {&a, &b}, "both need the same number of axes");
  Labelled left{cast(a, type), {}}, right{cast(b, type), {}};
  for (int64_t i = 0; i < a.rank(); ++i) left.labels.push_back(int(i));
  for (int64_t i = 0; i < b.rank(); ++i) right.labels.push_back(int(a.rank() + i));
  std::vector<int> used;
  for (size_t i = 0; i < a_axes.size(); ++i) {
    const int p = axis_in("tensordot", a, a_axes[i]), q = axis_in("tensordot", b, b_axes[i]);
    if (contains(used, p) || right.labels[size_t(q)] < a.rank()) fail_shape("tensordot", {&a, &b}, "an axis is named twice");
    if (a.dim(p) != b.dim(q)) fail_shape("tensordot", {&a, &b}, cat("axis ", p, " of the first (", a.dim(p), ") and axis ", q, " of the second (", b.dim(q), ") differ"));
    used.push_back(p);
    right.labels[size_t(q)] = p;
  }
  return contract(left, right, {}).x;
}

Tensor tensordot(const Tensor& a, const Tensor& b, int64_t axes) {
  if (axes < 0 || axes > std::min(a.rank(), b.rank())) fail_shape("tensordot", {&a, &b}, cat(axes, " axes to sum over"));
  std::vector<int64_t> last, first;
  for (int64_t i = 0; i < axes; ++i) last.push_back(a.rank() - axes + i), first.push_back(i);
  return tensordot(a, b, last, first);
}

}  // namespace tenon
