#include "base/json.h"

#include <algorithm>
#include <unordered_set>

namespace millrace {

Result<Json> parse_json(std::string_view text) {
  // The parser takes a zero byte for the end of the text, and would not look at what follows.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return make_error(ErrorCode::kInvalidArgument, "body", "the body is not valid JSON (byte {})", zero + 1);
  }
  std::vector<std::unordered_set<std::string>> keys;  // of the objects that are open
  std::string problem;
  const auto reject = [&](std::string what) {
    problem = std::move(what);
    throw std::length_error("");
  };
  const auto look = [&](int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= JsonLimits::kDepth) reject(fmt::format("the body nests deeper than {}", JsonLimits::kDepth));
    }
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key) {
      auto& mine = keys.back();
      if (mine.size() >= JsonLimits::kKeys) {
        reject(fmt::format("an object of the body has more than {} keys", JsonLimits::kKeys));
      }
      if (!mine.insert(parsed.get_ref<const std::string&>()).second) reject("a key of the body comes twice");
    }
    return true;
  };
  try {
    return Json::parse(text, look);
  } catch (const nlohmann::json::parse_error& error) {
    return make_error(ErrorCode::kInvalidArgument, "body", "the body is not valid JSON (byte {})", error.byte);
  } catch (const nlohmann::json::exception&) {
    return make_error(ErrorCode::kInvalidArgument, "body", "the body is not valid JSON: a number is out of range");
  } catch (const std::length_error&) {
    return Error{ErrorCode::kInvalidArgument, "body", problem};
  }
}

std::size_t characters(std::string_view text) noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string json_string(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string dumped(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace millrace
