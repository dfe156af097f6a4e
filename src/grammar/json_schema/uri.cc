#include "grammar/json_schema/uri.h"

#include <algorithm>
#include <vector>

namespace millrace::grammar::json_schema {
namespace {

// "http" of "http://host/path": where the scheme ends, or npos.
std::size_t scheme_end(std::string_view uri) {
  const std::size_t at = uri.find_first_of(":/?");
  return at != std::string_view::npos && at > 0 && uri[at] == ':' ? at : std::string_view::npos;
}

// Where the path begins: after "scheme://host".
std::size_t path_begin(std::string_view uri) {
  std::size_t at = scheme_end(uri);
  at = at == std::string_view::npos ? 0 : at + 1;
  if (!uri.substr(at).starts_with("//")) return at;
  return std::min(uri.find('/', at + 2), uri.size());
}

std::string without_dots(std::string_view path) {
  std::vector<std::string_view> kept;
  const bool rooted = path.starts_with('/');
  if (rooted) path.remove_prefix(1);
  bool directory = false;
  while (true) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    directory = part == "." || part == "..";
    if (part == ".." && !kept.empty()) kept.pop_back();
    if (!directory) kept.push_back(part);
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  if (directory) kept.emplace_back();
  std::string made = rooted ? "/" : "";
  for (std::size_t i = 0; i < kept.size(); ++i) made += (i > 0 ? "/" : "") + std::string(kept[i]);
  return made;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string resolve_uri(std::string_view base, std::string_view reference) {
  if (reference.empty()) return std::string(base);
  if (scheme_end(reference) != std::string_view::npos) return std::string(reference);
  const std::size_t scheme = scheme_end(base);
  if (reference.starts_with("//")) {
    return std::string(base.substr(0, scheme == std::string_view::npos ? 0 : scheme + 1)) + std::string(reference);
  }
  const std::size_t begin = path_begin(base);
  const std::string_view path = base.substr(begin, base.find('?', begin) - begin);
  std::string merged(reference);
  if (!reference.starts_with('/')) {
    const std::size_t slash = path.rfind('/');
    merged =
        (slash == std::string_view::npos ? (begin > 0 ? "/" : "") : std::string(path.substr(0, slash + 1))) + merged;
  }
  return std::string(base.substr(0, begin)) + without_dots(merged);
}

std::pair<std::string_view, std::string_view> split_fragment(std::string_view uri) {
  const std::size_t at = uri.find('#');
  if (at == std::string_view::npos) return {uri, {}};
  return {uri.substr(0, at), uri.substr(at + 1)};
}

std::string percent_decoded(std::string_view text) {
  std::string made;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && text.size() - i > 2 ? hex_value(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_value(text[i + 2]) : -1;
    if (low >= 0) i += 2;
    made.push_back(low >= 0 ? static_cast<char>(high * 16 + low) : text[i]);
  }
  return made;
}

}  // namespace millrace::grammar::json_schema
