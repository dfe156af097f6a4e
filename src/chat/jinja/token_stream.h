#pragma once

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/jinja/ast.h"
#include "chat/jinja/lexer.h"

namespace millrace::chat::jinja {

// Limit of the names in a list of parameters or named arguments; each is compared with those before it.
inline constexpr std::size_t kMaxNames = 255;

// The tokens with a cursor, the names used so far, and the nesting depth. Shared by the parsers of expressions and of
// statements.
class TokenStream {
 public:
  TokenStream(std::vector<Token> tokens, int depth_limit) : tokens_(std::move(tokens)), depth_limit_(depth_limit) {}

  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  int line() const { return peek().line; }

  bool is(TokenKind kind) const { return peek().kind == kind; }
  bool is_sign(std::string_view sign) const { return is(TokenKind::kOperator) && peek().text == sign; }
  bool is_word(std::string_view word) const { return is(TokenKind::kName) && peek().text == word; }
  bool skip_sign(std::string_view sign) { return is_sign(sign) && (next(), true); }
  bool skip_word(std::string_view word) { return is_word(word) && (next(), true); }

  const Token& expect(TokenKind kind, std::string_view what) {
    if (!is(kind)) syntax_error(line(), fmt::format("expected {}, got {}", what, describe(peek())));
    return next();
  }
  void expect_sign(std::string_view sign) {
    if (!skip_sign(sign)) syntax_error(line(), fmt::format("expected '{}', got {}", sign, describe(peek())));
  }
  void expect_word(std::string_view word) {
    if (!skip_word(word)) syntax_error(line(), fmt::format("expected '{}', got {}", word, describe(peek())));
  }

  NameId intern(std::string_view name) {
    const auto found = ids_.find(name);
    if (found != ids_.end()) return found->second;
    names_.emplace_back(name);
    ids_.emplace(names_.back(), names_.size() - 1);
    return names_.size() - 1;
  }
  std::optional<NameId> find_name(std::string_view name) const {
    const auto found = ids_.find(name);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  const std::map<std::string, NameId, std::less<>>& ids() const { return ids_; }
  std::vector<std::string> take_names() { return std::move(names_); }

  // How often a name has been read so far. The difference tells whether a body uses `loop` or `caller`.
  std::size_t reads_of(std::string_view name) const {
    const auto id = find_name(name);
    return id && *id < reads_.size() ? reads_[*id] : 0;
  }
  void count_read(NameId id) {
    if (reads_.size() <= id) reads_.resize(id + 1);
    ++reads_[id];
  }

  // One level of nesting of the source, for the lifetime of the guard. Throws Failure beyond the limit.
  class Level {
   public:
    explicit Level(TokenStream& stream) : stream_(stream) {
      if (++stream_.depth_ > stream_.depth_limit_) {
        syntax_error(stream_.line(),
                     fmt::format("nesting exceeds the limit of {} levels (depth)", stream_.depth_limit_));
      }
    }
    ~Level() { --stream_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    TokenStream& stream_;
  };

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  const int depth_limit_;
  std::vector<std::string> names_;
  std::vector<std::size_t> reads_;
  std::map<std::string, NameId, std::less<>> ids_;
};

}  // namespace millrace::chat::jinja
