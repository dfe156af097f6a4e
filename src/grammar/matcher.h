#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "grammar/compile.h"
#include "text/tokenizer.h"

namespace millrace::grammar {

// Where an answer stands in its grammar. A value: to copy it is to fork it, and to keep a copy is how to roll back.
// All matchers of a CompiledGrammar are used by one thread at a time.
class Matcher {
 public:
  explicit Matcher(std::shared_ptr<CompiledGrammar> grammar);

  // The text goes on with this token; ends of generation fit where the text may end, and change nothing. False: it does
  // not fit, and nothing has changed.
  bool accept(std::int32_t token);
  bool accept_bytes(std::string_view bytes);
  // Sets the bits of the tokens that may come next, and clears all others; with `ends`, ends of generation where the
  // text may end. At least mask_words() words.
  void fill_mask(std::span<std::uint64_t> words, bool ends = true);
  std::size_t mask_words() const noexcept;  // a bit for each token of the vocabulary
  bool may_end() const;                     // the text so far is whole
  bool must_end() const;                    // and nothing can follow
  // What must come next whatever is drawn, at most `most` bytes. Empty where the text may end or go on in two ways.
  std::string forced(std::size_t most);
  const text::Tokenizer& tokenizer() const noexcept;
  // The grammar took more than its limits: nothing fits any more.
  bool failed() const noexcept;

 private:
  std::shared_ptr<CompiledGrammar> grammar_;
  std::int32_t state_ = 0;
};

}  // namespace millrace::grammar
