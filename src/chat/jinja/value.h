#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "chat/jinja/text.h"

namespace millrace::chat::jinja {

class Value;
class Runtime;
class Object;
struct Arguments;
struct List;
class Dict;
struct BoundMethod;

// Python's int within 128 bits; an overflow is an error.
__extension__ using Integer = __int128;

// A missing name, attribute or item. It prints as nothing, and is false and empty; any other use fails with `reason`.
struct Undefined {
  std::shared_ptr<const std::string> reason;
};
struct None {};

struct Builtin {
  std::string_view name;
  Value (*call)(Runtime&, Arguments&);
};

// A value of the template language. Text, lists and dicts are immutable and shared. Objects (namespaces, macros, loops)
// belong to the Runtime, so that reference cycles cannot leak.
class Value {
 public:
  Value() : data_(Undefined{}) {}
  Value(None) : data_(None{}) {}
  Value(Undefined value) : data_(std::move(value)) {}
  Value(bool value) : data_(value) {}
  Value(Integer value) : data_(value) {}
  Value(std::int64_t value) : data_(static_cast<Integer>(value)) {}
  Value(std::size_t value) : data_(static_cast<Integer>(value)) {}
  Value(int value) : data_(static_cast<Integer>(value)) {}
  Value(double value) : data_(value) {}
  Value(Text value) : data_(std::move(value)) {}
  Value(std::shared_ptr<const List> value) : data_(std::move(value)) {}
  Value(std::shared_ptr<const Dict> value) : data_(std::move(value)) {}
  Value(Object* value) : data_(value) {}
  Value(const Builtin* value) : data_(value) {}
  Value(std::shared_ptr<const BoundMethod> value) : data_(std::move(value)) {}

  static Value undefined(std::string reason) {
    return Undefined{std::make_shared<const std::string>(std::move(reason))};
  }

  bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  bool is_none() const { return std::holds_alternative<None>(data_); }
  bool is_callable() const;
  const bool* boolean() const { return std::get_if<bool>(&data_); }
  const Integer* integer() const { return std::get_if<Integer>(&data_); }
  const double* real() const { return std::get_if<double>(&data_); }
  const Text* text() const { return std::get_if<Text>(&data_); }
  const List* list() const { return pointee<std::shared_ptr<const List>>(); }
  const Dict* dict() const { return pointee<std::shared_ptr<const Dict>>(); }
  std::shared_ptr<const List> shared_list() const { return std::get<std::shared_ptr<const List>>(data_); }
  Object* object() const {
    const auto* object = std::get_if<Object*>(&data_);
    return object ? *object : nullptr;
  }
  const Builtin* builtin() const {
    const auto* builtin = std::get_if<const Builtin*>(&data_);
    return builtin ? *builtin : nullptr;
  }
  const BoundMethod* method() const { return pointee<std::shared_ptr<const BoundMethod>>(); }
  const std::string& undefined_reason() const;

  // Whether Python's arithmetic accepts it: bool, int or float.
  bool is_number() const { return boolean() || integer() || real(); }
  std::optional<Integer> as_integer() const;  // of a bool or int
  double as_real() const;                     // of any number

  bool truthy() const;
  std::string_view type_name() const;  // as in Python
  // Identity as Python's `is` gives it for None, booleans, equal small numbers and shared containers.
  bool same_as(const Value& other) const;

 private:
  template <typename Pointer>
  typename Pointer::element_type* pointee() const {
    const auto* pointer = std::get_if<Pointer>(&data_);
    return pointer ? pointer->get() : nullptr;
  }

  std::variant<Undefined, None, bool, Integer, double, Text, std::shared_ptr<const List>, std::shared_ptr<const Dict>,
               Object*, const Builtin*, std::shared_ptr<const BoundMethod>>
      data_;
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<Text, Value>> named;  // a name that comes from **data has the data's trust
};

// Sequences that are different types in Python but are represented alike; the kind decides how they print and which
// operations are allowed.
enum class ListKind { kList, kTuple, kGroup, kKeys, kValues, kItems, kRange };

struct List {
  ListKind kind = ListKind::kList;
  std::vector<Value> items;
  int depth = 1;  // 1 + the maximum depth of the items
  std::int64_t range_start = 0, range_stop = 0, range_step = 1;

  bool is_tuple() const { return kind == ListKind::kTuple || kind == ListKind::kGroup; }
  bool is_view() const { return kind == ListKind::kKeys || kind == ListKind::kValues || kind == ListKind::kItems; }
};

// A dict in order of insertion. Keys are strings, numbers (1, 1.0 and true are one key) and none.
class Dict {
 public:
  struct Entry {
    Value key, value;
  };
  const std::vector<Entry>& entries() const noexcept { return entries_; }
  int depth() const noexcept { return depth_; }
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  static bool is_hashable(const Value& key);

  // Only while it is built. An equal key keeps its place and gets the new value. Fails for a key that is not hashable.
  void insert(Budget& budget, Value key, Value value);

 private:
  std::optional<std::size_t> position(const Value& key) const;

  std::vector<Entry> entries_;
  std::map<std::string, std::size_t, std::less<>> text_index_;  // ordered: no hash for an adversary to flood
  std::map<double, std::size_t> number_index_;
  std::optional<std::size_t> none_index_;
  int depth_ = 1;
};

// A value with identity, and possibly state; owned by the Runtime.
class Object {
 public:
  virtual ~Object() = default;
  virtual std::string_view type_name() const = 0;
  virtual std::string shown() const { return fmt::format("<{} object>", type_name()); }  // its printed form
  virtual std::optional<Value> attribute(Runtime&, std::string_view) { return std::nullopt; }
  virtual bool is_callable() const { return false; }
  virtual Value call(Runtime&, Arguments&) { fail("'{}' object is not callable", type_name()); }
};

struct BoundMethod {
  std::string_view name;
  Value self;
  Value (*call)(Runtime&, const Value& self, Arguments&);
};

// A generator: it can be iterated once and has no length.
class Iterator : public Object {
 public:
  explicit Iterator(std::shared_ptr<const List> items) : items_(std::move(items)) {}
  std::string_view type_name() const override { return "generator"; }
  std::shared_ptr<const List> drain();
  std::optional<Value> next();

 private:
  std::shared_ptr<const List> items_;
  std::size_t position_ = 0;
};

// An object whose attributes {% set ns.name = ... %} may change.
class Namespace : public Object {
 public:
  std::string_view type_name() const override { return "Namespace"; }
  std::optional<Value> attribute(Runtime&, std::string_view name) override;
  void set(std::string_view name, Value value);
  const std::map<std::string, Value, std::less<>>& attributes() const { return attributes_; }

 private:
  std::map<std::string, Value, std::less<>> attributes_;
};

int depth_of(const Value& value);
Value make_list(Budget& budget, std::vector<Value> items, ListKind kind = ListKind::kList);
Value make_dict(std::shared_ptr<const Dict> dict);

}  // namespace millrace::chat::jinja
