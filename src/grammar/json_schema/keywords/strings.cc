// minLength, maxLength, pattern, format.

#include "grammar/json_schema/keyword.h"

namespace millrace::grammar::json_schema {
namespace {

Facts a_string() {
  Facts facts;
  facts.types = kString;
  return facts;
}

Result<void> min_length_holds(const KeywordUse& use, Facts& facts) {
  const auto count = use.count();
  if (!count) return count.error();
  facts.string.least = *count;
  return {};
}

Result<void> min_length_fails(const KeywordUse& use, Alternatives& cases) {
  const auto count = use.count();
  if (!count) return count.error();
  if (*count == 0) return {};
  cases.push_back(a_string());
  cases.back().string.most = *count - 1;
  return {};
}

Result<void> max_length_holds(const KeywordUse& use, Facts& facts) {
  const auto count = use.count();
  if (!count) return count.error();
  facts.string.most = *count;
  return {};
}

Result<void> max_length_fails(const KeywordUse& use, Alternatives& cases) {
  const auto count = use.count();
  if (!count) return count.error();
  cases.push_back(a_string());
  cases.back().string.least = *count + 1;
  return {};
}

// The regular expression of a "pattern" or of a "format" that is known; else none.
Result<const std::string*> regex(const KeywordUse& use) {
  if (!use.value.is_string()) return use.invalid("must be a string");
  const std::string& text = use.value.get_ref<const std::string&>();
  if (use.name == "format") return format_regex(text);
  if (const auto made = use.patterns.find(text); !made) {
    Error error = made.error();
    error.message = "JSON schema: " + use.document.path(use.schema, use.name) + ": " + error.message;
    return error;
  }
  return &text;
}

Result<void> pattern_holds(const KeywordUse& use, Facts& facts) {
  const auto text = regex(use);
  if (!text) return text.error();
  if (*text != nullptr) facts.string.patterns.push_back({**text, true});
  return {};
}

// What is written of a format is a part of it: what is not that part may be of the format, too.
Result<void> pattern_fails(const KeywordUse& use, Alternatives& cases) {
  const auto text = regex(use);
  if (!text) return text.error();
  if (*text == nullptr) return {};
  if (use.name == "format") return use.unsupported("that a string is not of a format");
  cases.push_back(a_string());
  cases.back().string.patterns.push_back({**text, false});
  return {};
}

constexpr Keyword kStringKeywords[] = {
    {"minLength", min_length_holds, min_length_fails},
    {"maxLength", max_length_holds, max_length_fails},
    {"pattern", pattern_holds, pattern_fails},
    {"format", pattern_holds, pattern_fails},
};

}  // namespace

std::span<const Keyword> string_keywords() { return kStringKeywords; }

}  // namespace millrace::grammar::json_schema
