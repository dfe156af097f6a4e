#include <algorithm>
#include <limits>

#include "chat/jinja/arguments.h"
#include "chat/jinja/brace_format.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/text_ops.h"
#include "chat/jinja/unicode.h"

namespace millrace::chat::jinja {
namespace {

const Text* optional_text(const BoundArguments& args, std::size_t i) {
  return args.has_value(i) ? &args.text(i) : nullptr;
}

template <Side side>
Value strip_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  const BoundArguments args("strip", arguments, {"chars"});
  return strip(runtime.budget, *self.text(), optional_text(args, 0), side);
}

template <bool from_right>
Value split_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  const BoundArguments args("split", arguments, {"sep", "maxsplit"});
  return make_list(runtime.budget,
                   split(runtime.budget, *self.text(), optional_text(args, 0), args.integer(1, -1), from_right));
}

Value split_lines_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  const BoundArguments args("splitlines", arguments, {"keepends"});
  return make_list(runtime.budget, split_lines(runtime.budget, *self.text(), args.truth(0, false)));
}

template <Case change>
Value case_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  expect_no_arguments("case", arguments);
  return change_case(runtime.budget, *self.text(), change);
}

// The part of the text between the optional arguments `start` and `end`, in bytes; nothing if start is past the end.
struct Window {
  std::size_t from, to;
};
std::optional<Window> window(Runtime& runtime, const Text& text, const BoundArguments& args) {
  const auto length = static_cast<std::int64_t>(text.length());
  const auto index = [&](std::size_t i, std::int64_t fallback) {
    const std::int64_t at = args.has_value(i) ? args.integer(i, 0) : fallback;
    return at < 0 ? std::max<std::int64_t>(at + length, 0) : at;
  };
  const std::int64_t start = index(1, 0), end = std::min(index(2, length), length);
  if (start > length || start > end) return std::nullopt;
  if (!text.ascii()) runtime.budget.scan(text.size());
  return Window{text.offset_of(static_cast<std::size_t>(start)), text.offset_of(static_cast<std::size_t>(end))};
}

bool affix_matches(std::string_view text, const Value& affix, bool prefix) {
  if (!affix.text()) fail("startswith and endswith need str or a tuple of str, not {}", affix.type_name());
  return prefix ? text.starts_with(affix.text()->view()) : text.ends_with(affix.text()->view());
}

template <bool prefix>
Value affix_test(Runtime& runtime, const Value& self, Arguments& arguments) {
  const BoundArguments args(prefix ? "startswith" : "endswith", arguments, {"prefix", "start", "end"}, 1);
  const auto part = window(runtime, *self.text(), args);
  if (!part) return false;
  const std::string_view text = self.text()->view().substr(part->from, part->to - part->from);
  const List* many = args[0].list();
  if (!many || !many->is_tuple()) return affix_matches(text, args[0], prefix);
  runtime.budget.step(static_cast<std::int64_t>(many->items.size()));
  return std::any_of(many->items.begin(), many->items.end(),
                     [&](const Value& v) { return affix_matches(text, v, prefix); });
}

std::int64_t find_in(Runtime& runtime, const Text& text, const BoundArguments& args, bool from_right) {
  const auto part = window(runtime, text, args);
  runtime.budget.scan(text.size());
  if (!part) return -1;
  const std::string_view view = text.view().substr(part->from, part->to - part->from);
  const std::string_view wanted = args.text(0).view();
  const std::size_t at = from_right ? view.rfind(wanted) : view.find(wanted);
  if (at == view.npos) return -1;
  const auto before = text.view().substr(0, part->from + at);
  return std::count_if(before.begin(), before.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

template <bool from_right, bool must_exist>
Value find_method_of(Runtime& runtime, const Value& self, Arguments& arguments) {
  const std::int64_t at =
      find_in(runtime, *self.text(), BoundArguments("find", arguments, {"sub", "start", "end"}, 1), from_right);
  if (must_exist && at < 0) fail("substring not found");
  return at;
}

Value count_of_text(Runtime& runtime, const Value& self, Arguments& arguments) {
  const BoundArguments args("count", arguments, {"sub", "start", "end"}, 1);
  const auto part = window(runtime, *self.text(), args);
  if (!part) return 0;
  runtime.budget.scan(self.text()->size());
  const std::string_view view = self.text()->view().substr(part->from, part->to - part->from);
  const std::string_view wanted = args.text(0).view();
  const auto starts = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  if (wanted.empty()) return 1 + std::int64_t{std::count_if(view.begin(), view.end(), starts)};
  std::int64_t found = 0;
  for (std::size_t at = view.find(wanted); at != view.npos; at = view.find(wanted, at + wanted.size())) ++found;
  return found;
}

Value replace_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  const BoundArguments args("replace", arguments, {"old", "new", "count"}, 2);
  return replace(runtime.budget, *self.text(), args.text(0), args.text(1), args.integer(2, -1));
}

Value join_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  const BoundArguments args("join", arguments, {"iterable"}, 1);
  std::vector<Text> parts;
  for (const Value& item : iterate(runtime, args[0])) {
    if (!item.text()) fail("join: expected str instance, {} found", item.type_name());
    parts.push_back(*item.text());
  }
  return join(runtime.budget, *self.text(), parts);
}

