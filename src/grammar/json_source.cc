#include "grammar/json_source.h"

#include <set>
#include <vector>

#include "grammar/work_limits.h"

namespace millrace::grammar {

Result<nlohmann::ordered_json> parse_json_source(std::string_view what, const std::string& text) {
  using Json = nlohmann::ordered_json;
  using Event = Json::parse_event_t;
  std::vector<std::set<std::string>> names;  // of the open objects
  std::string twice;
  bool too_deep = false;
  const auto watch = [&](int depth, Event event, Json& parsed) {
    too_deep = too_deep || depth > kMaxJsonDepth;
    if (event == Event::object_start) names.emplace_back();
    if (event == Event::object_end) names.pop_back();
    if (event == Event::key && !names.back().insert(parsed.get<std::string>()).second) twice = parsed;
    return !too_deep;
  };
  Json json = Json::parse(text, watch, false);
  if (too_deep) return grammar_invalid("{} is nested deeper than {}", what, kMaxJsonDepth);
  if (json.is_discarded()) return grammar_invalid("{} is not JSON", what);
  if (!twice.empty()) return grammar_invalid("{} has the key \"{}\" twice in an object", what, twice);
  return json;
}

}  // namespace millrace::grammar
