#include "option_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "cli.h"

namespace millrace::app {
namespace {

constexpr double kManyUnits = 1e9;  // an upper limit of this or more is there to keep arithmetic safe
constexpr const char* kConfig = "--config";

std::string upper_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }
bool takes_many(const CLI::Option& option) {
  return option.get_expected_max() > 1 && option.get_delimiter() == '\0' && option.get_allow_extra_args();
}

// The text between the first `open` and the first `close` after it; empty where there is none.
std::string between(const std::string& text, char open, char close) {
  const std::size_t from = text.find(open), to = text.find(close, from == std::string::npos ? text.size() : from);
  return to == std::string::npos ? "" : text.substr(from + 1, to - from - 1);
}

// "INT:INT in [1 - 64]" -> "1 to 64".
std::string range_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type.ends_with(":NONNEGATIVE")) return "at least 0";
  if (type.ends_with(":POSITIVE")) return "above 0";
  if (type.find(" in [") == std::string::npos) return "";
  const std::string range = between(type, '[', ']');
  const std::size_t dash = range.find(" - ");
  if (dash == std::string::npos) return "";
  const std::string low = range.substr(0, dash), high = range.substr(dash + 3);
  return std::strtod(high.c_str(), nullptr) >= kManyUnits ? "at least " + low : low + " to " + high;
}

// As a list that a reader need not read twice: not there where the description names each.
std::string values_of(const CLI::Option& option) {
  const std::string& text = option.get_description();
  std::string list;
  for (const std::string& value : listed_values(option)) list += (list.empty() ? "" : ", ") + value;
  const auto values = listed_values(option);
  const bool named =
      std::ranges::all_of(values, [&](const std::string& value) { return text.find(value) != std::string::npos; });
  return named ? "" : "one of " + list;
}

// Whether a clause of the text begins with the word: "...; default none", "..., by default 32".
bool says_default(const std::string& text) {
  constexpr std::string_view kBeginnings[] = {"; default", ", default", ": default", ". Default", " by default"};
  return std::ranges::any_of(kBeginnings, [&](std::string_view one) { return text.find(one) != std::string::npos; });
}

std::string default_of(const CLI::Option& option) {
  std::string text = option.get_default_str();
  if (!takes_value(option)) {
    const bool negated = option.get_fnames().size() > 0;
    return text == "true" ? "default on" : negated && text == "false" ? "default off" : "";
  }
  if (option.get_required() || says_default(option.get_description())) return "";
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n')) text.replace(at, 1, "\\n");
  if (text == "default") return "default 'default'";
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  return text.empty() || text == "\"\"" ? "default none" : "default " + text;
}

}  // namespace

std::string option_names(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_snames()) names += (names.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) names += (names.empty() ? "--" : ", --") + name;
  if (!takes_value(option)) return names;
  const std::string type = value_type(option);
  names += " " + (type.empty() ? "NAME" : type);
  return takes_many(option) ? names + " ..." : names;
}

std::string argument_name(const CLI::Option& option) {
  std::string name = option.get_name(true, false);
  name = upper_case(name.substr(0, name.find_first_of(",_")));
  return takes_many(option) ? name + " ..." : name;
}

std::vector<std::string> listed_values(const CLI::Option& option) {
  std::vector<std::string> values;
  const std::string list = between(option.get_type_name(), '{', '}');
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    const std::string value = list.substr(at, comma - at);
    values.push_back(value.substr(0, value.find("->")));
    at = comma + 1;
  }
  return values;
}

std::string value_type(const CLI::Option& option) {
  if (!takes_value(option)) return "";
  std::string type = option.get_type_name();
  if (const std::size_t list = type.find('}'); list != std::string::npos) {
    return type.substr(list + 1).starts_with('|') ? type.substr(list + 2) : "";
  }
  type = type.substr(0, type.find_first_of(": "));
  if (type.starts_with('[')) type = between(type, '[', ']');
  if (type == "INT" || type == "UINT") return "N";
  if (type == "FLOAT") return "NUMBER";
  return type;
}

std::string own_variable(const CLI::Option& option) {
  const auto& names = option.get_lnames();
  std::string name = "MILLRACE_" + upper_case(names.empty() ? option.get_single_name() : names.front());
  std::ranges::replace(name, '-', '_');
  return name;
}

std::string option_notes(const CLI::Option& option, const CLI::App& app) {
  std::vector<std::string> notes;
  if (option.get_required()) notes.emplace_back("required");
  for (std::string note : {default_of(option), range_of(option), values_of(option)}) {
    if (!note.empty()) notes.push_back(std::move(note));
  }
  for (const CLI::Option* other : option.get_excludes()) {
    notes.push_back("not with " + other->get_name(other->get_positional(), false));
  }
  const bool named_by_rule =
      app.get_option_no_throw(kConfig) != nullptr && option.get_envname() == own_variable(option);
  if (!option.get_envname().empty() && !named_by_rule) notes.push_back("env " + option.get_envname());
  return fmt::format("{}", fmt::join(notes, "; "));
}

}  // namespace millrace::app
