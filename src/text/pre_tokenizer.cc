#include "text/pre_tokenizer.h"

#include <algorithm>

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

void WordText::reset(const MarkedText& segment, bool at_start) {
  segment_ = &segment;
  rewritten_ = false;
  at_start_ = at_start;
  words.clear();
  if (!segment.text().empty()) words.push_back({0, segment.text().size()});
}

void WordText::rewrite(MarkedText text, std::vector<Word> new_words) {
  at_start_ = at_start_ && !words.empty() && words.front().begin == 0;
  own_ = std::move(text);
  rewritten_ = true;
  words = std::move(new_words);
}

void WordSplitter::apply(WordText& text) const {
  text.spare.clear();
  for (const Word& word : text.words) split(text.text(), word, text.spare);
  text.words.swap(text.spare);
}

void WordRewriter::apply(WordText& text) const {
  MarkedText out;
  std::vector<Word> words;
  words.reserve(text.words.size());
  for (const Word word : text.words) {
    const std::size_t begin = out.text().size();
    append(text.marked(), word, text.is_first(word), out);
    words.push_back({begin, out.text().size()});
  }
  text.rewrite(std::move(out), std::move(words));
}

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

}  // namespace millrace::text
