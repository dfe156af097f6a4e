#include "chat/jinja/lexer.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "chat/jinja/unicode.h"

namespace millrace::chat::jinja {
namespace {

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

// Line ends become \n and one at the very end is dropped, as Jinja reads files.
std::string normalize(std::string_view source) {
  std::string out;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

std::size_t skip_space(std::string_view text, std::size_t i) {
  while (i < text.size()) {
    std::size_t next = i;
    if (!is_space(next_code_point(text, next))) break;
    i = next;
  }
  return i;
}

std::string_view without_trailing_space(std::string_view text) {
  std::size_t end = 0;  // after the last character that is not a space
  for (std::size_t i = 0; i < text.size();) {
    if (!is_space(next_code_point(text, i))) end = i;
  }
  return text.substr(0, end);
}

// What Python's "unicode-escape" makes of the inside of a string literal.
class StringUnescaper {
 public:
  StringUnescaper(std::string_view body, int line) : body_(body), line_(line) {}

  std::string run() {
    while (at_ < body_.size()) {
      if (body_[at_] == '\\' && at_ + 1 < body_.size()) {
        ++at_;
        escape(body_[at_++]);
      } else {
        out_ += body_[at_++];
      }
    }
    return std::move(out_);
  }

 private:
  void escape(char c) {
    static constexpr std::string_view kFrom = "\\'\"abfnrtv", kTo = "\\'\"\a\b\f\n\r\t\v";
    if (const auto found = kFrom.find(c); found != kFrom.npos) {
      out_ += kTo[found];
    } else if (c == 'x') {
      hexadecimal(2);
    } else if (c == 'u') {
      hexadecimal(4);
    } else if (c == 'U') {
      hexadecimal(8);
    } else if (c >= '0' && c <= '7') {
      unsigned value = static_cast<unsigned>(c - '0');
      for (int i = 0; i < 2 && at_ < body_.size() && body_[at_] >= '0' && body_[at_] <= '7'; ++i) {
        value = value * 8 + static_cast<unsigned>(body_[at_++] - '0');
      }
      append_utf8(out_, value);
    } else if (c == 'N') {
      syntax_error(line_, "the escape \\N{...} is not supported");
    } else if (c != '\n') {  // a backslash before a line end joins the lines
      out_ += '\\';
      out_ += c;
    }
  }

  void hexadecimal(std::size_t digits) {
    unsigned value = 0;
    const std::string_view hex = body_.substr(at_, digits);
    const auto parsed = std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
    if (hex.size() != digits || parsed.ptr != hex.data() + hex.size())
      syntax_error(line_, "truncated escape in a string");
    if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) syntax_error(line_, "escape of an illegal character");
    append_utf8(out_, value);
    at_ += digits;
  }

  std::string_view body_;
  int line_;
  std::size_t at_ = 0;
  std::string out_;
};

class Lexer {
 public:
  explicit Lexer(std::string_view source) : owned_(normalize(source)), source_(owned_) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) {
      const std::size_t start = next_tag();
      if (start == source_.npos) {
        data(source_.substr(at_));
        break;
      }
      const char kind = source_[start + 1];
      std::size_t body = start + 2;
      const char control =
          body < source_.size() && (source_[body] == '-' || source_[body] == '+') ? source_[body++] : ' ';
      data(stripped(source_.substr(at_, start - at_), control, kind == '{'));
      advance_to(body);
      if (kind == '#') {
        comment();
      } else if (kind == '{') {
        push(TokenKind::kPrintBegin, "{{");
        tag('}', TokenKind::kPrintEnd);
      } else if (!raw()) {
        push(TokenKind::kTagBegin, "{%");
        tag('%', TokenKind::kTagEnd);
      }
    }
    push(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  void push(TokenKind kind, std::string text, Value number = {}) {
    tokens_.push_back({kind, std::move(text), std::move(number), line_});
  }
  void data(std::string_view text) {
    if (!text.empty()) push(TokenKind::kData, std::string(text));
  }
  void advance_to(std::size_t offset) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
    at_ = offset;
  }
  // After the closing sign of a tag.
  void finish_tag(std::size_t end) {
    at_line_start_ = end > 0 && source_[end - 1] == '\n';
    advance_to(end);
  }

