#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::text {

struct Word {
  std::size_t begin = 0, end = 0;
};

// Cuts text into words; what it leaves out is dropped. Never yields an empty word. Immutable and thread-safe.
class WordSplitter {
 public:
  virtual ~WordSplitter() = default;
  // Appends the words of text[word.begin, word.end), which is all it sees, in order.
  virtual void split(std::string_view text, Word word, std::vector<Word>& out) const = 0;
};

// What a Split pre-tokenizer does with the matches of its pattern (Hugging Face's SplitDelimiterBehavior).
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

// A scanner written by hand for one of the known regular expressions (gpt2, llama3, qwen2), found by the expression's
// text; null when unknown.
std::unique_ptr<const WordSplitter> make_known_splitter(std::string_view regex);
extern const std::string_view kGpt2Regex, kLlama3Regex, kQwen2Regex;

// Any other expression, through PCRE2. Null, and a reason in `why`, when it does not compile.
std::unique_ptr<const WordSplitter> make_regex_splitter(std::string_view regex, SplitBehavior behavior, bool invert,
                                                        std::string& why);
std::unique_ptr<const WordSplitter> make_literal_splitter(std::string literal, SplitBehavior behavior, bool invert);
std::unique_ptr<const WordSplitter> make_digit_splitter(bool individual_digits);

// Matches and the stretches between them, in order -> words.
struct Piece {
  std::size_t begin, end;
  bool is_match;
};
void apply_behavior(std::vector<Piece>& pieces, SplitBehavior behavior, bool invert, std::vector<Word>& out);

// A whole pre-tokenizer: perhaps a rewriting of spaces, then splitters one after the other.
struct PreTokenizer {
  enum class Prepend { kAlways, kFirst, kNever };

  bool byte_level = false;            // words are encoded by bytes
  std::string space;                  // what replaces U+0020 (Metaspace); empty = nothing does
  std::string prefix;                 // put before a segment that does not begin with it; empty = none
  Prepend prepend = Prepend::kNever;  // kFirst: only at the start of the whole text
  std::vector<std::unique_ptr<const WordSplitter>> splitters;

  bool rewrites() const noexcept { return !space.empty() || prepend != Prepend::kNever; }
  std::string rewritten(std::string_view segment, bool at_start) const;
  // `words` is filled with the words of `text`; `spare` is a buffer.
  void split(std::string_view text, std::vector<Word>& words, std::vector<Word>& spare) const;
};

}  // namespace millrace::text
