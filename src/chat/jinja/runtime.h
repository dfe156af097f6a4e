#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/jinja/value.h"

namespace millrace::chat::jinja {

// What operations, filters and methods see of one rendering: its budget, its context and its objects. One thread, one
// rendering.
class Runtime {
 public:
  Runtime(const TemplateLimits& limits, const TemplateContext& template_context)
      : budget(limits, template_context.clock ? template_context.clock : &Env::system()), context(template_context) {}
  virtual ~Runtime() = default;
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // An object that lives as long as the rendering.
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

// Items held for the time of a walk: `for (const Value& item : iterate(...))` keeps them alive, also those of an
// iterator.
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

// The items of anything that Python can iterate over: lists, keys of a dict, characters of a string. An iterator is
// used up.
Sequence iterate(Runtime& runtime, const Value& value);

// obj.name: methods and attributes before items. obj[key]: items first. A missing one is an undefined value; anything
// of an undefined value fails.
Value get_attribute(Runtime& runtime, const Value& object, std::string_view name);
Value get_item(Runtime& runtime, const Value& object, const Value& key);
// A dotted path as filters take it ("function.name", "0.text") or a number. `fallback`, unless it is none, stands in
// for each step that is not there.
Value get_path(Runtime& runtime, Value object, const Value& path, const Value& fallback = None{});
// object[start:stop:step]; none or undefined bounds are open.
Value get_slice(Runtime& runtime, const Value& object, const Value& start, const Value& stop, const Value& step);

// A method of the allow-list for the type of `object`, bound to it.
std::optional<Value> find_method(const Value& object, std::string_view name);

}  // namespace millrace::chat::jinja
