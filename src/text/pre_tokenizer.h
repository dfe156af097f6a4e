#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/marked_text.h"

namespace millrace::text {

struct Word {
  std::size_t begin = 0, end = 0;
};

// A segment of text (between added tokens) while it is split into words. Steps may rewrite it.
class WordText {
 public:
  // Begins a segment. `at_start`: the whole text begins with it.
  void reset(const MarkedText& segment, bool at_start);

  const MarkedText& marked() const noexcept { return rewritten_ ? own_ : *segment_; }
  std::string_view text() const noexcept { return marked().text(); }
  std::vector<Word> words;  // in order, none empty; text between words is dropped
  std::vector<Word> spare;  // a buffer for the steps
  bool at_start() const noexcept { return at_start_; }
  // Whether the whole text begins with this word.
  bool is_first(Word word) const noexcept { return at_start_ && word.begin == 0; }

  // Replaces the text and its words.
  void rewrite(MarkedText text, std::vector<Word> words);

 private:
  const MarkedText* segment_ = nullptr;
  MarkedText own_;
  bool rewritten_ = false, at_start_ = false;
};

// One pre-tokenizer of a Sequence. Immutable and thread-safe; linear time.
class PreTokenizerStep {
 public:
  virtual ~PreTokenizerStep() = default;
  virtual void apply(WordText& text) const = 0;
};

// A step that only splits words into smaller ones.
class WordSplitter : public PreTokenizerStep {
 public:
  // Appends the words of text[word.begin, word.end) in order, none empty. It must not read other text.
  virtual void split(std::string_view text, Word word, std::vector<Word>& out) const = 0;
  void apply(WordText& text) const final;
};

// A step that rewrites every word.
class WordRewriter : public PreTokenizerStep {
 public:
  // Appends the rewritten source[word.begin, word.end) to `out`. `is_first`: the whole text begins with this word.
  virtual void append(const MarkedText& source, Word word, bool is_first, MarkedText& out) const = 0;
  void apply(WordText& text) const final;
};

// What a Split pre-tokenizer does with the matches of its pattern (Hugging Face's SplitDelimiterBehavior).
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

// A match, or the text between two matches. apply_behavior() converts them, in order, to words.
struct Piece {
  std::size_t begin, end;
  bool is_match;
};
void apply_behavior(std::vector<Piece>& pieces, SplitBehavior behavior, bool invert, std::vector<Word>& out);

// A splitter for any expression of tokenizer.json, through PCRE2. Null, with the reason in `why`, if it does not
// compile.
std::unique_ptr<const WordSplitter> make_regex_splitter(std::string_view regex, SplitBehavior behavior, bool invert,
                                                        std::string& why);
std::unique_ptr<const WordSplitter> make_literal_splitter(std::string literal, SplitBehavior behavior, bool invert);

// A whole pre-tokenizer: steps that run one after the other.
struct PreTokenizer {
  bool byte_level = false;  // words are encoded as bytes; false: as characters
  std::vector<std::unique_ptr<const PreTokenizerStep>> steps;

  void run(WordText& text) const {
    for (const auto& step : steps) step->apply(text);
  }
};

}  // namespace millrace::text
