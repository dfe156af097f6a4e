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

// Which tokens fit one part of a grammar, whatever surrounds it (local_masks.h).
struct LocalMask {
  std::vector<std::int32_t> tokens;    // fitting tokens, ascending; or, if they are many:
  std::vector<std::uint64_t> words;    // one bit for each token
  std::vector<std::uint32_t> through;  // nodes after which the part may be complete while tokens continue
  std::size_t memory() const noexcept;
};

// A tokenizer's tokens as a tree of their bytes, and the masks that grammars share. Thread-safe.
class Vocabulary {
 public:
  // In depth-first order, each node before its descendants. Node 0 is the root.
  struct Node {
    std::uint32_t end = 0;    // the first node after its descendants
    std::int32_t token = -1;  // the lowest token whose bytes end here; -1: none
    std::uint16_t depth = 0;  // in bytes
    std::uint8_t byte = 0;    // the last byte of the path
  };

  explicit Vocabulary(std::shared_ptr<const text::Tokenizer> tokenizer);

  const text::Tokenizer& tokenizer() const noexcept { return *tokenizer_; }
  std::span<const Node> nodes() const noexcept { return nodes_; }
  std::size_t longest() const noexcept { return longest_; }              // bytes of the longest token
  std::size_t words() const noexcept { return words_; }                  // words of a mask over all tokens
  std::span<const std::int32_t> ends() const noexcept { return ends_; }  // ends of generation
  bool is_end(std::int32_t token) const noexcept;
  // A token's bytes for grammars; empty for tokens without text (ends of generation, ids that the vocabulary lacks).
  std::string_view bytes(std::int32_t token) const noexcept;
  // Sets the bits of all tokens with the same bytes as one that is set.
  void add_twins(std::span<std::uint64_t> words) const noexcept;

  // find() returns the mask under this key, or null; remember() adds one. If they take too much memory, all are
  // dropped.
  using Key = std::vector<std::int32_t>;
  std::shared_ptr<const LocalMask> find(const Key& key) const;
  void remember(Key key, std::shared_ptr<const LocalMask> mask);
  std::size_t known() const;  // number of keys
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
