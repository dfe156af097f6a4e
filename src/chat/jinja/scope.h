#pragma once

#include <utility>
#include <vector>

#include "chat/jinja/ast.h"
#include "chat/jinja/budget.h"

namespace millrace::chat::jinja {

// The names visible at one place. Lookups continue in the enclosing scope.
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

}  // namespace millrace::chat::jinja
