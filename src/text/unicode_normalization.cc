#include "text/unicode_normalization.h"

#include <utf8proc.h>

#include <algorithm>
#include <optional>

#include "text/character_rewriting.h"
#include "unicode/code_points.h"
#include "unicode/normalization_classes.h"

namespace millrace::text {
namespace {

struct Mark {
  char32_t character;
  int combining_class;
  int change;  // as CharChange's
};

// Canonical or compatibility decomposition, then canonical order. utf8proc has the mappings; characters that the oracle
// does not know stay as they are.
class Decomposer {
 public:
  explicit Decomposer(bool compatibility)
      : changes_(compatibility ? unicode::kNfkdChanges : unicode::kNfdChanges),
        options_(static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                                (compatibility ? UTF8PROC_COMPAT : 0))) {}

  void decompose(std::string_view text, std::vector<Mark>& out) const {
    for (std::size_t at = 0; at < text.size();) {
      const unicode::CodePoint c = unicode::code_point_at(text, at);
      at += c.size;
      if (unicode::normalization_classes(c.value) & changes_) {
        append(c.value, out);
      } else {
        out.push_back({c.value, 0, 0});
      }
    }
    order(out);
  }

 private:
  static constexpr int kMaxParts = 32;  // the longest decomposition has 18

  void append(char32_t character, std::vector<Mark>& out) const {
    utf8proc_int32_t parts[kMaxParts];
    int boundary = 0;
    const auto n =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(character), parts, kMaxParts, options_, &boundary);
    for (utf8proc_ssize_t i = 0; i < n && i < kMaxParts; ++i) {
      const auto part = static_cast<char32_t>(parts[i]);
      const bool known = (unicode::normalization_classes(part) & unicode::kNfdChanges) != 0;
      out.push_back({part, known ? utf8proc_get_property(parts[i])->combining_class : 0, i == 0 ? 0 : 1});
    }
  }

  // Marks between two characters of class 0, by class; those of one class keep their order.
  static void order(std::vector<Mark>& marks) {
    const auto is_starter = [](const Mark& mark) { return mark.combining_class == 0; };
    for (auto at = marks.begin(); at != marks.end();) {
      at = std::find_if_not(at, marks.end(), is_starter);
      const auto end = std::find_if(at, marks.end(), is_starter);
      if (end - at > 1) std::ranges::stable_sort(at, end, {}, &Mark::combining_class);
      at = end;
    }
  }

  std::uint8_t changes_;
  utf8proc_option_t options_;
};

// The primary composite of two characters, if there is one.
std::optional<char32_t> composed(char32_t first, char32_t second) {
  utf8proc_int32_t pair[2] = {static_cast<utf8proc_int32_t>(first), static_cast<utf8proc_int32_t>(second)};
  constexpr auto kOptions = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  if (utf8proc_normalize_utf32(pair, 2, kOptions) != 1) return std::nullopt;
  const auto whole = static_cast<char32_t>(pair[0]);
  if (!(unicode::normalization_classes(whole) & unicode::kNfdChanges)) return std::nullopt;  // younger than the oracle
  return whole;
}

void compose(std::vector<Mark>& text) {
  constexpr std::size_t kNone = SIZE_MAX;
  std::size_t starter = kNone, size = 0;
  int last_class = -1;  // of the last character kept after the starter; -1 = none yet
  for (const Mark mark : text) {
    if (starter != kNone && last_class < mark.combining_class) {
      if (const auto whole = composed(text[starter].character, mark.character)) {
        text[starter].character = *whole;
        text[starter].change += mark.change - 1;
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

constexpr FirstBytes kBeyondAscii = FirstBytes::of([](char32_t) { return false; });

// Only stretches that can change are touched.
class UnicodeNormalizer final : public Normalizer {
 public:
  explicit UnicodeNormalizer(NormalizationForm form)
      : composes_(form == NormalizationForm::kNfc || form == NormalizationForm::kNfkc),
        changes_(form == NormalizationForm::kNfd    ? unicode::kNfdChanges
                 : form == NormalizationForm::kNfkd ? unicode::kNfkdChanges
                 : form == NormalizationForm::kNfc  ? unicode::kNfcChanges
                                                    : unicode::kNfkcChanges),
        decomposer_(form == NormalizationForm::kNfkd || form == NormalizationForm::kNfkc) {}

  void apply(MarkedText& text) const override {
    const std::string_view bytes = text.text();
    MarkedText out;
    std::size_t done = 0;
    for (std::size_t at = next_change(bytes, 0); at < bytes.size(); at = next_change(bytes, at)) {
      // The character before may take in a mark.
      const std::size_t begin = composes_ && at > done ? unicode::previous_start(bytes, at) : at;
      while (at < bytes.size() && may_change(bytes, at)) at += unicode::code_point_at(bytes, at).size;
      if (done == 0) out.reserve(bytes.size());
      if (done < begin) out.append(text, done, begin);
      out.append(changes_of(bytes.substr(begin, at - begin)), text, begin, at);
      done = at;
    }
    if (done == 0) return;
    if (done < bytes.size()) out.append(text, done, bytes.size());
    text = std::move(out);
  }

 private:
  bool may_change(std::string_view text, std::size_t at) const {
    return (unicode::normalization_classes(unicode::code_point_at(text, at).value) & changes_) != 0;
  }
  std::size_t next_change(std::string_view text, std::size_t at) const {
    at = kBeyondAscii.next(text, at);
    while (at < text.size() && !may_change(text, at))
      at = kBeyondAscii.next(text, at + unicode::code_point_at(text, at).size);
    return at;
  }
  std::vector<CharChange> changes_of(std::string_view text) const {
    std::vector<Mark> marks;
    decomposer_.decompose(text, marks);
    if (composes_) compose(marks);
    std::vector<CharChange> changes;
    changes.reserve(marks.size());
    for (const Mark& mark : marks) changes.push_back({mark.character, mark.change});
    return changes;
  }

  bool composes_;
  std::uint8_t changes_;
  Decomposer decomposer_;
};

}  // namespace

std::unique_ptr<const Normalizer> make_unicode_normalizer(NormalizationForm form) {
  return std::make_unique<UnicodeNormalizer>(form);
}

}  // namespace millrace::text
