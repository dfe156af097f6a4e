#pragma once

#include "chat/jinja/token_stream.h"

namespace millrace::chat::jinja {

// Parses expressions of the template language, with Jinja's precedence.
class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& stream) : stream_(stream) {}

  ExpressionPtr expression() { return conditional(); }
  ExpressionPtr without_conditional() { return logic_or(); }
  // One expression, or a tuple of several with commas.
  ExpressionPtr tuple(bool with_conditional = true);
  // Parses "a|b(1)|c" after the first sign or, if `input` is null and `first_bare`, before a name.
  ExpressionPtr filters(ExpressionPtr input, bool first_bare = false);

 private:
  template <typename Node>
  ExpressionPtr make(Node node, int line) {
    return std::make_unique<Expression>(Expression{std::move(node), line});
  }
  ExpressionPtr conditional();
  ExpressionPtr logic_or();
  ExpressionPtr logic_and();
  ExpressionPtr logic_not();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr unary(bool with_filters = true);
  ExpressionPtr primary();
  ExpressionPtr name_or_constant();
  ExpressionPtr list();
  ExpressionPtr dict();
  ExpressionPtr postfix(ExpressionPtr object);
  ExpressionPtr filters_and_tests(ExpressionPtr input);
  ExpressionPtr subscript(ExpressionPtr object);
  ExpressionPtr test(ExpressionPtr input);
  std::optional<Relation> relation();
  std::string dotted_name();
  CallArguments call_arguments();
  void link(int& links);

  TokenStream& stream_;
};

}  // namespace millrace::chat::jinja
