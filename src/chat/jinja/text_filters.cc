#include <algorithm>

#include "chat/jinja/arguments.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/printf_format.h"
#include "chat/jinja/repr.h"
#include "chat/jinja/text_ops.h"
#include "chat/jinja/unicode.h"
#include "chat/jinja/word_wrap.h"

namespace millrace::chat::jinja {
namespace {

template <Case change>
Value change_case_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
  expect_no_arguments("change_case", arguments);
  return change_case(runtime.budget, to_text(runtime, input), change);
}

// Jinja's title differs from Python's: words start after white space and - ( { [ < only.
Value title(Runtime& runtime, const Value& input, Arguments& arguments) {
  expect_no_arguments("title", arguments);
  const Text text = to_text(runtime, input);
  runtime.budget.scan(text.size());
  TextBuilder out(runtime.budget);
  bool at_start = true;
  text.for_each_run(0, text.size(), [&](std::string_view run, bool trusted) {
    std::string changed;
    for (std::size_t i = 0; i < run.size();) {
      const char32_t c = next_code_point(run, i);
      at_start ? append_upper(changed, c) : append_lower(changed, c);
      at_start = is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
    }
    out.append(changed, trusted);
  });
  return out.take();
}

Value trim(Runtime& runtime, const Value& input, Arguments& arguments) {
  const BoundArguments args("trim", arguments, {"chars"});
  return strip(runtime.budget, to_text(runtime, input), args.has_value(0) ? &args.text(0) : nullptr, Side::kBoth);
}

Value replace_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
  const BoundArguments args("replace", arguments, {"old", "new", "count"}, 2);
  const std::int64_t limit = args.has_value(2) ? args.integer(2, -1) : -1;
  return replace(runtime.budget, to_text(runtime, input), to_text(runtime, args[0]), to_text(runtime, args[1]), limit);
}

Value center(Runtime& runtime, const Value& input, Arguments& arguments) {
  const BoundArguments args("center", arguments, {"width"});
  return pad(runtime.budget, to_text(runtime, input), args.integer(0, 80), " ", Side::kBoth);
}

Value indent(Runtime& runtime, const Value& input, Arguments& arguments) {
  const BoundArguments args("indent", arguments, {"width", "first", "blank"});
  if (!input.text()) fail("indent needs a string, not '{}'", input.type_name());
  const Text newline("\n", true);
  const Text width =
      args.has(0) && args[0].text() ? args.text(0) : repeat(runtime.budget, Text(" ", true), args.integer(0, 4));
  const bool blank = args.truth(2, false);
  const auto lines = split_lines(runtime.budget, concatenate(runtime.budget, *input.text(), newline), false);
  TextBuilder out(runtime.budget);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Text& line = *lines[i].text();
    if (i > 0) out.append(newline);
    if (i > 0 ? blank || !line.empty() : args.truth(1, false)) out.append(width);
    out.append(line);
  }
  return out.take();
}

Value truncate(Runtime& runtime, const Value& input, Arguments& arguments) {
  const BoundArguments args("truncate", arguments, {"length", "killwords", "end", "leeway"});
  if (!input.text()) fail("truncate needs a string, not '{}'", input.type_name());
  const Text& text = *input.text();
  const Text end = args.has(2) ? args.text(2) : Text("...", true);
  const std::int64_t length = args.integer(0, 255), leeway = args.has_value(3) ? args.integer(3, 5) : 5;
  const auto end_length = static_cast<std::int64_t>(end.length());
  if (length < end_length) fail("truncate: expected length >= {}, got {}", end_length, length);
  if (leeway < 0) fail("truncate: expected leeway >= 0, got {}", leeway);
  if (static_cast<std::int64_t>(text.length()) - leeway <= length) return text;
  Text kept = slice(runtime.budget, text, 0, length - end_length, 1);
  if (!args.truth(1, false)) {
    const std::size_t space = kept.view().rfind(' ');
    if (space != std::string_view::npos) kept = substring(runtime.budget, kept, 0, space);
  }
  return concatenate(runtime.budget, kept, end);
}

Value word_wrap_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
  const BoundArguments args("wordwrap", arguments, {"width", "break_long_words", "wrapstring", "break_on_hyphens"});
  if (!input.text()) fail("wordwrap needs a string, not '{}'", input.type_name());
  const WrapStyle style{args.integer(0, 79), args.truth(1, true), args.truth(3, true)};
  const Text wrap = args.has_value(2) ? args.text(2) : Text("\n", true);
  std::vector<Text> lines;
  for (const Value& line : split_lines(runtime.budget, *input.text(), false)) {
    lines.push_back(join(runtime.budget, wrap, word_wrap(runtime.budget, *line.text(), style)));
  }
  return join(runtime.budget, wrap, lines);
}

Value word_count(Runtime& runtime, const Value& input, Arguments& arguments) {
  expect_no_arguments("wordcount", arguments);
  const Text text = to_text(runtime, input);
  runtime.budget.scan(text.size());
  std::int64_t count = 0;
  bool in_word = false;
  for (std::size_t i = 0; i < text.size();) {
    const bool word = is_word(next_code_point(text.view(), i));
    count += word && !in_word;
    in_word = word;
  }
  return count;
}