template <bool prefix>
Value remove_affix(Runtime& runtime, const Value& self, Arguments& arguments) {
  const BoundArguments args("removeprefix", arguments, {"affix"}, 1);
  const Text& text = *self.text();
  const Text& affix = args.text(0);
  if (!affix_matches(text.view(), affix, prefix)) return text;
  return prefix ? substring(runtime.budget, text, affix.size(), text.size())
                : substring(runtime.budget, text, 0, text.size() - affix.size());
}

template <bool from_right>
Value partition(Runtime& runtime, const Value& self, Arguments& arguments) {
  const BoundArguments args("partition", arguments, {"sep"}, 1);
  const Text& text = *self.text();
  const Text& separator = args.text(0);
  if (separator.empty()) fail("empty separator");
  runtime.budget.scan(text.size());
  const std::size_t at = from_right ? text.view().rfind(separator.view()) : text.view().find(separator.view());
  std::vector<Value> parts{text, Text(), Text()};
  if (at != std::string_view::npos) {
    parts = {substring(runtime.budget, text, 0, at), separator,
             substring(runtime.budget, text, at + separator.size(), text.size())};
  } else if (from_right) {
    std::swap(parts[0], parts[2]);
  }
  return make_list(runtime.budget, std::move(parts), ListKind::kTuple);
}

template <Side side>
Value justify(Runtime& runtime, const Value& self, Arguments& arguments) {
  const BoundArguments args("justify", arguments, {"width", "fillchar"}, 1);
  if (args.has(1) && args.text(1).length() != 1) fail("The fill character must be exactly one character long");
  return pad(runtime.budget, *self.text(), args.integer(0, 0), args.has(1) ? args.text(1).view() : " ", side);
}

Value zero_fill(Runtime& runtime, const Value& self, Arguments& arguments) {
  const BoundArguments args("zfill", arguments, {"width"}, 1);
  const Text& text = *self.text();
  const bool sign = text.view().starts_with('-') || text.view().starts_with('+');
  const Text digits = substring(runtime.budget, text, sign ? 1 : 0, text.size());
  const std::int64_t width = std::max<std::int64_t>(args.integer(0, 0), 0) - (sign ? 1 : 0);
  return concatenate(runtime.budget, substring(runtime.budget, text, 0, sign ? 1 : 0),
                     pad(runtime.budget, digits, width, "0", Side::kRight));
}

Value format_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  return brace_format(runtime, *self.text(), arguments);
}

Value format_map(Runtime& runtime, const Value& self, Arguments& arguments) {
  const BoundArguments args("format_map", arguments, {"mapping"}, 1);
  if (!args[0].dict()) fail("format_map needs a dict, not '{}'", args[0].type_name());
  Arguments names;
  for (const Dict::Entry& entry : args[0].dict()->entries()) {
    runtime.budget.step();
    if (entry.key.text()) names.named.emplace_back(*entry.key.text(), entry.value);
  }
  return brace_format(runtime, *self.text(), names);
}

Value expand_tabs(Runtime& runtime, const Value& self, Arguments& arguments) {
  const BoundArguments args("expandtabs", arguments, {"tabsize"});
  return expand_tabs(runtime.budget, *self.text(), args.integer(0, 8));
}

constexpr Method kMethods[] = {
    {"capitalize", case_method<Case::kCapitalize>},
    {"casefold", case_method<Case::kFold>},
    {"center", justify<Side::kBoth>},
    {"count", count_of_text},
    {"endswith", affix_test<false>},
    {"expandtabs", expand_tabs},
    {"find", find_method_of<false, false>},
    {"format", format_method},
    {"format_map", format_map},
    {"index", find_method_of<false, true>},
    {"join", join_method},
    {"ljust", justify<Side::kLeft>},
    {"lower", case_method<Case::kLower>},
    {"lstrip", strip_method<Side::kLeft>},
    {"partition", partition<false>},
    {"removeprefix", remove_affix<true>},
    {"removesuffix", remove_affix<false>},
    {"replace", replace_method},
    {"rfind", find_method_of<true, false>},
    {"rindex", find_method_of<true, true>},
    {"rjust", justify<Side::kRight>},
    {"rpartition", partition<true>},
    {"rsplit", split_method<true>},
    {"rstrip", strip_method<Side::kRight>},
    {"split", split_method<false>},
    {"splitlines", split_lines_method},
    {"startswith", affix_test<true>},
    {"strip", strip_method<Side::kBoth>},
    {"swapcase", case_method<Case::kSwap>},
    {"title", case_method<Case::kTitle>},
    {"upper", case_method<Case::kUpper>},
    {"zfill", zero_fill},
};

}  // namespace

std::span<const Method> text_methods() { return kMethods; }

}  // namespace millrace::chat::jinja