  std::size_t next_tag() const {
    for (std::size_t i = source_.find('{', at_); i != source_.npos; i = source_.find('{', i + 1)) {
      if (i + 1 < source_.size() && (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#')) return i;
    }
    return source_.npos;
  }

  std::string_view stripped(std::string_view text, char control, bool is_print) const {
    if (control == '-') return without_trailing_space(text);
    if (control == '+' || is_print) return text;
    const std::size_t line = text.rfind('\n') + 1;  // npos + 1 is 0
    if (line == 0 && !at_line_start_) return text;
    return skip_space(text, line) == text.size() ? text.substr(0, line) : text;
  }

  // Where the tag that closes with -X} +X} or X} (X = sign) ends, if it closes at `at`; nothing otherwise.
  std::size_t closing(std::size_t at, char sign) const {
    const auto sign_at = [&](std::size_t i) {
      return i + 1 < source_.size() && source_[i] == sign && source_[i + 1] == '}';
    };
    if (at < source_.size() && source_[at] == '-' && sign_at(at + 1)) return skip_space(source_, at + 3);
    if (at < source_.size() && source_[at] == '+' && sign != '}' && sign_at(at + 1)) return at + 3;
    if (!sign_at(at)) return source_.npos;
    const bool trims = sign != '}' && at + 2 < source_.size() && source_[at + 2] == '\n';
    return at + 2 + (trims ? 1 : 0);
  }

  void comment() {
    for (std::size_t i = at_; i < source_.size(); ++i) {
      if (const std::size_t end = closing(i, '#'); end != source_.npos) return finish_tag(end);
    }
    syntax_error(line_, "Missing end of comment tag");
  }

  // {% raw %} ... {% endraw %}, after "{%" and its sign.
  bool raw() {
    std::size_t i = skip_space(source_, at_);
    if (source_.substr(i, 3) != "raw") return false;
    i = skip_space(source_, i + 3);
    const bool trims = source_.substr(i, 3) == "-%}";
    if (!trims && source_.substr(i, 2) != "%}") return false;
    i = trims ? skip_space(source_, i + 3) : i + 2;
    finish_tag(i);
    if (i == source_.size()) return true;  // nothing in it: Jinja lets it pass unclosed
    for (std::size_t open = source_.find("{%", i); open != source_.npos; open = source_.find("{%", open + 1)) {
      std::size_t name = open + 2;
      const char control =
          name < source_.size() && (source_[name] == '-' || source_[name] == '+') ? source_[name++] : ' ';
      name = skip_space(source_, name);
      if (source_.substr(name, 6) != "endraw") continue;
      const std::size_t end = closing(skip_space(source_, name + 6), '%');
      if (end == source_.npos) continue;
      data(stripped(source_.substr(i, open - i), control, false));
      finish_tag(end);
      return true;
    }
    syntax_error(line_, "Missing end of raw directive");
  }

  void tag(char sign, TokenKind end_kind) {
    std::string open;  // brackets waiting to be closed
    for (;;) {
      if (open.empty()) {
        if (const std::size_t end = closing(at_, sign); end != source_.npos) {
          push(end_kind, std::string(1, sign) + "}");
          return finish_tag(end);
        }
      }
      const std::size_t next = skip_space(source_, at_);
      if (next != at_) {
        advance_to(next);
        continue;
      }
      if (at_ >= source_.size()) syntax_error(line_, "unexpected end of template");
      token(open);
    }
  }

  void token(std::string& open) {
    const char c = source_[at_];
    if (is_ascii_digit(c)) return number();
    if (c == '\'' || c == '"') return string(c);
    std::size_t i = at_;
    const char32_t first = next_code_point(source_, i);
    if (first == '_' || is_alpha(first)) {
      for (std::size_t next = i; next < source_.size() && is_word(next_code_point(source_, next));) i = next;
      push(TokenKind::kName, std::string(source_.substr(at_, i - at_)));
      return advance_to(i);
    }
    operator_sign(open);
  }

  void operator_sign(std::string& open) {
    static constexpr std::string_view kSigns[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                                  "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                  ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};
    for (const std::string_view sign : kSigns) {
      if (source_.substr(at_, sign.size()) != sign) continue;
      if (const auto at = std::string_view("([{").find(sign); at != std::string_view::npos) open += ")]}"[at];
      if (std::string_view(")]}").find(sign) != std::string_view::npos) {
        if (open.empty() || open.back() != sign[0]) syntax_error(line_, fmt::format("unexpected '{}'", sign));
        open.pop_back();
      }
      push(TokenKind::kOperator, std::string(sign));
      return advance_to(at_ + sign.size());
    }
    std::size_t end = at_;
    next_code_point(source_, end);
    syntax_error(line_, fmt::format("unexpected character '{}'", source_.substr(at_, end - at_)));
  }

  void string(char quote) {
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) syntax_error(line_, "a string is not closed");
    push(TokenKind::kString, StringUnescaper(source_.substr(at_ + 1, end - at_ - 1), line_).run());
    advance_to(end + 1);
  }

  // The end of digits with single underscores between them, from `i`; `i` itself if there are none.
  std::size_t digits_end(std::size_t i) const {
    const auto digit = [&](std::size_t at) { return at < source_.size() && is_ascii_digit(source_[at]); };
    if (!digit(i)) return i;
    while (digit(i) || (i < source_.size() && source_[i] == '_' && digit(i + 1))) ++i;
    return i;
  }

  void number() {
    const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
    std::size_t end = digits_end(at_);
    std::size_t real_end = end;
    if (end < source_.size() && source_[end] == '.' && digits_end(end + 1) > end + 1) real_end = digits_end(end + 1);
    if (real_end < source_.size() && (source_[real_end] == 'e' || source_[real_end] == 'E')) {
      const bool has_sign =
          real_end + 1 < source_.size() && (source_[real_end + 1] == '+' || source_[real_end + 1] == '-');
      const std::size_t exponent = real_end + 1 + (has_sign ? 1 : 0);
      if (digits_end(exponent) > exponent) real_end = digits_end(exponent);
    }
    if (!after_dot && real_end > end) return real(real_end);
    integer(end);
  }

  std::string plain(std::size_t from, std::size_t to) const {
    std::string text(source_.substr(from, to - from));
    std::erase(text, '_');
    return text;
  }

  void real(std::size_t end) {
    const std::string text = plain(at_, end);
    double value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec == std::errc::result_out_of_range) value = text.find("e-") == text.npos ? HUGE_VAL : 0.0;
    push(TokenKind::kReal, text, value);
    advance_to(end);
  }

  void integer(std::size_t end) {
    int base = 10;
    std::size_t start = at_;
    const char mark =
        at_ + 1 < source_.size() && source_[at_] == '0' ? static_cast<char>(source_[at_ + 1] | 0x20) : ' ';
    if (mark == 'x' || mark == 'o' || mark == 'b') {
      base = mark == 'x' ? 16 : mark == 'o' ? 8 : 2;
      start += 2;
      end = start;
      const auto digit = [&](char c) {
        const int value = is_ascii_digit(c)                        ? c - '0'
                          : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                                   : 99;
        return value < base;
      };
      while (end < source_.size() && (digit(source_[end]) || source_[end] == '_')) ++end;
    } else if (source_[at_] == '0') {
      end = std::min(source_.find_first_not_of("0_", at_), end);
    }
    const std::string text = plain(start, end);
    Integer value = 0;
    bool bad = text.empty();
    for (const char c : text) {
      const int digit = is_ascii_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10;
      bad = bad || __builtin_mul_overflow(value, Integer(base), &value) ||
            __builtin_add_overflow(value, Integer(digit), &value);
    }
    if (bad) syntax_error(line_, "an integer literal is malformed or does not fit 128 bits");
    push(TokenKind::kInteger, text, value);
    advance_to(end);
  }

  const std::string owned_;
  const std::string_view source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool at_line_start_ = true;  // the tag before ended a line
  std::vector<Token> tokens_;
};

}  // namespace

void syntax_error(int line, std::string_view message) {
  throw Failure{ErrorCode::kBadFile, fmt::format("chat template, line {}: {}", line, message)};
}

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kData: return "template data";
    case TokenKind::kString: return "a string";
    case TokenKind::kEnd: return "end of template";
    default: return "'" + token.text + "'";
  }
}

std::vector<Token> tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace millrace::chat::jinja
