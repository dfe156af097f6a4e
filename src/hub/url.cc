#include "hub/url.h"

#include <curl/curl.h>
#include <fmt/core.h>

#include <memory>

#include "base/lower_case.h"
#include "checkpoint/quote_name.h"
#include "hub/repository_file.h"

namespace millrace::hub {
namespace {

constexpr std::size_t kMaxUrlBytes = 16384;

using UrlHandle = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

std::string part(CURLU* handle, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(handle, which, &text, flags) != CURLUE_OK) return {};
  std::string out(text);
  curl_free(text);
  return out;
}

Result<Url> read_url(CURLU* handle, const std::string& text) {
  const std::string scheme = lower_case(part(handle, CURLUPART_SCHEME));
  if (scheme != "http" && scheme != "https") {
    return make_error(ErrorCode::kInvalidArgument, "url", "{}: an http or https address expected",
                      checkpoint::quote_name(text));
  }
  Url url;
  url.text = part(handle, CURLUPART_URL);
  url.secure = scheme == "https";
  url.origin = fmt::format("{}://{}:{}", scheme, lower_case(part(handle, CURLUPART_HOST)),
                           part(handle, CURLUPART_PORT, CURLU_DEFAULT_PORT));
  const std::string port = part(handle, CURLUPART_PORT);
  url.shown = fmt::format("{}://{}{}{}", scheme, part(handle, CURLUPART_HOST), port.empty() ? "" : ":" + port,
                          part(handle, CURLUPART_PATH));
  return url;
}

Result<Url> set_and_read(CURLU* handle, const std::string& text) {
  if (text.size() > kMaxUrlBytes || text.find('\0') != std::string::npos ||
      curl_url_set(handle, CURLUPART_URL, text.c_str(), CURLU_URLENCODE | CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK) {
    return make_error(ErrorCode::kInvalidArgument, "url", "{}: not an address", checkpoint::quote_name(text));
  }
  return read_url(handle, text);
}

}  // namespace

Result<Url> parse_url(const std::string& text) {
  const UrlHandle handle(curl_url(), &curl_url_cleanup);
  return set_and_read(handle.get(), text);
}

Result<Url> resolve_url(const Url& base, const std::string& location) {
  const UrlHandle handle(curl_url(), &curl_url_cleanup);
  if (auto set = set_and_read(handle.get(), base.text); !set) return set;
  return set_and_read(handle.get(), location);
}

std::string percent_encode(std::string_view text, Slashes slashes) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '_' || c == '.' || c == '~' || (c == '/' && slashes == Slashes::kKeep);
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace millrace::hub
