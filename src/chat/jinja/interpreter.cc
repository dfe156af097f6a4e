#include "chat/jinja/interpreter.h"

#include "chat/jinja/loop.h"
#include "chat/jinja/macro.h"
#include "chat/jinja/repr.h"

namespace millrace::chat::jinja {

namespace {

// Puts a variable back when a block ends, also by an exception.
template <typename T>
class Restore {
 public:
  Restore(T& variable, T value) : variable_(variable), old_(std::exchange(variable, value)) {}
  ~Restore() { variable_ = old_; }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

 private:
  T& variable_;
  const T old_;
};

}  // namespace

Interpreter::Interpreter(const Program& program, const TemplateLimits& limits, const TemplateContext& template_context)
    : Evaluator(program, root_, limits, template_context),
      root_(nullptr),
      output_(budget, "output_bytes", limits.output_bytes) {
  for (const Builtin& global : globals()) define(global.name, &global);
}

void Interpreter::define(std::string_view name, Value value) {
  const auto found = program_.ids.find(name);
  if (found != program_.ids.end()) root_.set(found->second, std::move(value));
}

Text Interpreter::run() {
  execute(program_.body);
  return output_.take();
}

Scope& Interpreter::new_scope(bool makes_closures, std::optional<Scope>& local) {
  if (!makes_closures) return local.emplace(scope_);
  return *kept_scopes_.emplace_back(std::make_unique<Scope>(scope_));
}

Interpreter::Flow Interpreter::execute(const Body& body) {
  for (const auto& statement : body) {
    if (const Flow flow = execute(*statement); flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::execute(const Statement& statement) {
  const Level level(*this);
  budget.step();
  line_ = statement.line;
  return std::visit([this](const auto& node) { return run_node(node); }, statement.node);
}

Interpreter::Flow Interpreter::run_node(const Data& node) {
  out_->append(node.text);
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run_node(const Print& node) {
  out_->append(to_text(*this, evaluate(*node.value)));
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run_node(const If& node) {
  for (const auto& [condition, body] : node.branches) {
    if (evaluate(*condition).truthy()) return execute(body);
  }
  return execute(node.otherwise);
}

Interpreter::Flow Interpreter::run_node(const For& node) { return walk(node, *scope_, evaluate(*node.items), 0); }

bool Interpreter::passes(const For& node, Scope& outer, const Value& item) {
  Scope scope(&outer);
  const Restore<Scope*> restore(scope_, &scope);
  assign(node.target, item);
  return evaluate(*node.filter).truthy();
}

Interpreter::Flow Interpreter::walk(const For& node, Scope& outer, const Value& items, int depth0) {
  ItemSource source(*this, items);
  const auto next = [&] {
    std::optional<Value> item = source.next();
    while (item && node.filter && !passes(node, outer, *item)) item = source.next();
    return item;
  };
  const Restore<Scope*> restore(scope_, &outer);
  std::optional<Scope> local;
  Scope* scope = &new_scope(node.makes_closures, local);
  Loop* loop = node.uses_loop ? make<Loop>(*this, node, outer, next, depth0) : nullptr;
  bool ran = false;
  while (std::optional<Value> item = loop ? loop->advance() : next()) {
    if (node.makes_closures && ran) scope = kept_scopes_.emplace_back(std::make_unique<Scope>(&outer)).get();
    scope_ = scope;
    scope->clear();
    assign(node.target, *std::move(item));
    if (loop) scope->set(*program_.loop_name, loop);
    ran = true;
    if (execute(node.body) == Flow::kBreak) break;
  }
  if (loop) loop->finish();
  if (ran) return Flow::kNext;
  scope_ = scope;
  return execute(node.otherwise);
}

Value Interpreter::call_loop(const For& node, Scope& outer, const Value& items, int depth0) {
  budget.check_depth(calls_ + 1);
  const Restore<int> calls(calls_, calls_ + 1);
  TextBuilder captured(budget);
  const Restore<TextBuilder*> output(out_, &captured);
  walk(node, outer, items, depth0);
  return captured.take();
}

Interpreter::Flow Interpreter::run_node(const Set& node) {
  assign(node.target, evaluate(*node.value));
  return Flow::kNext;
}

std::pair<Text, Interpreter::Flow> Interpreter::capture(const Body& body, Scope& scope) {
  TextBuilder captured(budget);
  const Restore<TextBuilder*> output(out_, &captured);
  const Restore<Scope*> restore(scope_, &scope);
  const Flow flow = execute(body);
  return {captured.take(), flow};
}

Value Interpreter::apply_block_filter(const Expression& filter, Text body) {
  const Restore<const Text*> input(block_input_, &body);
  return evaluate(filter);
}

Interpreter::Flow Interpreter::run_node(const SetBlock& node) {
  Scope& scope = *kept_scopes_.emplace_back(std::make_unique<Scope>(scope_));
  auto [text, flow] = capture(node.body, scope);
  if (flow != Flow::kNext) return flow;
  assign(node.target, node.filter ? apply_block_filter(*node.filter, std::move(text)) : Value(std::move(text)));
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run_node(const FilterBlock& node) {
  Scope& scope = *kept_scopes_.emplace_back(std::make_unique<Scope>(scope_));
  auto [text, flow] = capture(node.body, scope);
  if (flow != Flow::kNext) return flow;
  out_->append(to_text(*this, apply_block_filter(*node.filter, std::move(text))));
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run_node(const DefineMacro& node) {
  scope_->set(node.macro->id, make<Macro>(*this, *node.macro, *scope_));
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run_node(const CallBlock& node) {
  const Call& call = std::get<Call>(node.call->node);
  const Value callee = evaluate(*call.callee);
  Arguments arguments = evaluate(call.arguments);
  arguments.named.emplace_back(Text("caller", true), make<Macro>(*this, *node.caller, *scope_));
  line_ = node.call->line;
  out_->append(to_text(*this, call_value(*this, callee, arguments)));
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run_node(const With& node) {
  std::vector<Value> values;
  for (const auto& [target, value] : node.bindings) values.push_back(evaluate(*value));
  std::optional<Scope> local;
  Scope& scope = new_scope(node.makes_closures, local);
  const Restore<Scope*> restore(scope_, &scope);
  for (std::size_t i = 0; i < values.size(); ++i) assign(node.bindings[i].first, std::move(values[i]));
  return execute(node.body);
}

void Interpreter::assign(const Target& target, Value value) {
  if (target.is_tuple) {
    const auto items = iterate(*this, value);
    if (items->items.size() != target.elements.size()) {
      fail("expected {} values to unpack, got {}", target.elements.size(), items->items.size());
    }
    for (std::size_t i = 0; i < target.elements.size(); ++i) assign(target.elements[i], items->items[i]);
  } else if (target.attribute) {
    const Value* object = scope_->find(budget, target.name);
    auto* ns = object ? dynamic_cast<Namespace*>(object->object()) : nullptr;
    if (!ns) fail("cannot assign attribute '{}' on non-namespace object", *target.attribute);
    ns->set(*target.attribute, std::move(value));
  } else {
    scope_->set(target.name, std::move(value));
  }
}

Value Interpreter::call_macro(const MacroDefinition& macro, const Scope& closure, Arguments& arguments) {
  budget.check_depth(calls_ + 1);
  const Restore<int> calls(calls_, calls_ + 1);
  const Restore<const Text*> input(block_input_, nullptr);
  std::optional<Scope> local;
  Scope* scope = macro.makes_closures ? kept_scopes_.emplace_back(std::make_unique<Scope>(&closure)).get()
                                      : &local.emplace(&closure);
  const Restore<Scope*> restore(scope_, scope);
  bind_parameters(
      *this, program_, macro, arguments, [&](NameId id, Value value) { scope->set(id, std::move(value)); },
      [&](const Expression& fallback) { return evaluate(fallback); });
  return capture(macro.body, *scope).first;
}

}  // namespace millrace::chat::jinja
