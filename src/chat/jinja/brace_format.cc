#include "chat/jinja/brace_format.h"

#include <algorithm>

#include "chat/jinja/arguments.h"
#include "chat/jinja/number_format.h"
#include "chat/jinja/repr.h"
#include "chat/jinja/text_ops.h"
#include "chat/jinja/unicode.h"

namespace millrace::chat::jinja {
namespace {

// [[fill]align][sign][#][0][width][,][.precision][type]
struct Specification {
  std::string fill = " ";
  char align = 0;
  NumberStyle number{0, -1, false, '-', 0};
  bool zero = false;
  std::int64_t width = 0;
};

bool is_one_of(std::string_view set, char c) { return set.find(c) != set.npos; }

std::int64_t read_number(std::string_view text, std::size_t& at) {
  std::int64_t value = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
    value = std::min<std::int64_t>(value * 10 + (text[at] - '0'), 1 << 30);
  return value;
}

Specification parse_specification(std::string_view text) {
  Specification out;
  std::size_t at = 0;
  const auto take = [&](std::string_view set) {
    return at < text.size() && is_one_of(set, text[at]) ? text[at++] : '\0';
  };
  if (!text.empty()) {
    std::size_t after_fill = 0;
    next_code_point(text, after_fill);
    if (after_fill < text.size() && is_one_of("<>^=", text[after_fill])) {
      out.fill = text.substr(0, after_fill);
      at = after_fill;
    }
  }
  out.align = take("<>^=");
  if (const char sign = take("+- ")) out.number.sign = sign;
  out.number.alternate = take("#") != 0;
  out.zero = take("0") != 0;
  out.width = read_number(text, at);
  out.number.grouping = take(",_");
  if (take(".")) out.number.precision = static_cast<int>(read_number(text, at));
  out.number.type = take("bcdoxXeEfFgGs%");
  if (at != text.size()) fail("Invalid format specifier '{}'", text);
  return out;
}

Text pad_number(Budget& budget, const std::string& digits, const Specification& spec) {
  const bool sign = !digits.empty() && is_one_of("+- ", digits[0]);
  const char align = spec.align ? spec.align : spec.zero ? '=' : '>';
  const std::string_view fill = spec.zero && spec.fill == " " ? "0" : std::string_view(spec.fill);
  if (align == '=' && sign) {
    const Text rest = pad(budget, Text(digits.substr(1), false), spec.width - 1, fill, Side::kRight);
    return concatenate(budget, Text(digits.substr(0, 1), false), rest);
  }
  const Side side = align == '<' ? Side::kLeft : align == '^' ? Side::kBoth : Side::kRight;
  return pad(budget, Text(digits, false), spec.width, fill, side);
}

std::string number_text(Runtime& runtime, const Value& value, const Specification& spec) {
  NumberStyle style = spec.number;
  const bool real = value.real() || is_real_type(style.type) || style.type == '%';
  if (style.type == 's') fail("Unknown format code 's' for object of type '{}'", value.type_name());
  if (style.type == 'c') {
    const auto code = value.as_integer();
    if (real || !code || style.sign != '-') fail("Unknown format code 'c' for object of type '{}'", value.type_name());
    if (*code < 0 || *code > 0x10FFFF || (*code >= 0xD800 && *code < 0xE000)) fail("%c arg is not a character");
    std::string out;
    append_utf8(out, static_cast<char32_t>(*code));
    return out;
  }
  if (!real) {
    if (style.precision >= 0) fail("Precision not allowed in integer format specifier");
    if (style.type == 0) style.type = 'd';
    return format_number(runtime.budget, value, style);
  }
  if (style.type == '%') {
    style.type = 'f';
    return format_number(runtime.budget, value.as_real() * 100, style) + "%";
  }
  if (style.type != 0 && !is_real_type(style.type))
    fail("Unknown format code '{}' for object of type 'float'", style.type);
  if (style.type == 0 && style.precision < 0 && style.sign == '-' && !style.grouping)
    return real_to_string(value.as_real());
  if (style.type == 0) style.type = style.precision < 0 ? 'f' : 'g';
  return format_number(runtime.budget, value, style);
}

Text format_value(Runtime& runtime, const Value& value, std::string_view specification) {
  if (specification.empty()) return to_text(runtime, value);
  const Specification spec = parse_specification(specification);
  if (value.is_number()) {
    return pad_number(runtime.budget, number_text(runtime, value, spec), spec);
  }
  if (!value.text()) fail("unsupported format string passed to {}.__format__", value.type_name());
  if (spec.align == '=' || (spec.number.type != 0 && spec.number.type != 's'))
    fail("Invalid format specifier '{}' for a string", specification);
  Text text = to_text(runtime, value);
  if (spec.number.precision >= 0 && static_cast<std::size_t>(spec.number.precision) < text.length()) {
    text = slice(runtime.budget, text, 0, spec.number.precision, 1);
  }
  const Side side = spec.align == '>' ? Side::kRight : spec.align == '^' ? Side::kBoth : Side::kLeft;
  return pad(runtime.budget, text, spec.width, spec.zero && spec.fill == " " ? "0" : std::string_view(spec.fill), side);
}

class BraceFormatter {
 public:
  // `next` is the number of the next field without one; a specification with fields of its own shares it.
  BraceFormatter(Runtime& runtime, const Text& format, const Arguments& arguments, std::int64_t& next, bool is_nested)
      : runtime_(runtime),
        format_(format),
        view_(format.view()),
        arguments_(arguments),
        next_(next),
        is_nested_(is_nested),
        out_(runtime.budget) {}

