#include "screen/inline_markdown.h"

#include <md4c.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

namespace millrace::screen {
namespace {

constexpr char32_t kEndMark = 0xE000;  // private use: keeps a '#' at the end of a line from being a closing marker
constexpr std::string_view kEndMarkText = " \xee\x80\x80";

std::string entity_text(std::string_view entity) {
  constexpr std::pair<std::string_view, std::string_view> kNamed[] = {
      {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&apos;", "'"}, {"&#39;", "'"}, {"&nbsp;", " "}};
  for (const auto& [name, text] : kNamed) {
    if (entity == name) return std::string(text);
  }
  return std::string(entity);
}

// Receives md4c's events: the text of all spans, and cells of tables.
struct Collector {
  Style base = kPlain;
  std::vector<std::pair<MD_SPANTYPE, std::string>> spans;  // open ones, links with their address
  StyledText text;
  std::vector<bool> literal;  // of each character of `text`: it is no code, so it may be a marker
  std::size_t link_start = 0;
  std::vector<std::vector<StyledText>> rows;

  Style style() const {
    Style out = base;
    for (const auto& [type, address] : spans) {
      if (type == MD_SPAN_STRONG) out |= kBold;
      if (type == MD_SPAN_EM) out |= kItalic;
      if (type == MD_SPAN_CODE) out |= kCode;
      if (type == MD_SPAN_DEL) out |= kStrike;
      if (type == MD_SPAN_A || type == MD_SPAN_IMG) out |= kUnderline;
    }
    return out;
  }
  void add(std::string_view added, Style with, bool may_mark) {
    append(text, added, with);
    literal.resize(text.size(), may_mark);
  }
};

std::string address_of(MD_SPANTYPE type, void* detail) {
  if (type == MD_SPAN_A) {
    const auto& href = static_cast<MD_SPAN_A_DETAIL*>(detail)->href;
    return {href.text, href.size};
  }
  if (type == MD_SPAN_IMG) {
    const auto& src = static_cast<MD_SPAN_IMG_DETAIL*>(detail)->src;
    return {src.text, src.size};
  }
  return {};
}

int enter_span(MD_SPANTYPE type, void* detail, void* user) {
  auto& to = *static_cast<Collector*>(user);
  to.spans.emplace_back(type, address_of(type, detail));
  if (type == MD_SPAN_A || type == MD_SPAN_IMG) to.link_start = to.text.size();
  return 0;
}

// A link's address follows in parentheses, unless it is what the link says.
int leave_span(MD_SPANTYPE type, void*, void* user) {
  auto& to = *static_cast<Collector*>(user);
  const std::string address = to.spans.empty() ? "" : std::move(to.spans.back().second);
  if (!to.spans.empty()) to.spans.pop_back();
  if ((type != MD_SPAN_A && type != MD_SPAN_IMG) || address.empty()) return 0;
  StyledText shown;
  append(shown, address);
  const auto label = to.text.begin() + static_cast<std::ptrdiff_t>(to.link_start);
  const bool same = std::equal(label, to.text.end(), shown.begin(), shown.end(),
                               [](const StyledChar& a, const StyledChar& b) { return a.value == b.value; });
  if (!same) to.add(" (" + address + ")", to.style(), false);
  return 0;
}

int add_text(MD_TEXTTYPE type, const MD_CHAR* text, MD_SIZE size, void* user) {
  auto& to = *static_cast<Collector*>(user);
  switch (type) {
    case MD_TEXT_NULLCHAR: to.add("\xef\xbf\xbd", to.style(), false); break;
    case MD_TEXT_BR:
    case MD_TEXT_SOFTBR: to.add(" ", to.style(), false); break;
    case MD_TEXT_ENTITY: to.add(entity_text({text, size}), to.style(), false); break;
    default: to.add({text, size}, to.style(), type == MD_TEXT_NORMAL);
  }
  return 0;
}

int enter_block(MD_BLOCKTYPE type, void*, void* user) {
  auto& to = *static_cast<Collector*>(user);
  if (type == MD_BLOCK_TR) to.rows.emplace_back();
  if (type == MD_BLOCK_TH || type == MD_BLOCK_TD) to.text.clear();
  to.base = type == MD_BLOCK_TH ? kBold : type == MD_BLOCK_TD ? kPlain : to.base;
  return 0;
}

int leave_block(MD_BLOCKTYPE type, void*, void* user) {
  auto& to = *static_cast<Collector*>(user);
  if ((type == MD_BLOCK_TH || type == MD_BLOCK_TD) && !to.rows.empty()) to.rows.back().push_back(std::move(to.text));
  return 0;
}

Collector parse(std::string_view text, Style base) {
  MD_PARSER parser{};
  parser.flags = MD_FLAG_NOHTML | MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_NOINDENTEDCODEBLOCKS;
  parser.enter_block = enter_block;
  parser.leave_block = leave_block;
  parser.enter_span = enter_span;
  parser.leave_span = leave_span;
  parser.text = add_text;
  Collector collected;
  collected.base = base;
  md_parse(text.data(), static_cast<MD_SIZE>(text.size()), &parser, &collected);
  return collected;
}

bool is_space(char32_t c) { return c == ' ' || c == '\t'; }
bool is_word(char32_t c) { return c > 0x7F || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'); }

// Where the brackets that open at `at` end, if they cannot become a link; else `at`.
std::size_t after_brackets(const StyledText& text, std::size_t at) {
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (text[i].value == '[') return at;
    if (text[i].value == ']') return i + 1 < text.size() && text[i + 1].value != '(' ? i : at;
  }
  return at;
}

// Whether the character at `at`, which md4c left as it is, may become a marker when text follows.
bool may_become_marker(const StyledText& text, std::size_t at) {
  const char32_t c = text[at].value;
  const bool last = at + 1 == text.size();
  const char32_t next = last ? 0 : text[at + 1].value;
  switch (c) {
    case '*':
    case '~': return last || !is_space(next);
    case '_':
      return (last || !is_space(next)) && (at == 0 || !is_word(text[at - 1].value) || text[at - 1].value == '_');
    case '`': return true;
    case '[': return after_brackets(text, at) == at;
    case '!':
    case '\\': return last;
    case '<': return last || is_word(next);
    case '&': {
      for (std::size_t i = at + 1; i < text.size(); ++i) {
        if (!is_word(text[i].value) && text[i].value != '#') return false;
      }
      return true;
    }
    default: return false;
  }
}

}  // namespace

InlineText render_inline(std::string_view line, Style base) {
  // A heading of one line holds spans and nothing else, whatever the line begins with.
  std::string source = "# " + std::string(line);
  const std::size_t end = source.find_last_not_of(" \t");
  const bool guarded = end != std::string::npos && source[end] == '#';
  if (guarded) source += kEndMarkText;
  Collector collected = parse(source, base);
  InlineText out;
  out.text = std::move(collected.text);
  if (guarded) {
    while (!out.text.empty() && (out.text.back().value == kEndMark || is_space(out.text.back().value)))
      out.text.pop_back();
  }
  for (; out.stable < out.text.size(); ++out.stable) {
    if (!collected.literal[out.stable] || !may_become_marker(out.text, out.stable)) continue;
    break;
  }
  // A marker that ends the line may grow: "*a*" becomes "*a**b".
  constexpr std::string_view kGrowing = "*_~`";
  if (!line.empty() && kGrowing.find(line.back()) != kGrowing.npos) out.stable = 0;
  return out;
}

std::vector<std::vector<StyledText>> render_table(std::string_view text) { return parse(text, kPlain).rows; }

}  // namespace millrace::screen
