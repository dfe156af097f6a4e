#include "text/char_splitters.h"

namespace millrace::text {
namespace {

class ClassSplitter final : public WordSplitter {
 public:
  explicit ClassSplitter(CharRole (*role)(char32_t)) : role_(role) {}

  void split(std::string_view text, Word word, std::vector<Word>& out) const override {
    std::size_t begin = word.begin;
    CharRole open = CharRole::kDropped;  // of the run from `begin` on
    const auto close = [&](std::size_t end) {
      if (open != CharRole::kDropped && begin < end) out.push_back({begin, end});
    };
    for (std::size_t at = word.begin; at < word.end;) {
      const unicode::CodePoint c = unicode::code_point_at(text, at);
      const CharRole role = role_(c.value);
      if (role != open || role == CharRole::kAlone) {
        close(at);
        begin = at;
        open = role;
      }
      at += c.size;
    }
    close(word.end);
  }

 private:
  CharRole (*role_)(char32_t);
};

class CharSplitter final : public WordSplitter {
 public:
  CharSplitter(bool (*matches)(char32_t), SplitBehavior behavior) : matches_(matches), behavior_(behavior) {}

  void split(std::string_view text, Word word, std::vector<Word>& out) const override {
    std::vector<Piece> pieces;
    std::size_t done = word.begin;
    for (std::size_t at = word.begin; at < word.end;) {
      const unicode::CodePoint c = unicode::code_point_at(text, at);
      if (matches_(c.value)) {
        if (done < at) pieces.push_back({done, at, false});
        pieces.push_back({at, at + c.size, true});
        done = at + c.size;
      }
      at += c.size;
    }
    if (done < word.end) pieces.push_back({done, word.end, false});
    apply_behavior(pieces, behavior_, false, out);
  }

 private:
  bool (*matches_)(char32_t);
  SplitBehavior behavior_;
};

}  // namespace

std::unique_ptr<const WordSplitter> make_class_splitter(CharRole (*role)(char32_t)) {
  return std::make_unique<ClassSplitter>(role);
}

std::unique_ptr<const WordSplitter> make_char_splitter(bool (*matches)(char32_t), SplitBehavior behavior) {
  return std::make_unique<CharSplitter>(matches, behavior);
}

bool is_bert_punctuation(char32_t c) noexcept { return (unicode::unicode_classes(c) & unicode::kBertPunctuation) != 0; }

}  // namespace millrace::text
