#pragma once

#include <string_view>

#include "text/string_index.h"
#include "text/word_model.h"

namespace millrace::text {

// A model in which every word is a token or unknown.
class WordLevelModel final : public WordModel {
 public:
  // forms[id] is the word; empty = encoding never produces it. unk -1: unknown words are dropped.
  WordLevelModel(TokenId unk, StringTable forms);

  void encode(std::string_view word, ModelScratch& scratch, std::vector<TokenId>& out,
              std::vector<Word>* spans) const override;

 private:
  TokenId unk_;
  StringTable forms_;
  StringIndex index_;
};

}  // namespace millrace::text
