#include "hub/repository_file.h"

#include <algorithm>

namespace millrace::hub {

bool is_safe_file_name(std::string_view name) {
  constexpr std::size_t kMaxBytes = 512, kMaxPartBytes = 255;
  constexpr int kMaxParts = 8;
  if (name.empty() || name.size() > kMaxBytes) return false;
  const auto forbidden = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '\\' || c == ':';
  };
  if (std::ranges::any_of(name, forbidden)) return false;
  for (int parts = 1;; ++parts) {
    const std::size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (parts > kMaxParts || part.empty() || part == "." || part == ".." || part.size() > kMaxPartBytes) return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

bool is_safe_etag(std::string_view etag) {
  return !etag.empty() && etag.size() <= 128 && etag.front() != '.' && std::ranges::all_of(etag, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

std::string normalized_etag(std::string_view header) {
  if (header.starts_with("W/")) header.remove_prefix(2);
  if (header.size() >= 2 && header.front() == '"' && header.back() == '"') header = header.substr(1, header.size() - 2);
  return std::string(header);
}

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace millrace::hub
