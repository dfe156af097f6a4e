#include "loadtest/foreign_json.h"

#include "base/strict_json.h"

namespace millrace::loadtest {

nlohmann::json parse_foreign_json(std::string_view text) {
  auto json = nlohmann::json::parse(text, nullptr, false);
  return json.is_discarded() ? nlohmann::json::parse(strict_json(text), nullptr, false) : json;
}

}  // namespace millrace::loadtest
