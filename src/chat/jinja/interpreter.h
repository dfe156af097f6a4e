#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/jinja/evaluator.h"

namespace millrace::chat::jinja {

// One rendering of one program. One thread. Throws Failure; line() is the place.
class Interpreter final : public Evaluator {
 public:
  Interpreter(const Program& program, const TemplateLimits& limits, const TemplateContext& template_context);

  // Defines a variable or global of the template; names that the template never uses are dropped.
  void define(std::string_view name, Value value);
  Text run();

  Value call_macro(const MacroDefinition& macro, const Scope& closure, Arguments& arguments) override;
  Value call_loop(const For& node, Scope& outer, const Value& items, int depth0) override;

 private:
  enum class Flow { kNext, kBreak, kContinue };

  Flow execute(const Body& body);
  Flow execute(const Statement& statement);
  Flow run_node(const Data& node);
  Flow run_node(const Print& node);
  Flow run_node(const If& node);
  Flow run_node(const For& node);
  // One walk of a for statement, in scopes inside `outer`.
  Flow walk(const For& node, Scope& outer, const Value& items, int depth0);
  // Whether the condition of a for statement holds for the item.
  bool passes(const For& node, Scope& outer, const Value& item);
  Flow run_node(const Set& node);
  Flow run_node(const SetBlock& node);
  Flow run_node(const DefineMacro& node);
  Flow run_node(const CallBlock& node);
  Flow run_node(const FilterBlock& node);
  Flow run_node(const With& node);
  Flow run_node(const Break&) { return Flow::kBreak; }
  Flow run_node(const Continue&) { return Flow::kContinue; }

  void assign(const Target& target, Value value);
  // Runs the body in a scope of its own with its output kept apart.
  std::pair<Text, Flow> capture(const Body& body, Scope& scope);
  Value apply_block_filter(const Expression& filter, Text body);
  // A scope that macros inside may hold on to, or a plain one.
  Scope& new_scope(bool makes_closures, std::optional<Scope>& local);

  Scope root_;
  TextBuilder output_;
  TextBuilder* out_ = &output_;
  std::vector<std::unique_ptr<Scope>> kept_scopes_;
  int calls_ = 0;  // macros and recursive loops running
};

}  // namespace millrace::chat::jinja
