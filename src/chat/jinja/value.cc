#include "chat/jinja/value.h"

#include <algorithm>
#include <cmath>

namespace millrace::chat::jinja {

bool Value::is_callable() const {
  if (const Object* o = object()) return o->is_callable();
  return builtin() || method() || is_undefined();
}

const std::string& Value::undefined_reason() const {
  static const std::string unnamed = "value is undefined";
  const auto* undefined = std::get_if<Undefined>(&data_);
  return undefined && undefined->reason ? *undefined->reason : unnamed;
}

std::optional<Integer> Value::as_integer() const {
  if (const bool* b = boolean()) return *b ? 1 : 0;
  if (const Integer* i = integer()) return *i;
  return std::nullopt;
}

double Value::as_real() const {
  if (const double* r = real()) return *r;
  return static_cast<double>(as_integer().value_or(0));
}

bool Value::truthy() const {
  if (is_undefined() || is_none()) return false;
  if (const double* r = real()) return *r != 0;
  if (const auto i = as_integer()) return *i != 0;
  if (const Text* t = text()) return !t->empty();
  if (const List* l = list()) return !l->items.empty();
  if (const Dict* d = dict()) return !d->entries().empty();
  return true;
}

std::string_view Value::type_name() const {
  if (is_undefined()) return "Undefined";
  if (is_none()) return "NoneType";
  if (boolean()) return "bool";
  if (integer()) return "int";
  if (real()) return "float";
  if (text()) return "str";
  if (dict()) return "dict";
  if (const Object* o = object()) return o->type_name();
  if (const List* l = list()) {
    switch (l->kind) {
      case ListKind::kList: return "list";
      case ListKind::kTuple:
      case ListKind::kGroup: return "tuple";
      case ListKind::kKeys: return "dict_keys";
      case ListKind::kValues: return "dict_values";
      case ListKind::kItems: return "dict_items";
      case ListKind::kRange: return "range";
    }
  }
  return "builtin_function_or_method";
}

bool Value::same_as(const Value& other) const {
  if (data_.index() != other.data_.index()) return false;
  if (is_none() || is_undefined()) return true;
  if (boolean()) return *boolean() == *other.boolean();
  if (integer()) return *integer() == *other.integer();
  if (real()) return *real() == *other.real();
  if (text()) return text()->view() == other.text()->view();
  return list() == other.list() && dict() == other.dict() && object() == other.object() &&
         builtin() == other.builtin() && method() == other.method();
}

int depth_of(const Value& value) {
  if (const List* l = value.list()) return l->depth;
  if (const Dict* d = value.dict()) return d->depth();
  if (const BoundMethod* m = value.method()) return 1 + depth_of(m->self);
  return 0;
}

Value make_list(Budget& budget, std::vector<Value> items, ListKind kind) {
  budget.step(1 + static_cast<std::int64_t>(items.size()));
  auto list = std::make_shared<List>();
  for (const Value& item : items) list->depth = std::max(list->depth, 1 + depth_of(item));
  budget.check_depth(list->depth);
  list->kind = kind;
  list->items = std::move(items);
  return std::shared_ptr<const List>(std::move(list));
}

Value make_dict(std::shared_ptr<const Dict> dict) { return Value(std::move(dict)); }

bool Dict::is_hashable(const Value& key) {
  return key.text() || key.is_none() || (key.is_number() && !std::isnan(key.as_real()));
}

std::optional<std::size_t> Dict::position(const Value& key) const {
  if (const Text* t = key.text()) {
    const auto found = text_index_.find(t->view());
    return found == text_index_.end() ? std::nullopt : std::optional(found->second);
  }
  if (key.is_none()) return none_index_;
  if (!is_hashable(key)) return std::nullopt;
  const auto found = number_index_.find(key.as_real());
  return found == number_index_.end() ? std::nullopt : std::optional(found->second);
}

const Value* Dict::find(const Value& key) const {
  const auto at = position(key);
  return at ? &entries_[*at].value : nullptr;
}

const Value* Dict::find(std::string_view key) const {
  const auto found = text_index_.find(key);
  return found == text_index_.end() ? nullptr : &entries_[found->second].value;
}

void Dict::insert(Budget& budget, Value key, Value value) {
  if (!is_hashable(key)) fail("a dict key of type '{}' is not supported", key.type_name());
  budget.step();
  depth_ = std::max(depth_, 1 + depth_of(value));
  budget.check_depth(depth_);
  if (const auto at = position(key)) {
    entries_[*at].value = std::move(value);
    return;
  }
  if (const Text* t = key.text()) {
    text_index_.emplace(t->view(), entries_.size());
  } else if (key.is_none()) {
    none_index_ = entries_.size();
  } else {
    number_index_.emplace(key.as_real(), entries_.size());
  }
  entries_.push_back({std::move(key), std::move(value)});
}

std::shared_ptr<const List> Iterator::drain() {
  auto rest = std::make_shared<List>();
  rest->depth = items_->depth;
  rest->items.assign(items_->items.begin() + static_cast<std::ptrdiff_t>(position_), items_->items.end());
  position_ = items_->items.size();
  return rest;
}

std::optional<Value> Iterator::next() {
  if (position_ == items_->items.size()) return std::nullopt;
  return items_->items[position_++];
}

std::optional<Value> Namespace::attribute(Runtime&, std::string_view name) {
  const auto found = attributes_.find(name);
  return found == attributes_.end() ? std::nullopt : std::optional(found->second);
}

void Namespace::set(std::string_view name, Value value) {
  if (name.starts_with('_')) fail("cannot store the underscore-prefixed attribute '{}' on a namespace", name);
  attributes_.insert_or_assign(std::string(name), std::move(value));
}

}  // namespace millrace::chat::jinja
