#include "chat/jinja/parser.h"

#include <algorithm>

#include "chat/jinja/expression_parser.h"
#include "chat/jinja/token_stream.h"

namespace millrace::chat::jinja {
namespace {

class Parser {
 public:
  Parser(std::vector<Token> tokens, const TemplateLimits& limits)
      : stream_(std::move(tokens), limits.depth), expressions_(stream_) {}

  Program run() {
    Program program;
    program.body = body({});
    program.loop_name = stream_.find_name("loop");
    program.caller_name = stream_.find_name("caller");
    program.varargs_name = stream_.find_name("varargs");
    program.kwargs_name = stream_.find_name("kwargs");
    program.ids = stream_.ids();
    program.names = stream_.take_names();
    return program;
  }

 private:
  using Node = decltype(Statement::node);
  using Words = std::initializer_list<std::string_view>;

  void end_tag() { stream_.expect(TokenKind::kTagEnd, "'%}'"); }

  bool at_word_of(Words words) const {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return stream_.is_word(word); });
  }

  // Statements up to one of the closing tags, whose word is then next; up to the end of the template if there are none.
  Body body(Words closing) {
    const TokenStream::Level level(stream_);
    Body statements;
    const auto add = [&](Node node, int line) {
      statements.push_back(std::make_unique<Statement>(Statement{std::move(node), line}));
    };
    for (;;) {
      const int line = stream_.line();
      if (stream_.is(TokenKind::kEnd)) break;
      if (stream_.is(TokenKind::kData)) {
        add(Data{Text(stream_.next().text, true)}, line);
      } else if (stream_.is(TokenKind::kPrintBegin)) {
        stream_.next();
        add(Print{expressions_.tuple()}, line);
        stream_.expect(TokenKind::kPrintEnd, "'}}'");
      } else {
        stream_.expect(TokenKind::kTagBegin, "a tag");
        if (at_word_of(closing)) return statements;
        add(statement(), line);
        end_tag();
      }
    }
    if (closing.size() > 0)
      syntax_error(stream_.line(), fmt::format("unexpected end of template, expected '{}'", *(closing.end() - 1)));
    return statements;
  }

  Body block(Words closing) {
    stream_.skip_sign(":");
    end_tag();
    return body(closing);
  }

  // A block closed by one word only, which is consumed.
  Body whole_block(std::string_view closing) {
    Body statements = block({closing});
    stream_.next();
    return statements;
  }

  Node statement() {
    const int line = stream_.line();
    const std::string word = stream_.expect(TokenKind::kName, "a tag name").text;
    if (word == "if") return if_statement();
    if (word == "for") return for_statement();
    if (word == "set") return set_statement();
    if (word == "macro") return macro_statement(line);
    if (word == "call") return call_block(line);
    if (word == "filter") return filter_block();
    if (word == "with") return with_statement();
    if (word == "generation") return generation_block();
    if (word == "print") return print_statement(line);
    if (word == "break" || word == "continue") {
      if (loops_ == 0) syntax_error(line, fmt::format("'{}' outside of a loop", word));
      return word == "break" ? Node(Break{}) : Node(Continue{});
    }
    syntax_error(line, fmt::format("the tag '{}' is unknown, misplaced or not supported", word));
  }

  // {% print a, b %} is {{ a ~ b }}.
  Node print_statement(int line) {
    Concatenation values;
    while (!stream_.is(TokenKind::kTagEnd)) {
      if (!values.parts.empty()) stream_.expect_sign(",");
      values.parts.push_back(expressions_.expression());
    }
    return Print{std::make_unique<Expression>(Expression{std::move(values), line})};
  }

  Node if_statement() {
    If node;
    for (;;) {
      ExpressionPtr condition = expressions_.tuple(false);
      node.branches.emplace_back(std::move(condition), block({"elif", "else", "endif"}));
      const std::string word = stream_.next().text;
      if (word == "elif") continue;
      if (word == "else") node.otherwise = whole_block("endif");
      return node;
    }
  }

  Node for_statement() {
    For node;
    ++for_statements_;
    node.target = target(Assigner::kFor);
    stream_.expect_word("in");
    node.items = expressions_.tuple(false);
    if (stream_.skip_word("if")) node.filter = expressions_.expression();
    node.recursive = stream_.skip_word("recursive");
    const std::size_t reads = stream_.reads_of("loop"), closures = closures_;
    ++loops_;
    node.body = block({"else", "endfor"});
    --loops_;
    node.uses_loop = node.recursive || stream_.reads_of("loop") > reads;
    if (stream_.next().text == "else") {
      // The whole of a recursive loop is a function: a loop around it cannot be left from inside.
      const int outer_loops = node.recursive ? std::exchange(loops_, 0) : loops_;
      node.otherwise = whole_block("endfor");
      loops_ = outer_loops;
    }
    node.makes_closures = closures_ > closures;
    if (node.recursive) ++closures_;
    --for_statements_;
    return node;
  }

  Node set_statement() {
    Target to = target(Assigner::kSet);
    if (stream_.skip_sign("=")) return Set{std::move(to), expressions_.tuple()};
    ExpressionPtr filter = expressions_.filters(nullptr);
    return SetBlock{std::move(to), std::move(filter), whole_block("endset")};
  }

  Node macro_statement(int line) {
    auto macro = std::make_unique<MacroDefinition>();
    macro->name = stream_.expect(TokenKind::kName, "a macro name").text;
    macro->id = stream_.intern(macro->name);
    parameters(*macro);
    macro_body(*macro, "endmacro", line);
    return DefineMacro{std::move(macro)};
  }

