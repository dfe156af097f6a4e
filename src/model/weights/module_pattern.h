#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace millrace::model {

// An entry of a list of modules in a configuration: a name, or a regular expression of Python's behind "re:", which has
// to match from the beginning of the name on. A name alone stands for that module and for all within it.
class ModulePattern {
 public:
  // Throws std::invalid_argument with the reason for an expression that cannot be compiled.
  explicit ModulePattern(std::string_view entry);
  bool matches(const std::string& module) const;
  const std::string& text() const noexcept { return text_; }

 private:
  struct Expression;
  std::string text_;
  std::shared_ptr<const Expression> expression_;  // null: a name
};

}  // namespace millrace::model
