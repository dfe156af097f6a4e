#include "chat/jinja/arguments.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/json_format.h"
#include "chat/jinja/repr.h"
#include "chat/jinja/text_ops.h"

namespace millrace::chat::jinja {
namespace {

Value default_filter(Runtime&, const Value& input, Arguments& arguments) {
  const BoundArguments args("default", arguments, {"default_value", "boolean"});
  const bool missing = input.is_undefined() || (args.truth(1, false) && !input.truthy());
  return missing ? args.value(0, Text()) : input;
}

Value string_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
  expect_no_arguments("string", arguments);
  return to_text(runtime, input);
}

Value items(Runtime& runtime, const Value& input, Arguments& arguments) {
  expect_no_arguments("items", arguments);
  std::vector<Value> pairs;
  if (const Dict* dict = input.dict()) {
    for (const Dict::Entry& entry : dict->entries()) {
      pairs.push_back(make_list(runtime.budget, {entry.key, entry.value}, ListKind::kTuple));
    }
  } else if (!input.is_undefined()) {
    fail("Can only get item pairs from a mapping.");
  }
  return runtime.make_iterator(std::move(pairs));
}

Value attr(Runtime& runtime, const Value& input, Arguments& arguments) {
  const BoundArguments args("attr", arguments, {"name"}, 1);
  if (input.dict() && !find_method(input, args.text(0).view())) {
    return Value::undefined(fmt::format("'dict' object has no attribute '{}'", args.text(0).view()));
  }
  return get_attribute(runtime, input, args.text(0).view());
}

// As transformers defines it, not Jinja's own, which escapes HTML.
Value tojson(Runtime& runtime, const Value& input, Arguments& arguments) {
  const BoundArguments args("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = args.truth(0, false);
  style.sort_keys = args.truth(3, false);
  if (args.has_value(1)) {
    style.indent = args[1].text() ? std::string(args.text(1).view())
                                  : std::string(repeat(runtime.budget, Text(" ", false), args.integer(1, 0)).view());
    style.item_separator = ",";
  }
  if (args.has_value(2)) {
    const auto separators = iterate(runtime, args[2]);
    if (separators->items.size() != 2 || !separators->items[0].text() || !separators->items[1].text()) {
      fail("tojson: separators must be two strings");
    }
    style.item_separator = separators->items[0].text()->view();
    style.key_separator = separators->items[1].text()->view();
  }
  return to_json(runtime, input, style);
}

std::string percent_encoded(std::string_view text, bool for_query) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("_.-~").find(c) != std::string_view::npos || (c == '/' && !for_query);
    if (plain) {
      out += c;
    } else if (c == ' ' && for_query) {
      out += '+';
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

Value url_encode(Runtime& runtime, const Value& input, Arguments& arguments) {
  expect_no_arguments("urlencode", arguments);
  const auto encoded = [&](const Value& value, bool for_query) {
    const Text text = to_text(runtime, value);
    runtime.budget.scan(text.size());
    return percent_encoded(text.view(), for_query);
  };
  TextBuilder out(runtime.budget);
  if (!input.dict() && !input.list() && !input.object()) {
    out.append(encoded(input, false), false);
    return out.take();
  }
  Arguments none;
  const Value pairs = input.dict() ? items(runtime, input, none) : input;
  for (const Value& pair : iterate(runtime, pairs)) {
    const auto parts = iterate(runtime, pair);
    if (parts->items.size() != 2) fail("urlencode needs pairs");
    if (out.size() > 0) out.append("&", false);
    out.append(encoded(parts->items[0], true) + "=" + encoded(parts->items[1], true), false);
  }
  return out.take();
}

}  // namespace

std::span<const Filter> conversion_filters() {
  static constexpr Filter kTable[] = {
      {"attr", attr},          {"d", default_filter},     {"default", default_filter}, {"items", items},
      {"safe", string_filter}, {"string", string_filter}, {"tojson", tojson},          {"urlencode", url_encode},
  };
  return kTable;
}

}  // namespace millrace::chat::jinja
