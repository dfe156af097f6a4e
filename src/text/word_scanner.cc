#include <array>

#include "text/pre_tokenizer.h"
#include "text/unicode.h"

namespace millrace::text {

extern const std::string_view kGpt2Regex =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
extern const std::string_view kLlama3Regex = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
                                             R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
extern const std::string_view kQwen2Regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

namespace {

enum CharClass : std::uint8_t { kIsOther, kIsLetter, kIsNumber, kIsSpace };

constexpr CharClass ascii_class(int c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return kIsLetter;
  if (c >= '0' && c <= '9') return kIsNumber;
  if (c == ' ' || (c >= '\t' && c <= '\r')) return kIsSpace;
  return kIsOther;
}

constexpr std::array<CharClass, 128> kAsciiClass = [] {
  std::array<CharClass, 128> table{};
  for (int c = 0; c < 128; ++c) table[static_cast<std::size_t>(c)] = ascii_class(c);
  return table;
}();

CharClass class_of(char32_t code_point) {
  const std::uint8_t classes = unicode_classes(code_point);
  return classes & kLetter ? kIsLetter : classes & kNumber ? kIsNumber : classes & kSpace ? kIsSpace : kIsOther;
}

bool is_newline(char c) { return c == '\n' || c == '\r'; }

// One pass over the visible text: nothing at or after `end` exists.
class Scanner {
 public:
  Scanner(std::string_view text, std::size_t end) : text_(text), end_(end) {}

  struct Char {
    CharClass kind = kIsOther;
    std::size_t size = 0;  // bytes; 0 = at the end
  };
  Char at(std::size_t i) const {
    if (i >= end_) return {};
    const auto byte = static_cast<unsigned char>(text_[i]);
    if (byte < 0x80) return {kAsciiClass[byte], 1};
    const CodePoint c = code_point_at(text_, i);
    return {class_of(c.value), c.size};
  }
  char byte(std::size_t i) const { return i < end_ ? text_[i] : '\0'; }

  // The end of the run of `kind` from i on.
  std::size_t run(std::size_t i, CharClass kind) const {
    for (Char c = at(i); c.size > 0 && c.kind == kind; c = at(i)) i += c.size;
    return i;
  }

  // \s+(?!\S)|\s+ : a run of white space, less its last character when text follows.
  std::size_t spaces(std::size_t i) const {
    const std::size_t run_end = run(i, kIsSpace);
    if (run_end == end_) return run_end;
    const std::size_t last = previous_start(text_, run_end);
    return last > i ? last : run_end;
  }

  // 's 't 're 've 'm 'll 'd, after the apostrophe at i: bytes in all, 0 if none.
  std::size_t contraction(std::size_t i, bool any_case) const {
    char first = byte(i + 1), second = byte(i + 2);
    if (any_case) {
      if (first == '\xc5' && second == '\xbf') return 3;  // U+017F, long s, folds to s
      first = to_lower(first);
      second = to_lower(second);
    }
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
    if ((first == 'r' || first == 'v') && second == 'e') return 3;
    return first == 'l' && second == 'l' ? 3 : 0;
  }

  std::size_t newlines(std::size_t i) const {
    while (i < end_ && is_newline(text_[i])) ++i;
    return i;
  }
  // The end of the last newline in [begin, end), or 0.
  std::size_t after_last_newline(std::size_t begin, std::size_t end) const {
    for (; end > begin; --end) {
      if (is_newline(text_[end - 1])) return end;
    }
    return 0;
  }

 private:
  static char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

  std::string_view text_;
  std::size_t end_;
};

std::size_t gpt2_word(const Scanner& scan, std::size_t at) {
  const char lead = scan.byte(at);
  if (lead == '\'') {
    if (const std::size_t size = scan.contraction(at, false)) return at + size;
  }
  const std::size_t body = at + (lead == ' ' ? 1 : 0);
  const Scanner::Char c = scan.at(body);
  if (c.size == 0 || c.kind == kIsSpace) return scan.spaces(at);
  return scan.run(body, c.kind);
}

// llama3 and qwen2 differ in how many digits make a word.
template <int kMaxDigits>
std::size_t cased_word(const Scanner& scan, std::size_t at) {
  const char lead = scan.byte(at);
  if (lead == '\'') {
    if (const std::size_t size = scan.contraction(at, true)) return at + size;
  }
  const Scanner::Char first = scan.at(at);
  if (first.kind == kIsLetter) return scan.run(at, kIsLetter);
  if (first.kind == kIsNumber) {
    std::size_t end = at + first.size;
    for (int n = 1; n < kMaxDigits && scan.at(end).kind == kIsNumber; ++n) end += scan.at(end).size;
    return end;
  }
  const std::size_t after = at + first.size;
  const Scanner::Char second = scan.at(after);
  if (!is_newline(lead) && second.kind == kIsLetter) return scan.run(after, kIsLetter);
  if (first.kind == kIsOther) return scan.newlines(scan.run(at, kIsOther));
  if (lead == ' ' && second.size > 0 && second.kind == kIsOther) return scan.newlines(scan.run(after, kIsOther));
  const std::size_t line_end = scan.after_last_newline(at, scan.run(at, kIsSpace));
  return line_end > 0 ? line_end : scan.spaces(at);
}

template <std::size_t (*kNextWord)(const Scanner&, std::size_t)>
class ScannerSplitter final : public WordSplitter {
 public:
  void split(std::string_view text, Word word, std::vector<Word>& out) const override {
    const Scanner scan(text, word.end);
    for (std::size_t at = word.begin; at < word.end;) {
      const std::size_t end = kNextWord(scan, at);
      out.push_back({at, end});
      at = end;
    }
  }
};

}  // namespace

std::unique_ptr<const WordSplitter> make_known_splitter(std::string_view regex) {
  if (regex == kGpt2Regex) return std::make_unique<ScannerSplitter<gpt2_word>>();
  if (regex == kLlama3Regex) return std::make_unique<ScannerSplitter<cased_word<3>>>();
  if (regex == kQwen2Regex) return std::make_unique<ScannerSplitter<cased_word<1>>>();
  return nullptr;
}

}  // namespace millrace::text
