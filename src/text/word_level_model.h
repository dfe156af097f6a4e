#pragma once

#include <string_view>

#include "text/string_index.h"
#include "text/word_model.h"

namespace millrace::text {

// Every word is a token, or unknown.
class WordLevelModel final : public WordModel {
 public:
  // forms[id]: the word; empty = never produced by encoding. unk = -1: an unknown word vanishes.
  WordLevelModel(TokenId unk, StringTable forms);

  void encode(std::string_view word, ModelScratch& scratch, std::vector<TokenId>& out,
              std::vector<Word>* spans) const override;

 private:
  TokenId unk_;
  StringTable forms_;
  StringIndex index_;
};

}  // namespace millrace::text
