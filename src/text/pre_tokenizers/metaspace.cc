#include "text/containers/tokenizer_components.h"

// {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": true}: SentencePiece's spaces.
namespace millrace::text::pre_tokenizers {
namespace {

enum class Prepend { kAlways, kFirst, kNever };

class Metaspace final : public WordRewriter {
 public:
  Metaspace(std::string replacement, Prepend prepend) : replacement_(std::move(replacement)), prepend_(prepend) {}

  void append(const MarkedText& source, Word word, bool is_first, MarkedText& out) const override {
    const std::string_view visible = source.text().substr(0, word.end);
    const bool wants_prefix = prepend_ == Prepend::kAlways || (prepend_ == Prepend::kFirst && is_first);
    const bool has_prefix = visible[word.begin] == ' ' || visible.substr(word.begin).starts_with(replacement_);
    if (wants_prefix && !has_prefix) out.append_in_front(replacement_, source, word.begin);
    std::size_t done = word.begin;
    for (std::size_t at = visible.find(' ', done); at != visible.npos; at = visible.find(' ', done)) {
      if (done < at) out.append(source, done, at);
      done = at + 1;
      out.append(replacement_, source, at, done);
    }
    if (done < word.end) out.append(source, done, word.end);
  }

 private:
  std::string replacement_;
  Prepend prepend_;
};

void read_metaspace(const JsonNode& node, TokenizerParts& parts) {
  const std::string replacement = short_text(node["replacement"]);
  if (replacement.empty()) node["replacement"].wrong("one character");
  const std::string_view scheme = metaspace_scheme(node);
  const Prepend prepend = scheme == "always" ? Prepend::kAlways : scheme == "first" ? Prepend::kFirst : Prepend::kNever;
  parts.add_step(std::make_unique<Metaspace>(replacement, prepend));
  if (node["split"].boolean_or(true)) {
    parts.add_step(make_literal_splitter(replacement, SplitBehavior::kMergedWithNext, false));
  }
}

}  // namespace

ComponentReader metaspace() { return {"Metaspace", read_metaspace}; }

}  // namespace millrace::text::pre_tokenizers
