#include "chat/jinja/evaluator.h"

#include "chat/jinja/compare.h"
#include "chat/jinja/repr.h"

namespace millrace::chat::jinja {

Value Evaluator::evaluate(const Expression& expression) {
  const Level level(*this);
  budget.step();
  line_ = expression.line;
  return std::visit([this](const auto& node) { return eval_node(node); }, expression.node);
}

Value Evaluator::evaluate_or_none(const ExpressionPtr& expression) {
  return expression ? evaluate(*expression) : Value(None{});
}

Value Evaluator::eval_node(const Name& node) {
  if (const Value* value = scope_->find(budget, node.id)) return *value;
  return Value::undefined(fmt::format("'{}' is undefined", program_.names[node.id]));
}

Value Evaluator::eval_node(const Attribute& node) { return get_attribute(*this, evaluate(*node.object), node.name); }

Value Evaluator::eval_node(const Item& node) {
  const Value object = evaluate(*node.object);
  return get_item(*this, object, evaluate(*node.key));
}

Value Evaluator::eval_node(const SliceItem& node) {
  const Value object = evaluate(*node.object);
  const Value start = evaluate_or_none(node.start), stop = evaluate_or_none(node.stop);
  return get_slice(*this, object, start, stop, evaluate_or_none(node.step));
}

Value Evaluator::eval_node(const Call& node) {
  const int at = line_;
  const Value callee = evaluate(*node.callee);
  Arguments arguments = evaluate(node.arguments);
  line_ = at;
  return call_value(*this, callee, arguments);
}

Value Evaluator::eval_node(const ApplyFilter& node) {
  const Value input = node.input ? evaluate(*node.input) : Value(block_input_ ? *block_input_ : Text());
  Arguments arguments = evaluate(node.arguments);
  return node.filter->apply(*this, input, arguments);
}

Value Evaluator::eval_node(const ApplyTest& node) {
  const Value input = evaluate(*node.input);
  Arguments arguments = evaluate(node.arguments);
  return node.test->check(*this, input, arguments);
}

Value Evaluator::eval_node(const Not& node) { return !evaluate(*node.operand).truthy(); }

Value Evaluator::eval_node(const Sign& node) {
  const Value operand = evaluate(*node.operand);
  return node.negative ? negate(operand) : plus(operand);
}

Value Evaluator::eval_node(const Arithmetic& node) {
  Value value = evaluate(*node.first);
  for (const auto& [op, operand] : node.rest) value = apply(*this, op, value, evaluate(*operand));
  return value;
}

Value Evaluator::eval_node(const Concatenation& node) {
  TextBuilder out(budget);
  for (const auto& part : node.parts) out.append(to_text(*this, evaluate(*part)));
  return out.take();
}

bool Evaluator::holds(Relation relation, const Value& a, const Value& b) {
  switch (relation) {
    case Relation::kEqual: return equals(budget, a, b);
    case Relation::kNotEqual: return !equals(budget, a, b);
    case Relation::kLess: return less(budget, a, b);
    case Relation::kLessEqual: return less_equal(budget, a, b);
    case Relation::kGreater: return less(budget, b, a, ">");
    case Relation::kGreaterEqual: return less_equal(budget, b, a, ">=");
    case Relation::kIn: return contains(*this, b, a);
    case Relation::kNotIn: return !contains(*this, b, a);
  }
  return false;
}

Value Evaluator::eval_node(const Comparison& node) {
  Value left = evaluate(*node.first);
  for (const auto& [relation, operand] : node.rest) {
    Value right = evaluate(*operand);
    if (!holds(relation, left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Value Evaluator::eval_node(const Logic& node) {
  Value value;
  for (const auto& operand : node.operands) {
    value = evaluate(*operand);
    if (value.truthy() != node.is_and) return value;
  }
  return value;
}

Value Evaluator::eval_node(const Conditional& node) {
  if (evaluate(*node.test).truthy()) return evaluate(*node.yes);
  if (node.no) return evaluate(*node.no);
  return Value::undefined("the inline if-expression evaluated to false and no else section was defined");
}

Value Evaluator::eval_node(const ListDisplay& node) {
  std::vector<Value> items;
  items.reserve(node.items.size());
  for (const auto& item : node.items) items.push_back(evaluate(*item));
  return make_list(budget, std::move(items), node.is_tuple ? ListKind::kTuple : ListKind::kList);
}

Value Evaluator::eval_node(const DictDisplay& node) {
  auto dict = std::make_shared<Dict>();
  for (const auto& [key_node, value_node] : node.items) {
    Value key = evaluate(*key_node);
    dict->insert(budget, std::move(key), evaluate(*value_node));
  }
  return make_dict(std::move(dict));
}

Arguments Evaluator::evaluate(const CallArguments& arguments) {
  Arguments out;
  out.positional.reserve(arguments.positional.size());
  for (const auto& value : arguments.positional) out.positional.push_back(evaluate(*value));
  for (const auto& [name, value] : arguments.named) out.named.emplace_back(name, evaluate(*value));
  if (arguments.spread) {
    const auto items = iterate(*this, evaluate(*arguments.spread));
    budget.step(static_cast<std::int64_t>(items->items.size()));
    out.positional.insert(out.positional.end(), items->items.begin(), items->items.end());
  }
  if (arguments.named_spread) {
    const Value spread = evaluate(*arguments.named_spread);
    if (!spread.dict()) fail("argument after ** must be a mapping, not {}", spread.type_name());
    for (const Dict::Entry& entry : spread.dict()->entries()) {
      budget.step(1 + static_cast<std::int64_t>(out.named.size()));
      if (!entry.key.text()) fail("keywords must be strings");
      for (const auto& [name, unused] : out.named) {
        if (name.view() == entry.key.text()->view()) fail("got multiple values for keyword argument '{}'", name.view());
      }
      out.named.emplace_back(*entry.key.text(), entry.value);
    }
  }
  return out;
}

}  // namespace millrace::chat::jinja
