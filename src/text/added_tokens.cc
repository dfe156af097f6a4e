#include "text/added_tokens.h"

#include <algorithm>

#include "unicode/code_points.h"

namespace millrace::text {
namespace {

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const unicode::CodePoint c = unicode::code_point_at(text, at);
    if (!(unicode::unicode_classes(c.value) & unicode::kSpace)) break;
    at += c.size;
  }
  return at;
}

std::size_t skip_space_back(std::string_view text, std::size_t end, std::size_t limit) {
  while (end > limit) {
    const std::size_t start = unicode::previous_start(text, end);
    if (!(unicode::unicode_classes(unicode::code_point_at(text, start).value) & unicode::kSpace)) break;
    end = start;
  }
  return std::max(end, limit);
}

bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  const auto is_word = [&](std::size_t at) {
    return (unicode::unicode_classes(unicode::code_point_at(text, at).value) & unicode::kWord) != 0;
  };
  return !(begin > 0 && is_word(unicode::previous_start(text, begin))) && !(end < text.size() && is_word(end));
}

}  // namespace

std::int32_t AddedTokenMatcher::child(std::int32_t node, char byte) const noexcept {
  std::int32_t at = nodes_[static_cast<std::size_t>(node)].first_child;
  while (at >= 0 && nodes_[static_cast<std::size_t>(at)].byte != byte) {
    at = nodes_[static_cast<std::size_t>(at)].next_sibling;
  }
  return at;
}

void AddedTokenMatcher::add(const AddedToken& token, std::string_view pattern) {
  if (pattern.empty()) return;
  std::int32_t& root = roots_[static_cast<unsigned char>(pattern[0])];
  if (root < 0) {
    root = static_cast<std::int32_t>(nodes_.size());
    nodes_.push_back(Node{.byte = pattern[0]});
  }
  std::int32_t node = root;
  for (const char byte : pattern.substr(1)) {
    std::int32_t next = child(node, byte);
    if (next < 0) {
      next = static_cast<std::int32_t>(nodes_.size());
      auto& parent = nodes_[static_cast<std::size_t>(node)];
      const std::int32_t sibling = parent.first_child;
      parent.first_child = next;
      nodes_.push_back(Node{.byte = byte, .next_sibling = sibling});
    }
    node = next;
  }
  auto& end = nodes_[static_cast<std::size_t>(node)];
  if (end.token >= 0) return;
  end.token = static_cast<std::int32_t>(tokens_.size());
  tokens_.push_back(token);
}

// A special token that is not allowed here does not hide a shorter or later one that is: a user's text can never take
// away the template's tokens.
AddedTokenMatcher::Match AddedTokenMatcher::longest_at(const MarkedText& marked, std::size_t at) const noexcept {
  const std::string_view text = marked.text();
  Match match;
  std::int32_t node = roots_[static_cast<unsigned char>(text[at])];
  for (std::size_t end = at + 1; node >= 0; ++end) {
    const std::int32_t index = nodes_[static_cast<std::size_t>(node)].token;
    if (index >= 0) {
      const AddedToken& token = tokens_[static_cast<std::size_t>(index)];
      if (!token.special || marked.trusted(at, end)) match = {&token, end};
    }
    if (end == text.size()) break;
    node = child(node, text[end]);
  }
  return match;
}

void AddedTokenMatcher::split(const MarkedText& marked, std::vector<Segment>& out) const {
  const std::string_view text = marked.text();
  std::size_t done = 0;  // everything before is in `out`
  for (std::size_t at = 0; at < text.size() && !empty();) {
    const Match match = roots_[static_cast<unsigned char>(text[at])] < 0 ? Match{} : longest_at(marked, at);
    if (match.token == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at, end = match.end;
    at = match.end;
    if (match.token->single_word && !stands_alone(text, begin, end)) continue;
    if (match.token->lstrip) begin = skip_space_back(text, begin, std::min(done, begin));
    if (match.token->rstrip) end = skip_space(text, end);
    if (done < begin) out.push_back({done, begin, -1});
    out.push_back({begin, end, match.token->id});
    done = end;
  }
  if (done < text.size()) out.push_back({done, text.size(), -1});
}

}  // namespace millrace::text
