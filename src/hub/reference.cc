#include "hub/reference.h"

#include <algorithm>

#include "checkpoint/quote_name.h"
#include "hub/model_address.h"

namespace millrace::hub {
namespace {

using checkpoint::quote_name;

constexpr std::size_t kMaxReferenceBytes = 4096;
constexpr std::size_t kMaxSelectorBytes = 512;
constexpr std::string_view kScheme = "hf://";

// Words between slashes, at most `limit` of them.
bool is_path_of_words(std::string_view text, int limit) {
  for (int words = 1;; ++words) {
    const std::size_t slash = text.find('/');
    if (words > limit || !is_word(text.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    text.remove_prefix(slash + 1);
  }
}

bool is_selector(std::string_view text) {
  return !text.empty() && text.size() <= kMaxSelectorBytes && std::ranges::none_of(text, [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == ':';
  });
}

Error invalid(std::string_view reference, std::string_view why) {
  return make_error(ErrorCode::kInvalidArgument, "model",
                    "model {}: {}; a directory, a .gguf file, or org/name[:quantization][@revision] expected",
                    quote_name(reference), why);
}

Error unsupported(std::string_view reference, std::string_view why) {
  return make_error(ErrorCode::kUnsupported, "model", "model {}: {}", quote_name(reference), why);
}

// Takes one ":selector" or "@revision" off the front of `rest`; an empty text = well done.
std::string_view take_part(std::string_view& rest, RepositoryReference& reference) {
  const char kind = rest.front();
  rest.remove_prefix(1);
  // A selector may name a file, so only what ends it is looked for; the same for a revision.
  const std::size_t end = std::min(rest.find(kind == ':' ? '@' : ':'), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end);
  if (kind == ':') {
    if (!reference.selector.empty()) return "two quantizations";
    if (!is_selector(part)) return "no quantization or file name after ':'";
    reference.selector = part;
    return {};
  }
  if (reference.names_revision) return "two revisions";
  if (!is_revision(part)) return "no branch, tag or commit after '@'";
  reference.names_revision = true;
  reference.revision = part;
  return {};
}

}  // namespace

std::string RepositoryReference::text() const {
  return name + (selector.empty() ? "" : ":" + selector) + (revision == kDefaultRevision ? "" : "@" + revision);
}

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= 96 && text.find("..") == std::string_view::npos && text.front() != '.' &&
         text.front() != '-' && std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                  c == '.';
         });
}

bool is_revision(std::string_view text) { return is_path_of_words(text, 8); }

bool is_commit(std::string_view text) {
  return text.size() == 40 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_path_reference(std::string_view text) {
  return text.starts_with('/') || text.starts_with('.') ||
         (text.ends_with(".gguf") && text.find(':') == std::string_view::npos && !path_on_hub(text));
}

Result<RepositoryReference> parse_reference(std::string_view text) {
  if (text.empty()) return invalid(text, "empty");
  if (text.size() > kMaxReferenceBytes) return invalid(text, "too long");
  if (const auto instead = other_source(text)) return unsupported(text, *instead);
  std::string_view rest = text;
  RepositoryReference reference;
  std::string of_page;
  if (rest.starts_with(kScheme)) {
    rest.remove_prefix(kScheme.size());
    reference.names_hub = true;
  } else if (const auto path = path_on_hub(rest)) {
    auto page = reference_of_page(*path);
    if (!page) return unsupported(text, page.error().message);
    rest = of_page = *std::move(page);
    reference.names_hub = true;
  }
  const std::size_t end = std::min(rest.find_first_of(":@"), rest.size());
  reference.name = rest.substr(0, end);
  rest.remove_prefix(end);
  // "--" stands for the slash in the cache's folder names; the hub does not allow it in names.
  if (!is_path_of_words(reference.name, 2) || reference.name.find("--") != std::string::npos) {
    return invalid(text, "not a name on the hub");
  }
  while (!rest.empty()) {
    if (const auto why = take_part(rest, reference); !why.empty()) return invalid(text, why);
  }
  return reference;
}

}  // namespace millrace::hub
