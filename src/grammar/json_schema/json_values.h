#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "grammar/json_schema/json_type.h"

namespace millrace::grammar::json_schema {

Types type_of(const Json& value);  // one bit; 1.0 is an integer

// The same text for values that are equal in JSON Schema (1 and 1.0, objects in any order), and different texts for
// others.
std::string canonical(const Json& value);

class ValueSet {
 public:
  explicit ValueSet(const std::vector<const Json*>& values);
  bool contains(const Json& value) const { return texts_.contains(canonical(value)); }

 private:
  std::unordered_set<std::string> texts_;
};

}  // namespace millrace::grammar::json_schema
