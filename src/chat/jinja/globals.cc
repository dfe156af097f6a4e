#include <algorithm>

#include "chat/jinja/arguments.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/repr.h"
#include "chat/jinja/strftime.h"

namespace millrace::chat::jinja {
namespace {

Value range(Runtime& runtime, Arguments& arguments) {
  const BoundArguments args("range", arguments, {"start", "stop", "step"}, 1);
  const std::int64_t start = args.has(1) ? args.integer(0, 0) : 0;
  const std::int64_t stop = args.has(1) ? args.integer(1, 0) : args.integer(0, 0);
  const std::int64_t step = args.integer(2, 1);
  if (step == 0) fail("range() arg 3 must not be zero");
  const Integer span = step > 0 ? Integer(stop) - start : Integer(start) - stop;
  const Integer stride = step > 0 ? Integer(step) : -Integer(step);
  const Integer count = span > 0 ? (span + stride - 1) / stride : 0;
  const std::int64_t limit = runtime.budget.limits().range_items;
  if (count > limit) fail("a range exceeds the limit of {} items (range_items)", limit);
  auto list = std::make_shared<List>();
  runtime.budget.step(static_cast<std::int64_t>(count));
  list->kind = ListKind::kRange;
  list->range_start = start;
  list->range_stop = stop;
  list->range_step = step;
  for (Integer i = 0; i < count; ++i) list->items.emplace_back(start + i * step);
  return std::shared_ptr<const List>(std::move(list));
}

// dict(pairs or a dict, name=value ...)
Value dict(Runtime& runtime, Arguments& arguments) {
  auto out = std::make_shared<Dict>();
  if (arguments.positional.size() > 1) fail("dict() takes at most 1 positional argument");
  for (const Value& source : arguments.positional) {
    if (source.dict()) {
      for (const Dict::Entry& entry : source.dict()->entries()) out->insert(runtime.budget, entry.key, entry.value);
      continue;
    }
    for (const Value& pair : iterate(runtime, source)) {
      const auto parts = iterate(runtime, pair);
      if (parts->items.size() != 2) fail("dict(): a pair is required, got {} items", parts->items.size());
      out->insert(runtime.budget, parts->items[0], parts->items[1]);
    }
  }
  for (auto& [name, value] : arguments.named) out->insert(runtime.budget, name, std::move(value));
  return make_dict(std::move(out));
}

Value make_namespace(Runtime& runtime, Arguments& arguments) {
  const Value attributes = dict(runtime, arguments);
  auto* ns = runtime.make<Namespace>();
  for (const Dict::Entry& entry : attributes.dict()->entries()) {
    if (!entry.key.text()) fail("namespace attributes must be named by strings");
    ns->set(entry.key.text()->view(), entry.value);
  }
  return ns;
}

class Cycler : public Object {
 public:
  explicit Cycler(std::vector<Value> items) : items_(std::move(items)) {}
  std::string_view type_name() const override { return "Cycler"; }
  std::optional<Value> attribute(Runtime&, std::string_view name) override {
    if (name == "current") return items_[position_];
    if (name == "next") return std::make_shared<const BoundMethod>(BoundMethod{"next", this, next});
    if (name == "reset") return std::make_shared<const BoundMethod>(BoundMethod{"reset", this, reset});
    return std::nullopt;
  }

 private:
  static Value next(Runtime&, const Value& self, Arguments&) {
    auto& cycler = static_cast<Cycler&>(*self.object());
    const std::size_t at = cycler.position_;
    cycler.position_ = (at + 1) % cycler.items_.size();
    return cycler.items_[at];
  }
  static Value reset(Runtime&, const Value& self, Arguments&) {
    static_cast<Cycler&>(*self.object()).position_ = 0;
    return None{};
  }

  std::vector<Value> items_;
  std::size_t position_ = 0;
};

class Joiner : public Object {
 public:
  // By reference: a by-value parameter draws a false -Wmaybe-uninitialized from g++ 12 under -fsanitize=thread.
  explicit Joiner(const Value& separator) : separator_(separator) {}
  std::string_view type_name() const override { return "Joiner"; }
  bool is_callable() const override { return true; }
  Value call(Runtime&, Arguments&) override { return std::exchange(used_, true) ? separator_ : Value(Text()); }

 private:
  Value separator_;
  bool used_ = false;
};

Value make_cycler(Runtime& runtime, Arguments& arguments) {
  if (arguments.positional.empty()) fail("cycler: at least one item has to be provided");
  return runtime.make<Cycler>(std::move(arguments.positional));
}

Value make_joiner(Runtime& runtime, Arguments& arguments) {
  const BoundArguments args("joiner", arguments, {"sep"});
  return runtime.make<Joiner>(args.value(0, Text(", ", true)));
}

Value raise_exception(Runtime& runtime, Arguments& arguments) {
  const BoundArguments args("raise_exception", arguments, {"message"}, 1);
  throw Failure{ErrorCode::kInvalidArgument, std::string(to_text(runtime, args[0]).view()), true};
}

Value strftime_now(Runtime& runtime, Arguments& arguments) {
  const BoundArguments args("strftime_now", arguments, {"format"}, 1);
  runtime.budget.scan(args.text(0).size());
  std::string text = format_time(args.text(0).view(), runtime.context.unix_time);
  runtime.budget.check_string(text.size());
  return Text(std::move(text), false);
}

constexpr Builtin kGlobals[] = {
    {"cycler", make_cycler},
    {"dict", dict},
    {"joiner", make_joiner},
    {"namespace", make_namespace},
    {"raise_exception", raise_exception},
    {"range", range},
    {"strftime_now", strftime_now},
};

}  // namespace

std::span<const Builtin> globals() { return kGlobals; }

}  // namespace millrace::chat::jinja
