#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/token.h"

namespace millrace::text {

// Strings with numbers 0, 1, 2 ... in one block of memory: the texts of a vocabulary by id.
class StringTable {
 public:
  void reserve(std::size_t strings, std::size_t bytes);
  void push_back(std::string_view text);  // at most 2 GiB in all; callers limit their files far below that
  std::size_t size() const noexcept { return ends_.size() - 1; }
  std::string_view operator[](std::size_t i) const noexcept {
    return {arena_.data() + ends_[i], ends_[i + 1] - ends_[i]};
  }

 private:
  std::string arena_;
  std::vector<std::uint32_t> ends_{0};
};

// A hash table from strings to ids over a StringTable, which it does not own. Open addressing, 8 bytes per slot, at
// most half full.
class StringIndex {
 public:
  void reserve(std::size_t strings);
  // False, and nothing changed, if an equal string is there already. The empty string is never stored.
  bool insert(const StringTable& table, TokenId id);
  TokenId find(const StringTable& table, std::string_view text) const noexcept;  // -1 if absent

 private:
  struct Slot {
    std::uint32_t hash = 0;
    TokenId id = -1;
  };
  void grow();

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace millrace::text
