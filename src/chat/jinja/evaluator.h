#pragma once

#include "chat/jinja/ast.h"
#include "chat/jinja/runtime.h"
#include "chat/jinja/scope.h"

namespace millrace::chat::jinja {

// Evaluates the expressions of one rendering of one program. Bodies of macros and recursive loops are statements, which
// only the Interpreter runs. Throws Failure; line() is the place.
class Evaluator : public Runtime {
 public:
  int line() const { return line_; }
  const Program& program() const { return program_; }

  // Runs the body of a macro with these arguments and returns its text. `closure` is the scope of the definition.
  virtual Value call_macro(const MacroDefinition& macro, const Scope& closure, Arguments& arguments) = 0;
  // Runs a recursive for statement over `items` and returns its text. `outer` is the statement's scope.
  virtual Value call_loop(const For& node, Scope& outer, const Value& items, int depth0) = 0;

 protected:
  // `root`: where names are looked up at first; it outlives this.
  Evaluator(const Program& program, Scope& root, const TemplateLimits& limits, const TemplateContext& template_context)
      : Runtime(limits, template_context), program_(program), scope_(&root) {}

  // Bounds the C++ stack: source nests at most `depth` levels and so do calls; their product may reach 16 x depth
  // nodes.
  class Level {
   public:
    explicit Level(Evaluator& evaluator) : evaluator_(evaluator) {
      const int limit = 16 * evaluator_.budget.limits().depth;
      if (evaluator_.depth_ >= limit) fail("nesting exceeds the limit of {} nodes under evaluation (depth)", limit);
      ++evaluator_.depth_;
    }
    ~Level() { --evaluator_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Evaluator& evaluator_;
  };

  Value evaluate(const Expression& expression);
  Arguments evaluate(const CallArguments& arguments);

  const Program& program_;
  Scope* scope_;                       // where the statement that runs stands
  const Text* block_input_ = nullptr;  // what a filter chain without input starts from
  int line_ = 1;

 private:
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
  bool holds(Relation relation, const Value& a, const Value& b);

  int depth_ = 0;  // Levels there are
};

}  // namespace millrace::chat::jinja
