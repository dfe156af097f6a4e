#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/tokenizer.h"

namespace millrace::grammar {

// What one part of a grammar says of all tokens, whatever surrounds it (local_masks.h).
struct LocalMask {
  std::vector<std::int32_t> tokens;    // that fit, ascending; or, where they are many:
  std::vector<std::uint64_t> words;    // a bit each
  std::vector<std::uint32_t> through;  // nodes behind which the part may be over while tokens go on
  std::size_t memory() const noexcept;
};

// A tokenizer's tokens as a tree of their bytes, and what is known of them that grammars share. Thread-safe.
class Vocabulary {
 public:
  // In the order of a walk that visits a node before those below it. Node 0 is the root.
  struct Node {
    std::uint32_t end = 0;    // the first node that is not below it
    std::int32_t token = -1;  // whose bytes end here, the lowest if there are several
    std::uint16_t depth = 0;  // bytes
    std::uint8_t byte = 0;    // the last of them
  };

  explicit Vocabulary(std::shared_ptr<const text::Tokenizer> tokenizer);

  const text::Tokenizer& tokenizer() const noexcept { return *tokenizer_; }
  std::span<const Node> nodes() const noexcept { return nodes_; }
  std::size_t longest() const noexcept { return longest_; }              // bytes of a token
  std::size_t words() const noexcept { return words_; }                  // of a mask over all tokens
  std::span<const std::int32_t> ends() const noexcept { return ends_; }  // of generation
  bool is_end(std::int32_t token) const noexcept;
  // A token's bytes as a grammar reads them; empty: no text (ends of generation, what the vocabulary does not have).
  std::string_view bytes(std::int32_t token) const noexcept;
  // Sets the bits of tokens that are spelled as others that are set.
  void add_twins(std::span<std::uint64_t> words) const noexcept;

  // What is known under this key, or null; and to make it known. Forgets everything where it grows too large.
  using Key = std::vector<std::int32_t>;
  std::shared_ptr<const LocalMask> find(const Key& key) const;
  void remember(Key key, std::shared_ptr<const LocalMask> mask);
  std::size_t known() const;  // keys
  void forget();

 private:
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::vector<std::string> bytes_;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> ends_;
  std::vector<std::pair<std::int32_t, std::int32_t>> twins_;  // the one in the tree, and another of the same bytes
  std::size_t longest_ = 0, words_ = 0;

  mutable std::mutex mutex_;
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept;
  };
  std::unordered_map<Key, std::shared_ptr<const LocalMask>, Hash> known_;
  std::size_t known_bytes_ = 0;
};

}  // namespace millrace::grammar
