#include "text/jinja/loop.h"

#include <algorithm>

#include "text/jinja/compare.h"

namespace millrace::text::jinja {
namespace {

Value call_cycle(Runtime&, const Value& self, Arguments& arguments) {
  return static_cast<Loop*>(self.object())->cycle(arguments);
}

Value call_changed(Runtime& runtime, const Value& self, Arguments& arguments) {
  return static_cast<Loop*>(self.object())->changed(runtime, arguments);
}

}  // namespace

std::optional<Value> Loop::attribute(Runtime&, std::string_view name) {
  const std::size_t length = items_->items.size();
  if (name == "index") return index_ + 1;
  if (name == "index0") return index_;
  if (name == "revindex") return length - index_;
  if (name == "revindex0") return length - index_ - 1;
  if (name == "first") return index_ == 0;
  if (name == "last") return index_ + 1 == length;
  if (name == "length") return length;
  if (name == "depth") return 1;
  if (name == "depth0") return 0;
  if (name == "previtem") return index_ > 0 ? items_->items[index_ - 1] : Value::undefined("there is no previous item");
  if (name == "nextitem") {
    return index_ + 1 < length ? items_->items[index_ + 1] : Value::undefined("there is no next item");
  }
  if (name == "cycle") return std::make_shared<const BoundMethod>(BoundMethod{"cycle", this, call_cycle});
  if (name == "changed") return std::make_shared<const BoundMethod>(BoundMethod{"changed", this, call_changed});
  return std::nullopt;
}

Value Loop::cycle(const Arguments& arguments) const {
  if (arguments.positional.empty()) fail("no items for cycling given");
  return arguments.positional[index_ % arguments.positional.size()];
}

bool Loop::changed(Runtime& runtime, const Arguments& arguments) {
  const auto same = [&](const Value& a, const Value& b) { return equals(runtime.budget, a, b); };
  const bool unchanged = last_changed_ && std::equal(last_changed_->begin(), last_changed_->end(),
                                                     arguments.positional.begin(), arguments.positional.end(), same);
  last_changed_ = arguments.positional;
  return !unchanged;
}

}  // namespace millrace::text::jinja