  Node call_block(int line) {
    auto caller = std::make_unique<MacroDefinition>();
    if (stream_.is_sign("(")) parameters(*caller);
    ExpressionPtr call = expressions_.expression();
    if (!std::holds_alternative<Call>(call->node)) syntax_error(line, "expected a call after 'call'");
    macro_body(*caller, "endcall", line);
    return CallBlock{std::move(call), std::move(caller)};
  }

  void parameters(MacroDefinition& macro) {
    stream_.expect_sign("(");
    while (!stream_.is_sign(")")) {
      Parameter parameter{stream_.intern(stream_.expect(TokenKind::kName, "a parameter name").text), nullptr};
      if (macro.parameters.size() == kMaxNames) syntax_error(stream_.line(), "too many parameters");
      for (const Parameter& other : macro.parameters) {
        if (other.name == parameter.name) syntax_error(stream_.line(), "a parameter name is repeated");
      }
      if (stream_.skip_sign("=")) {
        parameter.fallback = expressions_.expression();
      } else if (!macro.parameters.empty() && macro.parameters.back().fallback) {
        syntax_error(stream_.line(), "non-default argument follows default argument");
      }
      macro.parameters.push_back(std::move(parameter));
      if (!stream_.is_sign(")")) stream_.expect_sign(",");
    }
    stream_.expect_sign(")");
  }

  const Parameter* parameter_of(const MacroDefinition& macro, std::string_view name) const {
    const auto id = stream_.find_name(name);
    const auto found = std::find_if(macro.parameters.begin(), macro.parameters.end(),
                                    [&](const Parameter& parameter) { return parameter.name == id; });
    return found == macro.parameters.end() ? nullptr : &*found;
  }

  void macro_body(MacroDefinition& macro, std::string_view closing, int line) {
    const std::size_t varargs = stream_.reads_of("varargs"), kwargs = stream_.reads_of("kwargs");
    const std::size_t callers = stream_.reads_of("caller"), closures = closures_;
    const int outer_loops = std::exchange(loops_, 0);
    macro.body = whole_block(closing);
    loops_ = outer_loops;
    const Parameter* own_caller = parameter_of(macro, "caller");
    macro.takes_varargs = stream_.reads_of("varargs") > varargs && !parameter_of(macro, "varargs");
    macro.takes_kwargs = stream_.reads_of("kwargs") > kwargs && !parameter_of(macro, "kwargs");
    macro.takes_caller = stream_.reads_of("caller") > callers;
    if (macro.takes_caller && own_caller && !own_caller->fallback) {
      syntax_error(line, "the parameter 'caller' must be left out or have a default");
    }
    macro.makes_closures = closures_ > closures;
    macro.line = line;
    ++closures_;
  }

  Node filter_block() {
    ExpressionPtr filter = expressions_.filters(nullptr, true);
    return FilterBlock{std::move(filter), whole_block("endfilter")};
  }

  Node with_statement() {
    With node;
    while (!stream_.is(TokenKind::kTagEnd)) {
      if (!node.bindings.empty()) stream_.expect_sign(",");
      Target to = target(Assigner::kWith);
      stream_.expect_sign("=");
      node.bindings.emplace_back(std::move(to), expressions_.expression());
    }
    const std::size_t closures = closures_;
    node.body = whole_block("endwith");
    node.makes_closures = closures_ > closures;
    return node;
  }

  // {% generation %} marks what the model wrote, for training; here it only scopes.
  Node generation_block() {
    With node;
    const std::size_t closures = closures_;
    const int outer_loops = std::exchange(loops_, 0);
    node.body = whole_block("endgeneration");
    loops_ = outer_loops;
    node.makes_closures = closures_ > closures;
    return node;
  }

  enum class Assigner { kFor, kSet, kWith };

  Target target(Assigner assigner) {
    Target out = target_element(assigner);
    if (!stream_.is_sign(",")) return out;
    Target tuple;
    tuple.is_tuple = true;
    tuple.elements.push_back(std::move(out));
    while (stream_.skip_sign(",")) {
      if (stream_.is_sign(")") || stream_.is(TokenKind::kTagEnd)) break;
      tuple.elements.push_back(target_element(assigner));
    }
    return tuple;
  }

  Target target_element(Assigner assigner) {
    const TokenStream::Level level(stream_);
    if (stream_.skip_sign("(")) {
      Target inner = target(assigner);
      stream_.expect_sign(")");
      return inner;
    }
    const Token& token = stream_.expect(TokenKind::kName, "a name to assign to");
    static constexpr std::string_view kConstants[] = {"true", "True", "false", "False", "none", "None"};
    if (std::find(std::begin(kConstants), std::end(kConstants), token.text) != std::end(kConstants)) {
      syntax_error(token.line, fmt::format("can't assign to '{}'", token.text));
    }
    Target out;
    out.name = stream_.intern(token.text);
    if (assigner == Assigner::kSet && stream_.skip_sign(".")) {
      out.attribute = stream_.expect(TokenKind::kName, "an attribute name").text;
    } else if (assigner != Assigner::kWith && for_statements_ > 0 && token.text == "loop") {
      syntax_error(token.line, "can't assign to the special variable 'loop' in a for loop");
    }
    return out;
  }

  TokenStream stream_;
  ExpressionParser expressions_;
  int loops_ = 0;             // loops around this place, within the macro
  int for_statements_ = 0;    // for statements around this place
  std::size_t closures_ = 0;  // macros, call blocks and recursive loops met so far
};

}  // namespace

Program parse(std::string_view source, const TemplateLimits& limits) { return Parser(tokenize(source), limits).run(); }

}  // namespace millrace::chat::jinja
