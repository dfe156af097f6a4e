#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/jinja/value.h"

namespace millrace::chat::jinja {

// The state of one rendering for operations, filters and methods: its budget, its context and its objects. One thread.
class Runtime {
 public:
  Runtime(const TemplateLimits& limits, const TemplateContext& template_context)
      : budget(limits, template_context.clock ? template_context.clock : &Env::system()), context(template_context) {}
  virtual ~Runtime() = default;
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Makes an object that lives as long as the rendering.
  template <typename T, typename... Args>
  T* make(Args&&... args) {
    budget.step();
    auto object = std::make_unique<T>(std::forward<Args>(args)...);
    T* pointer = object.get();
    objects_.push_back(std::move(object));
    return pointer;
  }
  Value make_iterator(std::vector<Value> items) {
    return make<Iterator>(make_list(budget, std::move(items)).shared_list());
  }

  Budget budget;
  const TemplateContext& context;

 private:
  std::vector<std::unique_ptr<Object>> objects_;
};

Value call_value(Runtime& runtime, const Value& callee, Arguments& arguments);

// Items that stay alive during a loop: `for (const Value& item : iterate(...))`, also those of an iterator.
class Sequence {
 public:
  Sequence(std::shared_ptr<const List> list) : list_(std::move(list)) {}
  auto begin() const { return list_->items.begin(); }
  auto end() const { return list_->items.end(); }
  const List* operator->() const { return list_.get(); }
  const std::shared_ptr<const List>& shared() const { return list_; }

 private:
  std::shared_ptr<const List> list_;
};

// The items of any value that Python can iterate over: of a list, keys of a dict, characters of a string. An iterator
// is consumed.
Sequence iterate(Runtime& runtime, const Value& value);

// get_attribute() is obj.name: methods and attributes before items. get_item() is obj[key]: items first. A missing one
// is an undefined value; access to an undefined value fails.
Value get_attribute(Runtime& runtime, const Value& object, std::string_view name);
Value get_item(Runtime& runtime, const Value& object, const Value& key);
// The value at a dotted path, as filters take it ("function.name", "0.text"), or at a number. `fallback`, unless it is
// none, replaces each missing step.
Value get_path(Runtime& runtime, Value object, const Value& path, const Value& fallback = None{});
// object[start:stop:step]; a bound that is none or undefined is open.
Value get_slice(Runtime& runtime, const Value& object, const Value& start, const Value& stop, const Value& step);

// The method of that name for the type of `object`, bound to it, if it is one of the allowed methods.
std::optional<Value> find_method(const Value& object, std::string_view name);

}  // namespace millrace::chat::jinja
