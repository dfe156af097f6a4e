#include "server/billing_header.h"

#include <algorithm>

#include "base/log.h"

namespace millrace::server {
namespace {

constexpr std::string_view kName = "x-anthropic-billing-header:";

// "cch=e90a5", with spaces before it.
bool is_pair(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::size_t mark = text.find('=');
  return mark != 0 && mark != std::string_view::npos && text.find(' ') == std::string_view::npos;
}

}  // namespace

std::size_t billing_header_bytes(std::string_view system) {
  if (!system.starts_with(kName)) return 0;
  const std::size_t end = std::min(system.find('\n'), system.size());
  std::string_view rest = system.substr(kName.size(), end - kName.size());
  rest = rest.substr(0, rest.find_last_not_of(" \r") + 1);
  if (rest.ends_with(';')) rest.remove_suffix(1);
  for (std::size_t at = 0; at <= rest.size();) {
    const std::size_t mark = std::min(rest.find(';', at), rest.size());
    if (!is_pair(rest.substr(at, mark - at))) return 0;
    at = mark + 1;
  }
  return std::min(end + 1, system.size());
}

void BillingHeaders::settle(std::string_view header, std::string& system) {
  if (header.empty()) return;
  if (keep_) {
    system.insert(0, header);
    return;
  }
  std::call_once(said_, [] {
    log::info(
        "x-anthropic-billing-header is kept out of system prompts: it changes with each turn, and nothing after it "
        "would be found in the cache (--keep-billing-header leaves it in)");
  });
}

}  // namespace millrace::server
