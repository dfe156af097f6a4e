#include "chat/jinja/scope.h"

namespace millrace::chat::jinja {

const Value* Scope::find(Budget& budget, NameId id) const {
  std::int64_t visited = 0;
  for (const Scope* scope = this; scope; scope = scope->parent_) {
    for (const auto& [name, value] : scope->values_) {
      if (++visited % 32 == 0) budget.step();
      if (name == id) return &value;
    }
  }
  return nullptr;
}

void Scope::set(NameId id, Value value) {
  for (auto& [name, old] : values_) {
    if (name == id) {
      old = std::move(value);
      return;
    }
  }
  values_.emplace_back(id, std::move(value));
}

}  // namespace millrace::chat::jinja
