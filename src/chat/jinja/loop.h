#pragma once

#include <deque>
#include <functional>

#include "chat/jinja/evaluator.h"

namespace millrace::chat::jinja {

// The items of a for statement, one at a time. An iterator that is left early keeps the rest.
class ItemSource {
 public:
  ItemSource(Runtime& runtime, const Value& items);
  std::optional<Value> next();

 private:
  Runtime& runtime_;
  Iterator* iterator_;
  std::shared_ptr<const List> list_;  // unless there is an iterator
  std::size_t position_ = 0;
};

// The `loop` variable of a for statement. Items are fetched when needed, as in Jinja: the condition of a loop sees
// effects of the body, unless the body looks ahead (last, nextitem, length ...).
class Loop : public Object {
 public:
  using Next = std::function<std::optional<Value>()>;
  Loop(Evaluator& evaluator, const For& node, Scope& outer, Next next, int depth0)
      : evaluator_(evaluator), node_(node), outer_(outer), next_(std::move(next)), depth0_(depth0) {}

  // Moves to the next item; nothing at the end.
  std::optional<Value> advance();
  // The loop has ended, and what `next` refers to may be destroyed; the template may still hold the object.
  void finish() { next_ = nullptr; }

  std::string_view type_name() const override { return "LoopContext"; }
  std::optional<Value> attribute(Runtime& runtime, std::string_view name) override;
  bool is_callable() const override { return true; }
  Value call(Runtime& runtime, Arguments& arguments) override;
  Value cycle(const Arguments& arguments) const;
  bool changed(Runtime& runtime, const Arguments& arguments);

 private:
  bool take();  // asks for one more item; whether there is a next one, then ahead_.front()
  bool look_ahead() { return !ahead_.empty() || take(); }
  std::size_t length();

  Evaluator& evaluator_;
  const For& node_;
  Scope& outer_;  // alive as long as the rendering if the loop is recursive
  Next next_;
  const int depth0_;
  bool taking_ = false;
  std::size_t index_ = 0;  // from 1
  std::optional<Value> previous_, current_;
  std::deque<Value> ahead_;
  std::optional<std::vector<Value>> last_changed_;
};

}  // namespace millrace::chat::jinja
