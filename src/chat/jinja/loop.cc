#include "chat/jinja/loop.h"

#include <algorithm>

#include "chat/jinja/arguments.h"
#include "chat/jinja/compare.h"

namespace millrace::chat::jinja {
namespace {

Value call_cycle(Runtime&, const Value& self, Arguments& arguments) {
  return static_cast<Loop*>(self.object())->cycle(arguments);
}

Value call_changed(Runtime& runtime, const Value& self, Arguments& arguments) {
  return static_cast<Loop*>(self.object())->changed(runtime, arguments);
}

}  // namespace

ItemSource::ItemSource(Runtime& runtime, const Value& items)
    : runtime_(runtime), iterator_(dynamic_cast<Iterator*>(items.object())) {
  if (!iterator_) list_ = iterate(runtime, items).shared();
}

std::optional<Value> ItemSource::next() {
  runtime_.budget.step();
  if (iterator_) return iterator_->next();
  if (position_ == list_->items.size()) return std::nullopt;
  return list_->items[position_++];
}

bool Loop::take() {
  if (!next_) return false;
  if (std::exchange(taking_, true)) fail("the condition of a loop asks for the next item of the loop");
  std::optional<Value> item = next_();
  taking_ = false;
  if (item) {
    ahead_.push_back(*std::move(item));
  } else {
    finish();
  }
  return !ahead_.empty();
}

std::optional<Value> Loop::advance() {
  if (!look_ahead()) return std::nullopt;
  previous_ = std::exchange(current_, std::move(ahead_.front()));
  ahead_.pop_front();
  ++index_;
  return current_;
}

std::size_t Loop::length() {
  while (next_) take();
  return index_ + ahead_.size();
}

std::optional<Value> Loop::attribute(Runtime&, std::string_view name) {
  if (name == "index") return index_;
  if (name == "index0") return index_ - 1;
  if (name == "revindex") return length() - index_ + 1;
  if (name == "revindex0") return length() - index_;
  if (name == "first") return index_ == 1;
  if (name == "last") return !look_ahead();
  if (name == "length") return length();
  if (name == "depth") return depth0_ + 1;
  if (name == "depth0") return depth0_;
  if (name == "previtem") return previous_.value_or(Value::undefined("there is no previous item"));
  if (name == "nextitem") return look_ahead() ? ahead_.front() : Value::undefined("there is no next item");
  if (name == "cycle") return std::make_shared<const BoundMethod>(BoundMethod{"cycle", this, call_cycle});
  if (name == "changed") return std::make_shared<const BoundMethod>(BoundMethod{"changed", this, call_changed});
  return std::nullopt;
}

Value Loop::call(Runtime&, Arguments& arguments) {
  const BoundArguments args("loop", arguments, {"iterable"}, 1);
  if (!node_.recursive) fail("the loop must have the 'recursive' marker to be called");
  return evaluator_.call_loop(node_, outer_, args[0], depth0_ + 1);
}

Value Loop::cycle(const Arguments& arguments) const {
  if (arguments.positional.empty()) fail("no items for cycling given");
  return arguments.positional[(index_ - 1) % arguments.positional.size()];
}

bool Loop::changed(Runtime& runtime, const Arguments& arguments) {
  const auto same = [&](const Value& a, const Value& b) { return equals(runtime.budget, a, b); };
  const bool unchanged = last_changed_ && std::equal(last_changed_->begin(), last_changed_->end(),
                                                     arguments.positional.begin(), arguments.positional.end(), same);
  last_changed_ = arguments.positional;
  return !unchanged;
}

}  // namespace millrace::chat::jinja
