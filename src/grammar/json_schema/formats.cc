// The formats of JSON Schema (2020-12 validation, section 7.3) as regular expressions. They accept what their RFCs do,
// or less: what no regular expression of a sensible size says is left out (see docs/json_schema.md).

#include <fmt/format.h>

#include "grammar/json_schema/keyword.h"

namespace millrace::grammar::json_schema {
namespace {

using Formats = std::map<std::string, std::string, std::less<>>;

// RFC 3339: days as many as the month of that year has, leap seconds only at the end of a day in UTC ("Z").
// The years are 0001 to 9999: libraries know no year 0.
constexpr std::string_view kDate =
    "(?:(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    "|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)-02-29)";
constexpr std::string_view kTime =
    "(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:[Zz]|[+\\-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
    "|23:59:60(?:\\.[0-9]{1,9})?[Zz])";
constexpr std::string_view kByte = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
constexpr std::string_view kHex = "[0-9A-Fa-f]";
constexpr std::string_view kUriCharacter = "(?:[A-Za-z0-9\\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})";

// RFC 1123: a label of at most `most` characters, from 5. Labels with "--" in the third place are left out: those
// ("xn--...") encode others that RFC 5891 does not allow.
std::string label(int most) {
  const std::string letter = "[A-Za-z0-9]", inside = "[A-Za-z0-9\\-]";
  return fmt::format("{0}(?:{0}|{1}{0}|{1}(?:{0}|-){0}|{1}(?:{0}{1}|-{0}){1}{{0,{2}}}{0})?", letter, inside, most - 5);
}

// At most 253 characters: up to 4 labels of 62 or up to 8 of 30.
std::string host() { return fmt::format("(?:{0}(?:\\.{0}){{0,3}}|{1}(?:\\.{1}){{0,7}})", label(62), label(30)); }

// RFC 6570.
std::string uri_template() {
  const std::string name = "(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})";
  const std::string variable = fmt::format("{0}(?:\\.?{0})*(?::[1-9][0-9]{{0,3}}|\\*)?", name);
  const std::string expression = fmt::format("\\{{[+#./;?&]?{0}(?:,{0})*\\}}", variable);
  const std::string literal =
      "[!#$&'(-;=?-\\[\\]_a-z~\\u00A0-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFEF\\u{10000}-\\u{EFFFD}]|%[0-9A-Fa-f]{2}";
  return fmt::format("(?:{}|{})*", literal, expression);
}

std::string ipv6() {
  const std::string group = "[0-9A-Fa-f]{1,4}";
  const std::string four = fmt::format("{0}\\.{0}\\.{0}\\.{0}", kByte);
  const std::string last = fmt::format("(?:{0}:{0}|{1})", group, four);
  std::string all = fmt::format("(?:{0}:){{6}}{1}", group, last);
  // RFC 3986's nine shapes: "::" with up to k groups before it.
  for (int after = 5; after >= 0; --after) {
    const int before = 5 - after;
    const std::string left = before == 0 ? "" : fmt::format("(?:(?:{0}:){{0,{1}}}{0})?", group, before - 1);
    all += fmt::format("|{}::(?:{}:){{{}}}{}", left, group, after, last);
  }
  all += fmt::format("|(?:(?:{0}:){{0,5}}{0})?::{0}|(?:(?:{0}:){{0,6}}{0})?::", group);
  return all;
}

std::string uri(bool absolute, bool international) {
  std::string character(kUriCharacter);
  if (international) character.insert(4, "\\u00A0-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFEF\\u{10000}-\\u{EFFFD}");
  const std::string registered = [&] {
    std::string name = character;
    for (const char c : {':', '@'}) name.erase(name.find(c, name.find("=")), 1);
    return name;
  }();
  const std::string user = fmt::format("(?:(?:{}|:)*@)?", registered);
  const std::string authority = fmt::format("//{}(?:\\[(?:{})\\]|{}*)(?::[0-9]*)?", user, ipv6(), registered);
  const std::string path =
      fmt::format("(?:{}(?:/{}*)*|/?(?:{}+(?:/{}*)*)?)", authority, character, character, character);
  const std::string tail = fmt::format("(?:\\?(?:{0}|[/?])*)?(?:#(?:{0}|[/?])*)?", character);
  const std::string whole = "[A-Za-z][A-Za-z0-9+.\\-]*:" + path + tail;
  if (absolute) return whole;
  // The first part of a relative path has no ':'.
  std::string first = character;
  first.erase(first.find(':', first.find("=")), 1);
  const std::string relative = fmt::format("(?:{}(?:/{}*)*|/(?:{}+(?:/{}*)*)?|{}+(?:/{}*)*)?", authority, character,
                                           character, character, first, character);
  return whole + "|" + relative + tail;
}

Formats make_formats() {
  const std::string atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\-]+";
  const std::string pointer = "(?:/(?:[^~/]|~[01])*)*";
  const std::string months = "[0-9]+M(?:[0-9]+D)?", minutes = "[0-9]+M(?:[0-9]+S)?";
  const std::string date = fmt::format("(?:[0-9]+Y(?:{0})?|{0}|[0-9]+D)", months);
  const std::string time = fmt::format("T(?:[0-9]+H(?:{0})?|{0}|[0-9]+S)", minutes);
  Formats made = {
      {"date", std::string(kDate)},
      {"time", std::string(kTime)},
      {"date-time", fmt::format("{}[Tt]{}", kDate, kTime)},
      {"duration", fmt::format("P(?:{0}(?:{1})?|{1}|[0-9]+W)", date, time)},
      {"email", fmt::format("{0}(?:\\.{0})*@{1}", atom, host())},
      {"hostname", host()},
      {"ipv4", fmt::format("{0}\\.{0}\\.{0}\\.{0}", kByte)},
      {"ipv6", ipv6()},
      {"uuid", fmt::format("{0}{{8}}-{0}{{4}}-{0}{{4}}-{0}{{4}}-{0}{{12}}", kHex)},
      {"uri-template", uri_template()},
      {"uri", uri(true, false)},
      {"uri-reference", uri(false, false)},
      {"iri", uri(true, true)},
      {"iri-reference", uri(false, true)},
      {"json-pointer", pointer},
      {"relative-json-pointer", fmt::format("(?:0|[1-9][0-9]*)(?:#|{})", pointer)},
  };
  for (auto& [name, regex] : made) regex = "^(?:" + regex + ")$";
  return made;
}

}  // namespace

const std::string* format_regex(std::string_view format) {
  static const Formats formats = make_formats();
  const auto found = formats.find(format);
  return found == formats.end() ? nullptr : &found->second;
}

}  // namespace millrace::grammar::json_schema
