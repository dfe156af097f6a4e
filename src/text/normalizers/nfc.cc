#include <utf8proc.h>

#include <algorithm>

#include "text/tokenizer_components.h"
#include "text/unicode.h"

namespace millrace::text::normalizers {
namespace {

constexpr auto kOptions = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);

struct Mark {
  utf8proc_int32_t code_point;
  int combining_class;
  std::size_t order;  // before sorting: marks of one class keep theirs
};

// Nothing that normalization touches; also marks younger than the Unicode version of Hugging Face's normalizer.
bool inert(char32_t c) { return c < 0x300 || !(unicode_classes(c) & kNotInert); }

// Canonical decomposition, in canonical order.
void decompose(std::string_view text, std::vector<Mark>& out) {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    at += c.size;
    utf8proc_int32_t parts[8];  // four is the longest canonical decomposition of one character
    int boundary = 0;
    const auto n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c.value), parts, 8, kOptions, &boundary);
    for (utf8proc_ssize_t i = 0; i < n && i < 8; ++i) {
      const bool starter = inert(static_cast<char32_t>(parts[i]));
      out.push_back({parts[i], starter ? 0 : utf8proc_get_property(parts[i])->combining_class, out.size()});
    }
  }
  const auto is_starter = [](const Mark& mark) { return mark.combining_class == 0; };
  for (auto at = out.begin(); at != out.end();) {
    at = std::find_if_not(at, out.end(), is_starter);
    const auto end = std::find_if(at, out.end(), is_starter);
    std::sort(at, end, [](const Mark& a, const Mark& b) {
      return a.combining_class != b.combining_class ? a.combining_class < b.combining_class : a.order < b.order;
    });
    at = end;
  }
}

// The primary composite of two characters, or -1.
utf8proc_int32_t composed(utf8proc_int32_t first, utf8proc_int32_t second) {
  utf8proc_int32_t pair[2] = {first, second};
  return utf8proc_normalize_utf32(pair, 2, kOptions) == 1 ? pair[0] : -1;
}

void compose(std::vector<Mark>& text) {
  constexpr std::size_t kNone = SIZE_MAX;
  std::size_t starter = kNone, size = 0;
  int last_class = -1;  // of the last character kept after the starter; -1 = none yet
  for (const Mark mark : text) {
    if (starter != kNone && last_class < mark.combining_class) {
      const utf8proc_int32_t whole = composed(text[starter].code_point, mark.code_point);
      if (whole >= 0) {
        text[starter].code_point = whole;
        continue;
      }
    }
    if (mark.combining_class == 0) {
      starter = size;
      last_class = -1;
    } else {
      last_class = mark.combining_class;
    }
    text[size++] = mark;
  }
  text.resize(size);
}

// utf8proc's own NFC sorts marks in quadratic time; here only stretches that can change are touched at all, and sorted
// properly.
class Nfc final : public Normalizer {
 public:
  void apply(MarkedText& text) const override {
    const std::string_view bytes = text.text();
    MarkedText out;
    std::vector<Mark> marks;
    std::string composed_text;
    std::size_t done = 0, previous = 0;  // `previous`: start of the character before `at`
    for (std::size_t at = 0; at < bytes.size();) {
      const CodePoint c = code_point_at(bytes, at);
      if (inert(c.value)) {
        previous = at;
        at += c.size;
        continue;
      }
      const std::size_t begin = std::max(previous, done);
      std::size_t end = at;
      while (end < bytes.size() && !inert(code_point_at(bytes, end).value)) end += code_point_at(bytes, end).size;
      marks.clear();
      decompose(bytes.substr(begin, end - begin), marks);
      compose(marks);
      composed_text.clear();
      for (const Mark& mark : marks) append_utf8(composed_text, static_cast<char32_t>(mark.code_point));
      if (done < begin) out.append(text, done, begin);
      out.append(composed_text, text, begin, end);
      done = previous = at = end;
    }
    if (done == 0) return;
    if (done < bytes.size()) out.append(text, done, bytes.size());
    text = std::move(out);
  }
};

}  // namespace

ComponentReader nfc() {
  return {"NFC", [](const JsonNode&, TokenizerParts& parts) { parts.normalizers.push_back(std::make_unique<Nfc>()); }};
}

}  // namespace millrace::text::normalizers
