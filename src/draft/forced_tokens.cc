#include "draft/forced_tokens.h"

#include <algorithm>
#include <string>

namespace millrace::draft {
namespace {

constexpr std::size_t kBytesOfToken = 8;  // more than tokens have on the average
constexpr float kSure = 0.95f, kMayGoOn = 0.55f;

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

std::size_t fitting(grammar::Matcher matcher, const std::vector<Token>& drafts) {
  std::size_t n = 0;
  while (n < drafts.size() && matcher.accept(drafts[n].token)) ++n;
  return n;
}

}  // namespace millrace::draft
