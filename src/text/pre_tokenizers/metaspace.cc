#include "text/tokenizer_components.h"

// {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": true}: SentencePiece's spaces.
namespace millrace::text::pre_tokenizers {
namespace {

enum class Prepend { kAlways, kFirst, kNever };

class Metaspace final : public PreTokenizerStep {
 public:
  Metaspace(std::string replacement, Prepend prepend) : replacement_(std::move(replacement)), prepend_(prepend) {}

  void apply(WordText& text) const override {
    MarkedText out;
    std::vector<Word> words;
    for (const Word& word : text.words) {
      const std::size_t begin = out.text().size();
      append(text.marked(), word, prepend_ == Prepend::kAlways || (prepend_ == Prepend::kFirst && text.is_first(word)),
             out);
      words.push_back({begin, out.text().size()});
    }
    text.rewrite(std::move(out), std::move(words));
  }

 private:
  void append(const MarkedText& source, Word word, bool prefix, MarkedText& out) const {
    const std::string_view visible = source.text().substr(0, word.end);
    const bool has_prefix = visible[word.begin] == ' ' || visible.substr(word.begin).starts_with(replacement_);
    if (prefix && !has_prefix) {
      MarkedText first;
      first.append(source, word.begin, word.end);
      first.prepend(replacement_);
      out.append(first, 0, replacement_.size());
    }
    std::size_t done = word.begin;
    for (std::size_t at = visible.find(' ', done); at != visible.npos; at = visible.find(' ', done)) {
      if (done < at) out.append(source, done, at);
      done = at + 1;
      out.append(replacement_, source, at, done);
    }
    if (done < word.end) out.append(source, done, word.end);
  }

  std::string replacement_;
  Prepend prepend_;
};

void read(const JsonNode& node, TokenizerParts& parts) {
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

ComponentReader metaspace() { return {"Metaspace", read}; }

}  // namespace millrace::text::pre_tokenizers
