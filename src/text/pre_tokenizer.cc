#include "text/pre_tokenizer.h"

#include <algorithm>

#include "text/unicode.h"

namespace millrace::text {
namespace {

class LiteralSplitter final : public WordSplitter {
 public:
  LiteralSplitter(std::string literal, SplitBehavior behavior, bool invert)
      : literal_(std::move(literal)), behavior_(behavior), invert_(invert) {}

  void split(std::string_view text, Word word, std::vector<Word>& out) const override {
    const std::string_view visible = text.substr(0, word.end);
    std::vector<Piece> pieces;
    std::size_t done = word.begin;
    for (std::size_t at = visible.find(literal_, done); at != visible.npos; at = visible.find(literal_, done)) {
      if (done < at) pieces.push_back({done, at, false});
      done = at + literal_.size();
      pieces.push_back({at, done, true});
    }
    if (done < word.end) pieces.push_back({done, word.end, false});
    apply_behavior(pieces, behavior_, invert_, out);
  }

 private:
  std::string literal_;
  SplitBehavior behavior_;
  bool invert_;
};

class DigitSplitter final : public WordSplitter {
 public:
  explicit DigitSplitter(bool individual) : individual_(individual) {}

  void split(std::string_view text, Word word, std::vector<Word>& out) const override {
    std::size_t begin = word.begin;
    bool in_digits = false;
    for (std::size_t at = word.begin; at < word.end;) {
      const CodePoint c = code_point_at(text, at);
      const bool digit = (unicode_classes(c.value) & kDigit) != 0;
      if (at > begin && (digit != in_digits || (digit && individual_))) {
        out.push_back({begin, at});
        begin = at;
      }
      in_digits = digit;
      at += c.size;
    }
    if (begin < word.end) out.push_back({begin, word.end});
  }

 private:
  bool individual_;
};

// Joins every match to what comes before it; a match after a match stays on its own.
void merge_with_previous(std::vector<Piece>& pieces, std::vector<Word>& out) {
  bool after_match = false;
  const std::size_t first = out.size();
  for (const Piece& piece : pieces) {
    if (piece.is_match && !after_match && out.size() > first) {
      out.back().end = piece.end;
    } else {
      out.push_back({piece.begin, piece.end});
    }
    after_match = piece.is_match;
  }
}

void merge_with_next(std::vector<Piece>& pieces, std::vector<Word>& out) {
  bool before_match = false;
  const auto first = static_cast<std::ptrdiff_t>(out.size());
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    if (piece->is_match && !before_match && out.size() > static_cast<std::size_t>(first)) {
      out.back().begin = piece->begin;
    } else {
      out.push_back({piece->begin, piece->end});
    }
    before_match = piece->is_match;
  }
  std::reverse(out.begin() + first, out.end());
}

}  // namespace

void apply_behavior(std::vector<Piece>& pieces, SplitBehavior behavior, bool invert, std::vector<Word>& out) {
  if (invert) {
    for (Piece& piece : pieces) piece.is_match = !piece.is_match;
  }
  if (behavior == SplitBehavior::kMergedWithPrevious) return merge_with_previous(pieces, out);
  if (behavior == SplitBehavior::kMergedWithNext) return merge_with_next(pieces, out);
  bool joins = false, last_match = false;
  for (const Piece& piece : pieces) {
    if (behavior == SplitBehavior::kRemoved && piece.is_match) continue;
    if (behavior == SplitBehavior::kContiguous && joins && piece.is_match == last_match) {
      out.back().end = piece.end;
    } else {
      out.push_back({piece.begin, piece.end});
    }
    joins = true;
    last_match = piece.is_match;
  }
}

std::unique_ptr<const WordSplitter> make_literal_splitter(std::string literal, SplitBehavior behavior, bool invert) {
  return std::make_unique<LiteralSplitter>(std::move(literal), behavior, invert);
}

std::unique_ptr<const WordSplitter> make_digit_splitter(bool individual_digits) {
  return std::make_unique<DigitSplitter>(individual_digits);
}

std::string PreTokenizer::rewritten(std::string_view segment, bool at_start) const {
  std::string out;
  out.reserve(segment.size() + segment.size() / 2);
  for (const char c : segment) {
    if (c == ' ' && !space.empty()) {
      out.append(space);
    } else {
      out.push_back(c);
    }
  }
  const bool wanted = prepend == Prepend::kAlways || (prepend == Prepend::kFirst && at_start);
  if (wanted && !out.empty() && !out.starts_with(prefix)) out.insert(0, prefix);
  return out;
}

void PreTokenizer::split(std::string_view text, std::vector<Word>& words, std::vector<Word>& spare) const {
  words.clear();
  if (!text.empty()) words.push_back({0, text.size()});
  for (const auto& splitter : splitters) {
    spare.clear();
    for (const Word& word : words) splitter->split(text, word, spare);
    words.swap(spare);
  }
}

}  // namespace millrace::text
