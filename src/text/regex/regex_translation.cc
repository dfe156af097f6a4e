#include "text/regex/regex_translation.h"

#include "unicode/code_point_set.h"
#include "unicode/code_points.h"

namespace millrace::text {
namespace {

constexpr int kMaxDepth = 16;  // of classes within classes

// \w in a class: alphabetic characters, marks, decimal numbers, connecting punctuation.
const std::string& word_members() {
  static const std::string members =
      R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})" +
      unicode::CodePointSet::younger_than_unicode14(unicode::kLetters | unicode::kMarks | 1u << unicode::kNd |
                                                    1u << unicode::kNl | 1u << unicode::kPc)
          .as_pcre2();
  return members;
}
// \w on its own and \b: Oniguruma takes the six other numbers of Latin-1 in there.
std::string word_class(bool negated = false) {
  return (negated ? "[^" : "[") + word_members() + R"(\x{b2}\x{b3}\x{b9}\x{bc}-\x{be}])";
}

struct Unsupported {
  std::string what;
};

class Translator {
 public:
  explicit Translator(std::string_view regex) : in_(regex) {}

  std::string run() {
    while (at_ < in_.size()) {
      if (in_[at_] == '[') {
        out_ += translate_class();
      } else if (in_[at_] == '\\') {
        out_ += translate_escape();
      } else {
        out_.push_back(in_[at_++]);
      }
    }
    return std::move(out_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < in_.size() ? in_[at_ + ahead] : '\0'; }
  bool take(std::string_view text) {
    if (!in_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }

  // {name} or {^name} after \p or \P, which are at at_.
  struct Property {
    std::string name;
    bool negated;
  };
  Property property() {
    Property out{"", peek(1) == 'P'};
    at_ += 2;
    if (!take("{")) throw Unsupported{"\\p without braces"};
    if (take("^")) out.negated = !out.negated;
    const std::size_t end = in_.find('}', at_);
    if (end == in_.npos || end - at_ > 64) throw Unsupported{"\\p without an end"};
    out.name = in_.substr(at_, end - at_);
    at_ = end + 1;
    return out;
  }

  // Members of a class that is otherwise left as it is.
  static std::string members(const Property& property) {
    if (property.name == "Han") {
      const unicode::CodePointSet han = unicode::CodePointSet::han();
      return (property.negated ? han.complement() : han).as_pcre2();
    }
    const auto set = unicode::category_set(property.name);
    if (!set) return (property.negated ? "\\P{" : "\\p{") + property.name + "}";
    if (property.negated) return unicode::CodePointSet::of(*set).complement().as_pcre2();
    return "\\p{" + property.name + "}" + unicode::CodePointSet::younger_than_unicode14(*set).as_pcre2();
  }

  std::string translate_escape() {
    switch (peek(1)) {
      case 's': at_ += 2; return R"(\p{White_Space})";
      case 'S': at_ += 2; return R"(\P{White_Space})";
      case 'w': at_ += 2; return word_class();
      case 'W': at_ += 2; return word_class(true);
      case 'd': at_ += 2; return "[" + members({"Nd", false}) + "]";
      case 'D': at_ += 2; return "[^" + members({"Nd", false}) + "]";
      case 'h': at_ += 2; return "[0-9a-fA-F]";
      case 'H': at_ += 2; return "[^0-9a-fA-F]";
      case 'p':
      case 'P': {
        Property p = property();
        const bool negated = p.negated;
        p.negated = false;
        return (negated ? "[^" : "[") + members(p) + "]";
      }
      case 'b':
      case 'B': {
        const char c = peek(1);
        at_ += 2;
        const std::string word = word_class();
        const std::string edge = "(?:(?<=" + word + ")(?!" + word + ")|(?<!" + word + ")(?=" + word + "))";
        return c == 'b' ? edge : "(?!" + edge + ")";
      }
      case 'Q':
      case 'E':
      case 'G':
      case 'K':
      case 'R':
      case 'X':
      case 'y':
      case 'Y':
      case 'N':
      case 'O':
      case 'g':
      case 'k':
      case '\0': throw Unsupported{std::string("\\") + peek(1)};
      default: {
        std::string out(in_.substr(at_, 2));
        at_ += 2;
        return out;
      }
    }
  }

  // A class that PCRE2 reads the same way is copied with its escapes rewritten, any other is worked out.
  std::string translate_class() {
    const std::size_t begin = at_;
    if (is_plain_class()) {
      at_ = begin + 1;
      std::string out = take("^") ? "[^" : "[";
      while (peek() != ']') out += plain_member();
      ++at_;
      return out + "]";
    }
    at_ = begin;
    return "[" + class_set(0).as_pcre2() + "]";
  }

  bool is_plain_class() const {
    std::size_t at = at_ + 1;
    if (at < in_.size() && in_[at] == '^') ++at;
    if (at < in_.size() && in_[at] == ']') return false;
    for (; at < in_.size(); ++at) {
      if (in_[at] == ']') return true;
      if (in_[at] == '[' || in_.substr(at, 2) == "&&") return false;
      if (in_[at] == '\\') {
        ++at;
        if (at < in_.size() && (in_[at] == 'W' || in_[at] == 'D' || in_[at] == 'H')) return false;
      }
    }
    return true;  // without an end: PCRE2 says so
  }

  std::string plain_member() {
    if (at_ >= in_.size()) throw Unsupported{"a class without an end"};
    if (peek() != '\\') return std::string(1, in_[at_++]);
    switch (peek(1)) {
      case 's': at_ += 2; return R"(\p{White_Space})";
      case 'S': at_ += 2; return R"(\P{White_Space})";
      case 'w': at_ += 2; return word_members();
      case 'd': at_ += 2; return members({"Nd", false});
      case 'h': at_ += 2; return "0-9a-fA-F";
      case 'p':
      case 'P': return members(property());
      default: {
        std::string out(in_.substr(at_, 2));
        at_ += 2;
        return out;
      }
    }
  }

  // [...] as a set; at_ is at its bracket. && binds weaker than everything else.
  unicode::CodePointSet class_set(int depth) {
    if (depth > kMaxDepth) throw Unsupported{"classes within classes deeper than 16"};
    ++at_;
    const bool negated = take("^");
    unicode::CodePointSet whole = unicode::CodePointSet().complement(), part;
    for (bool first = true; first || peek() != ']'; first = false) {
      if (at_ >= in_.size()) throw Unsupported{"a class without an end"};
      if (take("&&")) {
        whole = whole.intersection(part);
        part = {};
      } else if (peek() == '[' && peek(1) != ':') {
        part.add(class_set(depth + 1));
      } else {
        add_member(part);
      }
    }
    ++at_;
    whole = whole.intersection(part);
    return negated ? whole.complement() : whole;
  }

  void add_member(unicode::CodePointSet& set) {
    if (peek() == '[') throw Unsupported{"[:...:]"};
    if (peek() == '\\') {
      const char c = peek(1);
      if (c == 'p' || c == 'P') {
        const Property p = property();
        return set.add(set_of(p));
      }
      unicode::CodePointSet members;
      if (c == 's' || c == 'S') {
        members = unicode::CodePointSet::white_space();
      } else if (c == 'd' || c == 'D') {
        members = unicode::CodePointSet::of(1u << unicode::kNd);
      } else if (c == 'w' || c == 'W' || c == 'h' || c == 'H') {
        throw Unsupported{std::string("\\") + c + " in a class with other classes"};
      }
      if (c == 's' || c == 'S' || c == 'd' || c == 'D') {
        at_ += 2;
        return set.add(c == 'S' || c == 'D' ? members.complement() : members);
      }
    }
    const char32_t first = character();
    if (peek() == '-' && peek(1) != ']' && peek(1) != '[') {
      ++at_;
      const char32_t last = character();
      if (last < first) throw Unsupported{"a range whose end comes before its start"};
      set.add(first, last);
    } else {
      set.add(first, first);
    }
  }

  static unicode::CodePointSet set_of(const Property& property) {
    unicode::CodePointSet out;
    if (property.name == "Han") {
      out = unicode::CodePointSet::han();
    } else if (const auto set = unicode::category_set(property.name)) {
      out = unicode::CodePointSet::of(*set);
    } else {
      throw Unsupported{"\\p{" + property.name + "} in a class with other classes"};
    }
    return property.negated ? out.complement() : out;
  }

  char32_t character() {
    if (at_ >= in_.size()) throw Unsupported{"a class without an end"};
    if (peek() != '\\') {
      const unicode::CodePoint c = unicode::code_point_at(in_, at_);
      at_ += c.size;
      return c.value;
    }
    const char c = peek(1);
    at_ += 2;
    switch (c) {
      case 'n': return '\n';
      case 'r': return '\r';
      case 't': return '\t';
      case 'f': return '\f';
      case 'v': return '\v';
      case 'a': return '\a';
      case 'e': return 0x1B;
      case 'x': return hexadecimal(2);
      case 'u': return hexadecimal(4);
      default: break;
    }
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '\0') {
      throw Unsupported{std::string("\\") + c + " in a class with other classes"};
    }
    --at_;
    const unicode::CodePoint literal = unicode::code_point_at(in_, at_);
    at_ += literal.size;
    return literal.value;
  }

  // {digits}, or at most `digits` of them.
  char32_t hexadecimal(int digits) {
    const bool braces = take("{");
    if (braces) digits = 6;
    char32_t value = 0;
    int n = 0;
    for (; n < digits; ++n, ++at_) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) break;
      value = value * 16 + static_cast<char32_t>(digit);
    }
    if (n == 0 || value > 0x10FFFF || (braces && !take("}"))) throw Unsupported{"a broken \\x"};
    return value;
  }

  std::string_view in_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::optional<std::string> translate_regex(std::string_view regex, std::string& why) {
  try {
    return Translator(regex).run();
  } catch (const Unsupported& unsupported) {
    why = "it uses " + unsupported.what;
    return std::nullopt;
  }
}

}  // namespace millrace::text