Value format(Runtime& runtime, const Value& input, Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    fail("format can't handle positional and keyword arguments at the same time");
  }
  const Text text = to_text(runtime, input);
  if (arguments.named.empty()) {
    return printf_format(runtime, text, make_list(runtime.budget, std::move(arguments.positional), ListKind::kTuple));
  }
  auto dict = std::make_shared<Dict>();
  for (auto& [name, value] : arguments.named) dict->insert(runtime.budget, name, std::move(value));
  return printf_format(runtime, text, make_dict(std::move(dict)));
}

std::string_view html_entity(char c) {
  switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '\'': return "&#39;";
    case '"': return "&#34;";
    default: return {};
  }
}

Text escaped(Runtime& runtime, const Text& text) {
  runtime.budget.scan(text.size());
  TextBuilder out(runtime.budget);
  text.for_each_run(0, text.size(), [&](std::string_view run, bool trusted) {
    std::string changed;
    for (const char c : run) {
      const std::string_view entity = html_entity(c);
      entity.empty() ? changed.push_back(c) : static_cast<void>(changed.append(entity));
    }
    out.append(changed, trusted);
  });
  return out.take();
}

Value escape(Runtime& runtime, const Value& input, Arguments& arguments) {
  expect_no_arguments("escape", arguments);
  return escaped(runtime, to_text(runtime, input));
}

// {"id": 1, "name": "x"} as ` id="1" name="x"`, without values that are none or undefined.
Value xml_attributes(Runtime& runtime, const Value& input, Arguments& arguments) {
  const BoundArguments args("xmlattr", arguments, {"autospace"});
  if (input.is_undefined()) fail("{}", input.undefined_reason());
  if (!input.dict()) fail("xmlattr needs a dict, not '{}'", input.type_name());
  TextBuilder out(runtime.budget);
  for (const auto& [key, value] : input.dict()->entries()) {
    runtime.budget.step();
    if (value.is_none() || value.is_undefined()) continue;
    if (!key.text()) fail("xmlattr: an attribute name must be a string, not '{}'", key.type_name());
    if (key.text()->view().find_first_of(" \t\n\r\f\v/>=") != std::string_view::npos) {
      fail("invalid character in attribute name: '{}'", key.text()->view());
    }
    if (out.size() > 0 || args.truth(0, true)) out.append(" ", false);
    out.append(escaped(runtime, *key.text()));
    out.append("=\"", false);
    out.append(escaped(runtime, to_text(runtime, value)));
    out.append("\"", false);
  }
  return out.take();
}

// Removes <...> and <!-- ... -->, and makes white space single.
Value strip_tags(Runtime& runtime, const Value& input, Arguments& arguments) {
  expect_no_arguments("striptags", arguments);
  const Text text = to_text(runtime, input);
  runtime.budget.scan(text.size());
  const std::string_view view = text.view();
  TextBuilder kept(runtime.budget);
  std::size_t done = 0;
  for (std::size_t open = view.find('<'); open != view.npos; open = view.find('<', done)) {
    const bool comment = view.substr(open, 4) == "<!--";
    const std::size_t close = comment ? view.find("-->", open + 4) : view.find('>', open);
    if (close == view.npos) break;
    kept.append(text, done, open);
    done = close + (comment ? 3 : 1);
  }
  kept.append(text, done, view.size());
  std::vector<Text> words;
  for (const Value& word : split(runtime.budget, kept.take(), nullptr, -1, false)) words.push_back(*word.text());
  Text out = join(runtime.budget, Text(" ", true), words);
  static constexpr std::pair<std::string_view, std::string_view> kEntities[] = {
      {"&lt;", "<"},    {"&gt;", ">"},        {"&#39;", "'"}, {"&#34;", "\""},
      {"&quot;", "\""}, {"&nbsp;", "\u00A0"}, {"&amp;", "&"}};
  for (const auto& [entity, character] : kEntities) {
    out = replace(runtime.budget, out, Text(std::string(entity), false), Text(std::string(character), false), -1);
  }
  return out;
}

}  // namespace

std::span<const Filter> text_filters() {
  static constexpr Filter kTable[] = {
      {"capitalize", change_case_filter<Case::kCapitalize>},
      {"center", center},
      {"e", escape},
      {"escape", escape},
      {"format", format},
      {"forceescape", escape},
      {"indent", indent},
      {"lower", change_case_filter<Case::kLower>},
      {"replace", replace_filter},
      {"striptags", strip_tags},
      {"title", title},
      {"trim", trim},
      {"truncate", truncate},
      {"upper", change_case_filter<Case::kUpper>},
      {"wordcount", word_count},
      {"wordwrap", word_wrap_filter},
      {"xmlattr", xml_attributes},
  };
  return kTable;
}

}  // namespace millrace::chat::jinja
