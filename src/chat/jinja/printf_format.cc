#include "chat/jinja/printf_format.h"

#include <cmath>

#include "chat/jinja/arguments.h"
#include "chat/jinja/number_format.h"
#include "chat/jinja/repr.h"
#include "chat/jinja/text_ops.h"
#include "chat/jinja/unicode.h"

namespace millrace::chat::jinja {
namespace {

struct Directive {
  bool left = false, zero = false, alternate = false;
  char sign = '-';
  std::int64_t width = 0, precision = -1;
  char type = 0;
};

class PrintfFormatter {
 public:
  PrintfFormatter(Runtime& runtime, const Text& format, const Value& values)
      : runtime_(runtime), format_(format), view_(format.view()), values_(values), out_(runtime.budget) {}

  Text run() {
    while (at_ < view_.size()) {
      const std::size_t percent = std::min(view_.find('%', at_), view_.size());
      out_.append(format_, at_, percent);
      at_ = percent;
      if (at_ < view_.size()) directive();
    }
    const bool tuple = values_.list() && values_.list()->is_tuple();
    const bool mapping = values_.dict() || (values_.list() && !tuple) || values_.is_undefined();
    if (tuple ? used_ < values_.list()->items.size() : used_ == 0 && !mapping) {
      fail("not all arguments converted during string formatting");
    }
    return out_.take();
  }

 private:
  char peek() const {
    if (at_ >= view_.size()) fail("incomplete format");
    return view_[at_];
  }

  const Value& next_value() {
    const List* list = values_.list();
    if (list && list->is_tuple()) {
      if (used_ >= list->items.size()) fail("not enough arguments for format string");
      return list->items[used_++];
    }
    if (used_++ > 0) fail("not enough arguments for format string");
    return values_;
  }

  std::int64_t number() {
    if (peek() == '*') {
      ++at_;
      const auto value = next_value().as_integer();
      if (!value) fail("* wants int");
      return clamp_integer(*value);
    }
    std::int64_t value = 0;
    while (peek() >= '0' && peek() <= '9' && value < 100'000'000) value = value * 10 + (view_[at_++] - '0');
    return value;
  }

  Value named_value() {
    const std::size_t end = view_.find(')', at_);
    if (end == view_.npos) fail("incomplete format key");
    const std::string_view name = view_.substr(at_ + 1, end - at_ - 1);
    if (!values_.dict()) fail("format requires a mapping");
    const Value* value = values_.dict()->find(name);
    if (!value) fail("format key '{}' is missing", name);
    at_ = end + 1;
    return *value;
  }

  void directive() {
    runtime_.budget.step();
    ++at_;
    std::optional<Value> named;
    if (peek() == '(') named = named_value();
    Directive d;
    for (;; ++at_) {
      const char c = peek();
      if (c == '-') {
        d.left = true;
      } else if (c == '0') {
        d.zero = true;
      } else if (c == '#') {
        d.alternate = true;
      } else if (c == '+' || (c == ' ' && d.sign != '+')) {
        d.sign = c;
      } else if (c != ' ') {
        break;
      }
    }
    d.width = number();
    if (d.width < 0) {
      d.left = true;
      d.width = d.width < -1'000'000'000 ? 1'000'000'000 : -d.width;
    }
    if (peek() == '.') {
      ++at_;
      d.precision = std::max<std::int64_t>(number(), 0);
    }
    while (peek() == 'l' || peek() == 'h' || peek() == 'L') ++at_;
    d.type = view_[at_++];
    if (d.type == '%') return out_.append(format_, at_ - 1, at_);
    convert(d, named ? *named : next_value());
  }

  void convert(const Directive& d, const Value& value) {
    Text text;
    if (d.type == 's' || d.type == 'r' || d.type == 'a') {
      text = d.type == 's' ? to_text(runtime_, value) : to_repr(runtime_, value);
      if (d.precision >= 0 && static_cast<std::size_t>(d.precision) < text.length()) {
        text = slice(runtime_.budget, text, 0, d.precision, 1);
      }
    } else if (d.type == 'c') {
      text = character(value);
    } else {
      text = Text(numeric(d, value), false);
    }
    out_.append(pad(runtime_.budget, text, d.width, " ", d.left ? Side::kLeft : Side::kRight));
  }

  Text character(const Value& value) {
    if (value.text() && value.text()->length() == 1) return *value.text();
    const auto code = value.as_integer();
    if (!code) fail("%c requires int or char");
    if (*code < 0 || *code > 0x10FFFF || (*code >= 0xD800 && *code < 0xE000)) fail("%c arg not in range(0x110000)");
    std::string out;
    append_utf8(out, static_cast<char32_t>(*code));
    return Text(std::move(out), false);
  }

  std::string numeric(const Directive& d, const Value& value) {
    static constexpr std::string_view kTypes = "diuoxXeEfFgG";
    if (kTypes.find(d.type) == kTypes.npos) fail("unsupported format character '{}'", d.type);
    if (value.is_undefined()) fail("{}", value.undefined_reason());
    if (!value.is_number()) fail("%{} format: a real number is required, not {}", d.type, value.type_name());
    NumberStyle style{d.type == 'i' || d.type == 'u' ? 'd' : d.type,
                      static_cast<int>(std::min<std::int64_t>(d.precision, 1 << 30)), d.alternate, d.sign, 0};
    Value number = value;
    if (const double* r = value.real(); r && !is_real_type(d.type)) {
      if (style.type != 'd') fail("%{} format: an integer is required, not float", d.type);
      if (!std::isfinite(*r) || std::fabs(*r) > 1e38) fail("cannot convert float to integer");
      number = static_cast<Integer>(*r);
    }
    std::string out = format_number(runtime_.budget, number, style);
    if (d.zero && !d.left && static_cast<std::int64_t>(out.size()) < d.width) {
      runtime_.budget.check_string(static_cast<std::size_t>(d.width));
      std::size_t start = out[0] == '-' || out[0] == '+' || out[0] == ' ' ? 1 : 0;
      if (d.alternate && !is_real_type(style.type) && style.type != 'd') start += 2;
      out.insert(start, static_cast<std::size_t>(d.width) - out.size(), '0');
    }
    return out;
  }

  Runtime& runtime_;
  const Text& format_;
  const std::string_view view_;
  const Value& values_;
  TextBuilder out_;
  std::size_t at_ = 0;
  std::size_t used_ = 0;  // positional values taken
};

}  // namespace

Text printf_format(Runtime& runtime, const Text& format, const Value& values) {
  return PrintfFormatter(runtime, format, values).run();
}

}  // namespace millrace::chat::jinja
