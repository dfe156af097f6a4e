#pragma once

#include "chat/jinja/ast.h"
#include "chat/jinja/runtime.h"

namespace millrace::chat::jinja {

// Names visible at one place; lookups go on in the enclosing scope.
class Scope {
 public:
  explicit Scope(const Scope* parent) : parent_(parent) {}
  const Value* find(Budget& budget, NameId id) const;
  void set(NameId id, Value value);
  void clear() { values_.clear(); }

 private:
  const Scope* parent_;
  std::vector<std::pair<NameId, Value>> values_;
};

// One rendering of one program. Throws Failure; line() tells where.
class Interpreter : public Runtime {
 public:
  Interpreter(const Program& program, const TemplateLimits& limits, const TemplateContext& template_context);

  // A variable or global of the template; names it never mentions are dropped.
  void define(std::string_view name, Value value);
  Text run();
  int line() const { return line_; }
  const Program& program() const { return program_; }

  // The body of a macro with these arguments, as text. `closure` is where the macro was defined.
  Value call_macro(const MacroDefinition& macro, const Scope& closure, Arguments& arguments);
  // A recursive for statement over `items`, as text. `outer` is where the statement stands.
  Value call_loop(const For& node, Scope& outer, const Value& items, int depth0);

 private:
  enum class Flow { kNext, kBreak, kContinue };

  // Bounds the C++ stack: source nests at most `depth` levels and so do calls; their product may reach 16 x depth
  // nodes.
  class Level {
   public:
    explicit Level(Interpreter& interpreter) : interpreter_(interpreter) {
      const int limit = 16 * interpreter_.budget.limits().depth;
      if (interpreter_.depth_ >= limit) fail("nesting exceeds the limit of {} nodes under evaluation (depth)", limit);
      ++interpreter_.depth_;
    }
    ~Level() { --interpreter_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Interpreter& interpreter_;
  };

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

  Value evaluate(const Expression& expression);
  Value evaluate_or_none(const ExpressionPtr& expression);
  Value eval_node(const Literal& node) { return node.value; }
  Value eval_node(const Name& node);
  Value eval_node(const Attribute& node);
  Value eval_node(const Item& node);
  Value eval_node(const SliceItem& node);
  Value eval_node(const Call& node);
  Value eval_node(const ApplyFilter& node);
  Value eval_node(const ApplyTest& node);
  Value eval_node(const Not& node);
  Value eval_node(const Sign& node);
  Value eval_node(const Arithmetic& node);
  Value eval_node(const Concatenation& node);
  Value eval_node(const Comparison& node);
  Value eval_node(const Logic& node);
  Value eval_node(const Conditional& node);
  Value eval_node(const ListDisplay& node);
  Value eval_node(const DictDisplay& node);

  Arguments evaluate(const CallArguments& arguments);
  bool holds(Relation relation, const Value& a, const Value& b);
  void assign(const Target& target, Value value);
  // Runs the body in a scope of its own with its output kept apart.
  std::pair<Text, Flow> capture(const Body& body, Scope& scope);
  Value apply_block_filter(const Expression& filter, Text body);
  // A scope that macros inside may hold on to, or a plain one.
  Scope& new_scope(bool makes_closures, std::optional<Scope>& local);

  const Program& program_;
  Scope root_;
  Scope* scope_ = &root_;
  TextBuilder output_;
  TextBuilder* out_ = &output_;
  const Text* block_input_ = nullptr;  // what a filter chain without input starts from
  std::vector<std::unique_ptr<Scope>> kept_scopes_;
  int line_ = 1;
  int depth_ = 0;  // of execute, evaluate
  int calls_ = 0;  // macros and recursive loops running
};

}  // namespace millrace::chat::jinja
