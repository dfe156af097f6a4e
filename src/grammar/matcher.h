#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "grammar/compile.h"
#include "text/tokenizer.h"

namespace millrace::grammar {

// The state of an answer in its grammar. A value: a copy is a fork, and keeping copies allows to roll back. All
// matchers of a CompiledGrammar must be used by one thread at a time.
class Matcher {
 public:
  explicit Matcher(std::shared_ptr<CompiledGrammar> grammar);

  // Appends a token to the text. Ends of generation fit where the text may end, and change nothing. False: it does not
  // fit, and nothing has changed.
  bool accept(std::int32_t token);
  bool accept_bytes(std::string_view bytes);
  // Sets the bits of the tokens that may come next and, with `ends`, of ends of generation if the text may end; clears
  // all others. `words` has at least mask_words() words.
  void fill_mask(std::span<std::uint64_t> words, bool ends = true);
  std::size_t mask_words() const noexcept;  // a bit for each token of the vocabulary
  bool may_end() const;                     // whether the text so far fits as a whole
  bool must_end() const;                    // whether it fits as a whole and nothing may follow
  // The bytes that must come next whatever is sampled, at most `most`. Empty if the text may end here or continue in
  // several ways.
  std::string forced(std::size_t most);
  const text::Tokenizer& tokenizer() const noexcept;
  // Whether the grammar exceeded its limits; then nothing fits any more.
  bool failed() const noexcept;

 private:
  std::shared_ptr<CompiledGrammar> grammar_;
  std::int32_t state_ = 0;
};

}  // namespace millrace::grammar
