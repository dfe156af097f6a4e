#include "chat/jinja/macro.h"

#include <algorithm>

namespace millrace::chat::jinja {
namespace {

std::optional<Value> take_named(Arguments& arguments, std::string_view name) {
  const auto found = std::find_if(arguments.named.begin(), arguments.named.end(),
                                  [&](const auto& a) { return a.first.view() == name; });
  if (found == arguments.named.end()) return std::nullopt;
  Value value = std::move(found->second);
  arguments.named.erase(found);
  return value;
}

}  // namespace

std::string Macro::shown() const {
  return definition_.name.empty() ? "<Macro anonymous>" : fmt::format("<Macro '{}'>", definition_.name);
}

std::optional<Value> Macro::attribute(Runtime& runtime, std::string_view name) {
  if (name == "name") return definition_.name.empty() ? Value(None{}) : Text(definition_.name, true);
  if (name == "catch_varargs") return definition_.takes_varargs;
  if (name == "catch_kwargs") return definition_.takes_kwargs;
  if (name == "caller") return definition_.takes_caller;
  if (name != "arguments") return std::nullopt;
  std::vector<Value> names;
  for (const Parameter& parameter : definition_.parameters) {
    names.emplace_back(Text(evaluator_.program().names[parameter.name], true));
  }
  return make_list(runtime.budget, std::move(names), ListKind::kTuple);
}

void bind_parameters(Runtime& runtime, const Program& program, const MacroDefinition& macro, Arguments& arguments,
                     const std::function<void(NameId, Value)>& set,
                     const std::function<Value(const Expression&)>& evaluate) {
  const std::size_t count = macro.parameters.size();
  std::vector<Value>& given = arguments.positional;
  bool has_caller_parameter = false;
  for (std::size_t i = 0; i < count; ++i) {
    const Parameter& parameter = macro.parameters[i];
    const std::string& name = program.names[parameter.name];
    has_caller_parameter = has_caller_parameter || name == "caller";
    std::optional<Value> value;
    if (i < given.size()) {
      value = given[i];
    } else {
      value = take_named(arguments, name);
    }
    if (!value && parameter.fallback) value = evaluate(*parameter.fallback);
    set(parameter.name, value ? *value : Value::undefined(fmt::format("parameter '{}' was not provided", name)));
  }
  if (macro.takes_caller && !has_caller_parameter) {
    set(*program.caller_name, take_named(arguments, "caller").value_or(Value::undefined("No caller defined")));
  }
  if (macro.takes_kwargs) {
    auto dict = std::make_shared<Dict>();
    for (auto& [name, value] : arguments.named) dict->insert(runtime.budget, name, std::move(value));
    set(*program.kwargs_name, make_dict(std::move(dict)));
  } else if (!arguments.named.empty()) {
    fail("macro '{}' takes no keyword argument '{}'", macro.name, arguments.named.front().first.view());
  }
  if (macro.takes_varargs) {
    const std::size_t used = std::min(count, given.size());
    std::vector<Value> rest(given.begin() + static_cast<std::ptrdiff_t>(used), given.end());
    set(*program.varargs_name, make_list(runtime.budget, std::move(rest), ListKind::kTuple));
  } else if (given.size() > count) {
    fail("macro '{}' takes not more than {} argument(s)", macro.name, count);
  }
}

}  // namespace millrace::chat::jinja
