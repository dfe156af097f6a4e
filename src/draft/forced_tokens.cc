#include "draft/forced_tokens.h"

#include <algorithm>
#include <string>

namespace millrace::draft {
namespace {

constexpr std::size_t kBytesOfToken = 8;  // more than tokens have on the average
constexpr float kSure = 0.95f, kMayGoOn = 0.55f;

// The first of the tokens that fit a grammar, one after the other.
std::size_t fitting(grammar::Matcher matcher, const std::vector<Token>& tokens) {
  std::size_t n = 0;
  while (n < tokens.size() && matcher.accept(tokens[n].token)) ++n;
  return n;
}

}  // namespace

std::vector<Token> forced_tokens(grammar::Matcher matcher, std::int64_t most) {
  const std::string text = matcher.forced(static_cast<std::size_t>(most) * kBytesOfToken);
  if (text.empty()) return {};
  std::vector<Token> out;
  for (const std::int32_t token : matcher.tokenizer().encode(text, false, false)) {
    if (std::ssize(out) >= most || !matcher.accept(token)) break;
    out.push_back({token, kSure});
  }
  if (out.empty()) return out;
  if (!matcher.must_end()) out.back().confidence = kMayGoOn;
  return out;
}

void keep_fitting(const grammar::Matcher& matcher, std::vector<Token>& drafts, std::vector<Branch>& branches) {
  const std::size_t wanted = drafts.size();
  drafts.resize(fitting(matcher, drafts));
  const bool cut = drafts.size() < wanted;
  std::erase_if(branches, [&](Branch& branch) {
    if (branch.from > std::ssize(drafts)) return true;
    grammar::Matcher there = matcher;
    for (const Token& token : std::span(drafts).first(static_cast<std::size_t>(branch.from))) there.accept(token.token);
    branch.tokens.resize(fitting(std::move(there), branch.tokens));
    return branch.tokens.empty();
  });
  const auto rest = std::ranges::find(branches, std::ssize(drafts), &Branch::from);
  if (!cut || rest == branches.end()) return;
  drafts.insert(drafts.end(), rest->tokens.begin(), rest->tokens.end());
  branches.erase(rest);
}

}  // namespace millrace::draft