  Text run() {
    while (at_ < view_.size()) {
      const std::size_t brace = std::min(view_.find_first_of("{}", at_), view_.size());
      out_.append(format_, at_, brace);
      at_ = brace;
      if (at_ == view_.size()) break;
      if (at_ + 1 < view_.size() && view_[at_ + 1] == view_[at_]) {
        out_.append(format_, at_, at_ + 1);
        at_ += 2;
      } else if (view_[at_] == '}') {
        fail("Single '}}' encountered in format string");
      } else {
        field();
      }
    }
    return out_.take();
  }

 private:
  // The brace that closes the field opened at `open`.
  std::size_t closing(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < view_.size(); ++i) {
      depth += view_[i] == '{' ? 1 : view_[i] == '}' ? -1 : 0;
      if (depth == 0) return i;
    }
    fail("expected '}}' before end of string");
  }

  void field() {
    runtime_.budget.step(1 + static_cast<std::int64_t>(arguments_.named.size() / 16));
    const std::size_t end = closing(at_);
    std::string_view body = view_.substr(at_ + 1, end - at_ - 1);
    const std::size_t body_start = std::exchange(at_, end + 1) + 1;
    Text specification;
    if (const std::size_t colon = body.find(':'); colon != body.npos) {
      specification = substring(runtime_.budget, format_, body_start + colon + 1, end);
      body = body.substr(0, colon);
    }
    if (body.find('{') != body.npos) fail("unexpected '{{' in field name");
    char conversion = 0;
    if (const std::size_t mark = body.find('!'); mark != body.npos) {
      if (body.size() != mark + 2 || !is_one_of("sra", body[mark + 1])) fail("invalid conversion in a format string");
      conversion = body[mark + 1];
      body = body.substr(0, mark);
    }
    Value value = lookup(body);
    if (conversion != 0) value = conversion == 's' ? to_text(runtime_, value) : to_repr(runtime_, value);
    if (specification.view().find('{') != std::string_view::npos) {
      if (is_nested_) fail("Max string recursion exceeded");
      specification = BraceFormatter(runtime_, specification, arguments_, next_, true).run();
    }
    out_.append(format_value(runtime_, value, specification.view()));
  }

  Value lookup(std::string_view path) {
    const std::size_t end = std::min(path.find_first_of(".["), path.size());
    Value value = argument(path.substr(0, end));
    for (std::size_t i = end; i < path.size();) {
      runtime_.budget.step();
      const bool item = path[i] == '[';
      const std::size_t stop = item ? path.find(']', i) : std::min(path.find_first_of(".[", i + 1), path.size());
      if (stop == path.npos || (!item && path[i] != '.') || stop == i + 1) fail("malformed field in a format string");
      const std::string_view name = path.substr(i + 1, stop - i - 1);
      std::size_t digits = 0;
      const std::int64_t index = read_number(name, digits);
      if (!item) {
        value = get_attribute(runtime_, value, name);
      } else {
        value = get_item(runtime_, value, digits == name.size() ? Value(index) : Value(Text(std::string(name), false)));
      }
      i = stop + (item ? 1 : 0);
    }
    return value;
  }

  Value argument(std::string_view name) {
    std::size_t digits = 0;
    std::int64_t index = read_number(name, digits);
    if (name.empty()) {
      index = next_++;
    } else if (digits != name.size()) {
      for (const auto& [key, value] : arguments_.named) {
        if (key.view() == name) return value;
      }
      fail("format(): there is no argument '{}'", name);
    }
    if (index >= static_cast<std::int64_t>(arguments_.positional.size()))
      fail("Replacement index {} out of range", index);
    return arguments_.positional[static_cast<std::size_t>(index)];
  }

  Runtime& runtime_;
  const Text& format_;
  const std::string_view view_;
  const Arguments& arguments_;
  std::int64_t& next_;
  const bool is_nested_;
  TextBuilder out_;
  std::size_t at_ = 0;
};

}  // namespace

Text brace_format(Runtime& runtime, const Text& format, const Arguments& arguments) {
  std::int64_t next = 0;
  return BraceFormatter(runtime, format, arguments, next, false).run();
}

}  // namespace millrace::chat::jinja
