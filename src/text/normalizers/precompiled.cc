#include <utf8proc.h>

#include "base/base64.h"
#include "text/character_rewriting.h"
#include "text/charsmap.h"
#include "text/containers/tokenizer_components.h"
#include "unicode/code_points.h"

// {"type": "Precompiled", "precompiled_charsmap": base64}: SentencePiece's rules, as Hugging Face applies them: a short
// grapheme cluster becomes what the first rule for a beginning of it says, others are taken character by character.
namespace millrace::text::normalizers {
namespace {

constexpr std::size_t kShortCluster = 5;  // bytes

// The end of the extended grapheme cluster (Unicode Standard Annex 29) that begins at `at`.
std::size_t cluster_end(std::string_view text, std::size_t at) {
  utf8proc_int32_t state = 0;
  unicode::CodePoint last = unicode::code_point_at(text, at);
  at += last.size;
  while (at < text.size()) {
    const unicode::CodePoint next = unicode::code_point_at(text, at);
    if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(last.value),
                                         static_cast<utf8proc_int32_t>(next.value), &state)) {
      break;
    }
    at += next.size;
    last = next;
  }
  return at;
}

std::size_t count_characters(std::string_view text) {
  std::size_t out = 0;
  for (const char c : text) out += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return out;
}

class Precompiled final : public Normalizer {
 public:
  explicit Precompiled(Charsmap rules)
      : rules_(std::move(rules)),
        first_bytes_(FirstBytes::of([this](char32_t c) { return rules_.changes_ascii(c); })) {}

  void apply(MarkedText& text) const override {
    const std::string_view bytes = text.text();
    MarkedText out;
    std::size_t done = 0;
    for (std::size_t at = first_bytes_.next_with_base(bytes, 0); at < bytes.size();
         at = first_bytes_.next_with_base(bytes, at)) {
      const std::size_t begin = at;
      Stretch stretch;
      std::size_t end = cluster_end(bytes, at);
      while (at < bytes.size() && rewrite(bytes.substr(at, end - at), stretch)) {
        at = end;
        if (at < bytes.size()) end = cluster_end(bytes, at);
      }
      if (begin == at) {
        at = end;
        continue;
      }
      if (begin == 0 && stretch.removed > 0 && text.tracked() && text.uniform()) return shift_all(text);
      if (done < begin) out.append(text, done, begin);
      out.append(stretch.changes, text, begin, at, stretch.removed);
      done = at;
    }
    if (done == 0) return;
    if (done < bytes.size()) out.append(text, done, bytes.size());
    text = std::move(out);
  }

 private:
  struct Stretch {
    std::vector<CharChange> changes;
    int removed = 0;  // characters before the first change
  };

  // Appends what becomes of a cluster; false, and nothing, when no rule applies.
  bool rewrite(std::string_view cluster, Stretch& out) const {
    if (cluster.size() <= kShortCluster) {
      const Charsmap::Rule rule = rules_.shortest(cluster);
      if (rule.size > 0) {
        replace(count_characters(cluster), rule.text, out);
        return true;
      }
    }
    bool touched = false;
    const std::size_t before = out.changes.size();
    for (std::size_t at = 0; at < cluster.size();) {
      const unicode::CodePoint c = unicode::code_point_at(cluster, at);
      const Charsmap::Rule rule = rules_.shortest(cluster.substr(at, c.size));
      at += c.size;
      touched = touched || rule.size > 0;
      if (rule.size > 0) {
        replace(1, rule.text, out);
      } else {
        out.changes.push_back({c.value, 0});
      }
    }
    if (!touched) out.changes.resize(before);
    return touched;
  }

  // `characters` of the source become `text`. Hugging Face's bookkeeping: too many new characters are insertions behind
  // the first, those that are gone belong to the last change there is.
  static void replace(std::size_t characters, std::string_view text, Stretch& out) {
    std::size_t written = 0;
    for (std::size_t at = 0; at < text.size(); ++written) {
      const unicode::CodePoint c = unicode::code_point_at(text, at);
      at += c.size;
      out.changes.push_back({c.value, written < characters ? 0 : 1});
    }
    const int gone = written < characters ? static_cast<int>(characters - written) : 0;
    if (out.changes.empty()) {
      out.removed += gone;
    } else {
      out.changes.back().change -= gone;
    }
  }

  // Hugging Face forgets what was removed from the very front, so that every character gets the place of the one that
  // many before it. As places only: a text of mixed trust does not come here.
  void shift_all(MarkedText& text) const {
    const std::string_view bytes = text.text();
    Stretch all;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t end = cluster_end(bytes, at);
      if (!rewrite(bytes.substr(at, end - at), all)) {
        for (; at < end; at += unicode::code_point_at(bytes, at).size) {
          all.changes.push_back({unicode::code_point_at(bytes, at).value, 0});
        }
      }
      at = end;
    }
    MarkedText out;
    out.append(all.changes, text, 0, bytes.size());
    text = std::move(out);
  }

  Charsmap rules_;
  FirstBytes first_bytes_;
};

void read_precompiled(const JsonNode& node, TokenizerParts& parts) {
  const JsonNode charsmap = node["precompiled_charsmap"];
  const auto blob = decode_base64(charsmap.string());
  if (!blob) charsmap.wrong("base64");
  parts.normalizers.push_back(std::make_unique<Precompiled>(Charsmap(*blob, charsmap.where())));
}

}  // namespace

ComponentReader precompiled() { return {"Precompiled", read_precompiled}; }

}  // namespace millrace::text::normalizers
