#include "server/request_ids.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

namespace millrace::server {
namespace {

constexpr std::size_t kIdBytes = 128;

bool plain_id(std::string_view id) {
  return !id.empty() && id.size() <= kIdBytes && std::ranges::all_of(id, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  });
}

}  // namespace

std::string RequestIds::of(const http::Request& request) {
  const std::string_view given = request.headers.get("x-request-id");
  if (plain_id(given)) return std::string(given);
  std::uint64_t x = next_.fetch_add(0x9e3779b97f4a7c15u);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;  // splitmix64: no two alike, and none follows from the last at a glance
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return fmt::format("{:016x}", x ^ (x >> 31));
}

}  // namespace millrace::server
