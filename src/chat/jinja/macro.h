#pragma once

#include <functional>

#include "chat/jinja/evaluator.h"

namespace millrace::chat::jinja {

// A macro, or the body of a call block, with the scope it was defined in.
class Macro : public Object {
 public:
  Macro(Evaluator& evaluator, const MacroDefinition& definition, const Scope& closure)
      : evaluator_(evaluator), definition_(definition), closure_(closure) {}

  std::string_view type_name() const override { return "Macro"; }
  std::string shown() const override;
  bool is_callable() const override { return true; }
  std::optional<Value> attribute(Runtime& runtime, std::string_view name) override;
  Value call(Runtime&, Arguments& arguments) override {
    return evaluator_.call_macro(definition_, closure_, arguments);
  }

 private:
  Evaluator& evaluator_;
  const MacroDefinition& definition_;
  const Scope& closure_;
};

// Passes each parameter (and varargs, kwargs, caller if the body reads them) to `set`, in order, so that a default may
// use the parameters before it.
void bind_parameters(Runtime& runtime, const Program& program, const MacroDefinition& macro, Arguments& arguments,
                     const std::function<void(NameId, Value)>& set,
                     const std::function<Value(const Expression&)>& evaluate);

}  // namespace millrace::chat::jinja
