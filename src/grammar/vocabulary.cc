#include "grammar/vocabulary.h"

#include <algorithm>
#include <numeric>

#include "grammar/compile.h"
#include "grammar/transition_network.h"

namespace millrace::grammar {
namespace {

constexpr std::size_t kMaxKnown = std::size_t{64} << 20;  // bytes
constexpr std::size_t kLongestToken = 1024;

}  // namespace

std::size_t LocalMask::memory() const noexcept {
  return sizeof *this + tokens.capacity() * sizeof(std::int32_t) + words.capacity() * sizeof(std::uint64_t) +
         through.capacity() * sizeof(std::uint32_t);
}

Vocabulary::Vocabulary(std::shared_ptr<const text::Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {
  const auto size = static_cast<std::size_t>(tokenizer_->vocab_size());
  words_ = (size + 63) / 64;
  ends_.assign(tokenizer_->end_of_generation().begin(), tokenizer_->end_of_generation().end());
  bytes_.resize(size);
  std::vector<std::int32_t> order;
  for (std::size_t i = 0; i < size; ++i) {
    const auto token = static_cast<std::int32_t>(i);
    if (is_end(token)) continue;
    bytes_[i] = tokenizer_->is_special(token) ? special_bytes(token) : tokenizer_->token_bytes(token);
    const bool is_stray =
        !tokenizer_->is_special(token) && bytes_[i].find(static_cast<char>(kSpecialByte)) != std::string::npos;
    if (bytes_[i].empty() || bytes_[i].size() > kLongestToken || is_stray) {
      bytes_[i].clear();
      continue;
    }
    longest_ = std::max(longest_, bytes_[i].size());
    order.push_back(token);
  }
  std::ranges::stable_sort(order, {},
                           [&](std::int32_t t) { return std::string_view(bytes_[static_cast<std::size_t>(t)]); });
  nodes_.push_back({});
  std::vector<std::uint32_t> path = {0};  // [depth]: node
  const auto leave = [&](std::size_t depth) {
    for (; path.size() > depth + 1; path.pop_back()) {
      nodes_[path.back()].end = static_cast<std::uint32_t>(nodes_.size());
    }
  };
  std::string_view before;
  for (const std::int32_t token : order) {
    const std::string_view text = bytes_[static_cast<std::size_t>(token)];
    if (text == before) {
      twins_.emplace_back(nodes_[path.back()].token, token);
      continue;
    }
    const auto same = static_cast<std::size_t>(std::ranges::mismatch(text, before).in1 - text.begin());
    leave(same);
    for (std::size_t i = same; i < text.size(); ++i) {
      path.push_back(static_cast<std::uint32_t>(nodes_.size()));
      nodes_.push_back({.depth = static_cast<std::uint16_t>(i + 1), .byte = static_cast<std::uint8_t>(text[i])});
    }
    nodes_.back().token = token;
    before = text;
  }
  leave(0);
  nodes_[0].end = static_cast<std::uint32_t>(nodes_.size());
}

bool Vocabulary::is_end(std::int32_t token) const noexcept { return std::ranges::find(ends_, token) != ends_.end(); }

std::string_view Vocabulary::bytes(std::int32_t token) const noexcept {
  const auto i = static_cast<std::size_t>(token);
  return i < bytes_.size() ? std::string_view(bytes_[i]) : std::string_view();
}

void Vocabulary::add_twins(std::span<std::uint64_t> words) const noexcept {
  for (const auto& [token, twin] : twins_) {
    const std::uint64_t bit = words[static_cast<std::size_t>(token) / 64] >> (token % 64) & 1;
    words[static_cast<std::size_t>(twin) / 64] |= bit << (twin % 64);
  }
}

std::size_t Vocabulary::Hash::operator()(const Key& key) const noexcept {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(key.data()), key.size() * sizeof key[0]});
}

std::shared_ptr<const LocalMask> Vocabulary::find(const Key& key) const {
  const std::scoped_lock lock(mutex_);
  const auto found = known_.find(key);
  return found == known_.end() ? nullptr : found->second;
}

void Vocabulary::remember(Key key, std::shared_ptr<const LocalMask> mask) {
  const std::scoped_lock lock(mutex_);
  const std::size_t bytes = key.capacity() * sizeof(std::int32_t) + mask->memory() + 64;
  if (known_bytes_ + bytes > kMaxKnown) {
    known_.clear();
    known_bytes_ = 0;
  }
  known_bytes_ += bytes;
  known_.insert_or_assign(std::move(key), std::move(mask));
}

void Vocabulary::forget() {
  const std::scoped_lock lock(mutex_);
  known_.clear();
  known_bytes_ = 0;
}

std::size_t Vocabulary::known() const {
  const std::scoped_lock lock(mutex_);
  return known_.size();
}

std::shared_ptr<Vocabulary> make_vocabulary(std::shared_ptr<const text::Tokenizer> tokenizer) {
  return std::make_shared<Vocabulary>(std::move(tokenizer));
}

}  // namespace millrace::grammar
