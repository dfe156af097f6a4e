#include "text/word_level_model.h"

namespace millrace::text {

WordLevelModel::WordLevelModel(TokenId unk, StringTable forms) : unk_(unk), forms_(std::move(forms)) {
  index_.reserve(forms_.size());
  for (std::size_t id = 0; id < forms_.size(); ++id) index_.insert(forms_, static_cast<TokenId>(id));
}

void WordLevelModel::encode(std::string_view word, ModelScratch&, std::vector<TokenId>& out,
                            std::vector<Word>* spans) const {
  const TokenId known = index_.find(forms_, word);
  const TokenId token = known >= 0 ? known : unk_;
  if (token < 0) return;
  out.push_back(token);
  if (spans != nullptr) spans->push_back({0, word.size()});
}

}  // namespace millrace::text
