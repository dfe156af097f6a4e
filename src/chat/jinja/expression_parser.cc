#include "chat/jinja/expression_parser.h"

namespace millrace::chat::jinja {
namespace {

// Longest chain of attributes, calls, filters and tests after one operand: it nests in the tree, so it is bounded.
constexpr int kMaxChain = 64;

std::optional<Operator> operator_of(const Token& token, std::string_view allowed) {
  static constexpr std::pair<std::string_view, Operator> kOperators[] = {
      {"+", Operator::kAdd},    {"-", Operator::kSubtract},     {"*", Operator::kMultiply}, {"/", Operator::kDivide},
      {"%", Operator::kModulo}, {"//", Operator::kFloorDivide}, {"**", Operator::kPower},
  };
  if (token.kind != TokenKind::kOperator) return std::nullopt;
  for (const auto& [sign, op] : kOperators) {
    if (token.text == sign && allowed.find(" " + std::string(sign) + " ") != allowed.npos) return op;
  }
  return std::nullopt;
}

}  // namespace

void ExpressionParser::link(int& links) {
  if (++links > kMaxChain)
    syntax_error(stream_.line(), fmt::format("more than {} attributes, calls or filters in a row", kMaxChain));
}

ExpressionPtr ExpressionParser::tuple(bool with_conditional) {
  const int line = stream_.line();
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
  const auto at_end = [&] {
    return stream_.is(TokenKind::kPrintEnd) || stream_.is(TokenKind::kTagEnd) || stream_.is_sign(")");
  };
  while (!at_end()) {
    items.push_back(with_conditional ? expression() : without_conditional());
    if (!stream_.skip_sign(",")) break;
    is_tuple = true;
  }
  if (is_tuple) return make(ListDisplay{true, std::move(items)}, line);
  if (items.empty()) syntax_error(line, fmt::format("expected an expression, got {}", describe(stream_.peek())));
  return std::move(items.front());
}

ExpressionPtr ExpressionParser::conditional() {
  const TokenStream::Level level(stream_);
  const int line = stream_.line();
  ExpressionPtr yes = logic_or();
  int links = 0;
  while (stream_.skip_word("if")) {
    link(links);
    ExpressionPtr condition = logic_or();
    ExpressionPtr no = stream_.skip_word("else") ? conditional() : nullptr;
    yes = make(Conditional{std::move(condition), std::move(yes), std::move(no)}, line);
  }
  return yes;
}

ExpressionPtr ExpressionParser::logic_or() {
  const int line = stream_.line();
  ExpressionPtr first = logic_and();
  if (!stream_.is_word("or")) return first;
  Logic node{false, {}};
  node.operands.push_back(std::move(first));
  while (stream_.skip_word("or")) node.operands.push_back(logic_and());
  return make(std::move(node), line);
}

ExpressionPtr ExpressionParser::logic_and() {
  const int line = stream_.line();
  ExpressionPtr first = logic_not();
  if (!stream_.is_word("and")) return first;
  Logic node{true, {}};
  node.operands.push_back(std::move(first));
  while (stream_.skip_word("and")) node.operands.push_back(logic_not());
  return make(std::move(node), line);
}

ExpressionPtr ExpressionParser::logic_not() {
  const int line = stream_.line();
  if (!stream_.skip_word("not")) return comparison();
  const TokenStream::Level level(stream_);
  return make(Not{logic_not()}, line);
}

std::optional<Relation> ExpressionParser::relation() {
  static constexpr std::pair<std::string_view, Relation> kRelations[] = {
      {"==", Relation::kEqual},     {"!=", Relation::kNotEqual}, {"<", Relation::kLess},
      {"<=", Relation::kLessEqual}, {">", Relation::kGreater},   {">=", Relation::kGreaterEqual},
  };
  for (const auto& [sign, relation] : kRelations) {
    if (stream_.skip_sign(sign)) return relation;
  }
  if (stream_.skip_word("in")) return Relation::kIn;
  const Token& after = stream_.peek(1);
  if (stream_.is_word("not") && after.kind == TokenKind::kName && after.text == "in") {
    stream_.next();
    stream_.next();
    return Relation::kNotIn;
  }
  return std::nullopt;
}

ExpressionPtr ExpressionParser::comparison() {
  const int line = stream_.line();
  Comparison node{sum(), {}};
  while (const auto relation_found = relation()) node.rest.emplace_back(*relation_found, sum());
  if (node.rest.empty()) return std::move(node.first);
  return make(std::move(node), line);
}

ExpressionPtr ExpressionParser::sum() {
  const int line = stream_.line();
  Arithmetic node{concatenation(), {}};
  while (const auto op = operator_of(stream_.peek(), " + - ")) {
    stream_.next();
    node.rest.emplace_back(*op, concatenation());
  }
  if (node.rest.empty()) return std::move(node.first);
  return make(std::move(node), line);
}

ExpressionPtr ExpressionParser::concatenation() {
  const int line = stream_.line();
  ExpressionPtr first = product();
  if (!stream_.is_sign("~")) return first;
  Concatenation node;
  node.parts.push_back(std::move(first));
  while (stream_.skip_sign("~")) node.parts.push_back(product());
  return make(std::move(node), line);
}

ExpressionPtr ExpressionParser::product() {
  const int line = stream_.line();
  Arithmetic node{power(), {}};
  while (const auto op = operator_of(stream_.peek(), " * / // % ")) {
    stream_.next();
    node.rest.emplace_back(*op, power());
  }
  if (node.rest.empty()) return std::move(node.first);
  return make(std::move(node), line);
}

ExpressionPtr ExpressionParser::power() {
  const int line = stream_.line();
  Arithmetic node{unary(), {}};
  while (stream_.skip_sign("**")) node.rest.emplace_back(Operator::kPower, unary());
  if (node.rest.empty()) return std::move(node.first);
  return make(std::move(node), line);
}

ExpressionPtr ExpressionParser::unary(bool with_filters) {
  const int line = stream_.line();
  ExpressionPtr node;
  if (stream_.is_sign("-") || stream_.is_sign("+")) {
    const TokenStream::Level level(stream_);
    const bool negative = stream_.next().text == "-";
    node = make(Sign{negative, unary(false)}, line);
  } else {
    node = primary();
  }
  node = postfix(std::move(node));
  return with_filters ? filters_and_tests(std::move(node)) : std::move(node);
}

ExpressionPtr ExpressionParser::primary() {
  const int line = stream_.line();
  switch (stream_.peek().kind) {
    case TokenKind::kName: return name_or_constant();
    case TokenKind::kString: {
      std::string text;
      while (stream_.is(TokenKind::kString)) text += stream_.next().text;
      return make(Literal{Text(std::move(text), true)}, line);
    }
    case TokenKind::kInteger:
    case TokenKind::kReal: return make(Literal{stream_.next().number}, line);
    default: break;
  }
  if (stream_.is_sign("[")) return list();
  if (stream_.is_sign("{")) return dict();
  if (!stream_.skip_sign("(")) syntax_error(line, fmt::format("unexpected {}", describe(stream_.peek())));
  if (stream_.skip_sign(")")) return make(ListDisplay{true, {}}, line);
  ExpressionPtr inner = tuple();
  stream_.expect_sign(")");
  return inner;
}

ExpressionPtr ExpressionParser::name_or_constant() {
  const Token& token = stream_.next();
  const std::string& name = token.text;
  if (name == "true" || name == "True") return make(Literal{true}, token.line);
  if (name == "false" || name == "False") return make(Literal{false}, token.line);
  if (name == "none" || name == "None") return make(Literal{None{}}, token.line);
  const NameId id = stream_.intern(name);
  stream_.count_read(id);
  return make(Name{id}, token.line);
}

ExpressionPtr ExpressionParser::list() {
  const int line = stream_.next().line;
  ListDisplay node{false, {}};
  while (!stream_.is_sign("]")) {
    node.items.push_back(expression());
    if (!stream_.skip_sign(",")) break;
  }
  stream_.expect_sign("]");
  return make(std::move(node), line);
}

ExpressionPtr ExpressionParser::dict() {
  const int line = stream_.next().line;
  DictDisplay node;
  while (!stream_.is_sign("}")) {
    ExpressionPtr key = expression();
    stream_.expect_sign(":");
    node.items.emplace_back(std::move(key), expression());
    if (!stream_.skip_sign(",")) break;
  }
  stream_.expect_sign("}");
  return make(std::move(node), line);
}

ExpressionPtr ExpressionParser::postfix(ExpressionPtr object) {
  for (int links = 0;; link(links)) {
    const int line = stream_.line();
    if (stream_.skip_sign(".")) {
      if (stream_.is(TokenKind::kInteger)) {
        object = make(Item{std::move(object), make(Literal{stream_.next().number}, line)}, line);
      } else {
        object = make(Attribute{std::move(object), stream_.expect(TokenKind::kName, "a name or number").text}, line);
      }
    } else if (stream_.skip_sign("[")) {
      object = subscript(std::move(object));
    } else if (stream_.is_sign("(")) {
      object = make(Call{std::move(object), call_arguments()}, line);
    } else {
      return object;
    }
  }
}

ExpressionPtr ExpressionParser::subscript(ExpressionPtr object) {
  const int line = stream_.line();
  const auto at_end = [&] { return stream_.is_sign(":") || stream_.is_sign("]"); };
  ExpressionPtr start = stream_.is_sign(":") ? nullptr : expression();
  if (!stream_.skip_sign(":")) {
    if (stream_.is_sign(",")) syntax_error(line, "a subscript with commas is not supported");
    stream_.expect_sign("]");
    return make(Item{std::move(object), std::move(start)}, line);
  }
  SliceItem node{std::move(object), std::move(start), at_end() ? nullptr : expression(), nullptr};
  if (stream_.skip_sign(":") && !at_end()) node.step = expression();
  stream_.expect_sign("]");
  return make(std::move(node), line);
}

CallArguments ExpressionParser::call_arguments() {
  const int line = stream_.line();
  stream_.expect_sign("(");
  CallArguments arguments;
  while (!stream_.is_sign(")")) {
    const Token& after = stream_.peek(1);
    if (stream_.skip_sign("*")) {
      if (arguments.spread || arguments.named_spread) syntax_error(line, "invalid syntax for function call expression");
      arguments.spread = expression();
    } else if (stream_.skip_sign("**")) {
      if (arguments.named_spread) syntax_error(line, "invalid syntax for function call expression");
      arguments.named_spread = expression();
    } else if (stream_.is(TokenKind::kName) && after.kind == TokenKind::kOperator && after.text == "=") {
      Text name(stream_.next().text, true);
      stream_.next();
      if (arguments.named.size() == kMaxNames) syntax_error(line, "too many keyword arguments");
      for (const auto& [other, unused] : arguments.named) {
        if (other.view() == name.view()) {
          syntax_error(line, fmt::format("keyword argument repeated: {}", name.view()));
        }
      }
      if (arguments.named_spread) syntax_error(line, "invalid syntax for function call expression");
      arguments.named.emplace_back(std::move(name), expression());
    } else {
      const bool late = arguments.spread || arguments.named_spread || !arguments.named.empty();
      if (late) syntax_error(line, "invalid syntax for function call expression");
      arguments.positional.push_back(expression());
    }
    if (!stream_.skip_sign(",")) break;
  }
  stream_.expect_sign(")");
  return arguments;
}

ExpressionPtr ExpressionParser::filters_and_tests(ExpressionPtr input) {
  for (int links = 0;; link(links)) {
    const int line = stream_.line();
    if (stream_.is_sign("|")) {
      input = filters(std::move(input));
    } else if (stream_.skip_word("is")) {
      input = test(std::move(input));
    } else if (stream_.is_sign("(")) {
      input = make(Call{std::move(input), call_arguments()}, line);
    } else {
      return input;
    }
  }
}

std::string ExpressionParser::dotted_name() {
  std::string name = stream_.expect(TokenKind::kName, "a name").text;
  while (stream_.skip_sign(".")) name += "." + stream_.expect(TokenKind::kName, "a name").text;
  return name;
}

ExpressionPtr ExpressionParser::filters(ExpressionPtr input, bool first_bare) {
  int links = 0;
  while (first_bare || stream_.skip_sign("|")) {
    link(links);
    first_bare = false;
    const int line = stream_.line();
    const std::string name = dotted_name();
    const Filter* filter = find_filter(name);
    if (!filter) syntax_error(line, fmt::format("the filter '{}' is not supported", name));
    CallArguments arguments;
    if (stream_.is_sign("(")) arguments = call_arguments();
    input = make(ApplyFilter{std::move(input), filter, std::move(arguments)}, line);
  }
  return input;
}

ExpressionPtr ExpressionParser::test(ExpressionPtr input) {
  const int line = stream_.line();
  const bool negated = stream_.skip_word("not");
  const std::string name = dotted_name();
  const Test* found = find_test(name);
  if (!found) syntax_error(line, fmt::format("the test '{}' is not supported", name));
  CallArguments arguments;
  const bool word =
      stream_.is(TokenKind::kName) && !stream_.is_word("else") && !stream_.is_word("or") && !stream_.is_word("and");
  const bool operand = word || stream_.is(TokenKind::kString) || stream_.is(TokenKind::kInteger) ||
                       stream_.is(TokenKind::kReal) || stream_.is_sign("[") || stream_.is_sign("{");
  if (stream_.is_sign("(")) {
    arguments = call_arguments();
  } else if (operand) {
    if (stream_.is_word("is")) syntax_error(line, "tests cannot be chained with is");
    const TokenStream::Level level(stream_);
    arguments.positional.push_back(postfix(primary()));
  }
  ExpressionPtr node = make(ApplyTest{std::move(input), found, std::move(arguments)}, line);
  return negated ? make(Not{std::move(node)}, line) : std::move(node);
}

}  // namespace millrace::chat::jinja
