#pragma once

#include "text/jinja/runtime.h"

namespace millrace::text::jinja {

// The `loop` variable of a for statement.
class Loop : public Object {
 public:
  explicit Loop(std::shared_ptr<const List> items) : items_(std::move(items)) {}
  void move_to(std::size_t index) { index_ = index; }

  std::string_view type_name() const override { return "LoopContext"; }
  std::optional<Value> attribute(Runtime& runtime, std::string_view name) override;
  Value cycle(const Arguments& arguments) const;
  bool changed(Runtime& runtime, const Arguments& arguments);

 private:
  std::shared_ptr<const List> items_;
  std::size_t index_ = 0;
  std::optional<std::vector<Value>> last_changed_;
};

}  // namespace millrace::text::jinja
