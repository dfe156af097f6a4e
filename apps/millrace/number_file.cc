#include "number_file.h"

#include <nlohmann/json.hpp>

#include "base/env.h"

namespace millrace::app {

nlohmann::json read_number_file(const std::string& path) {
  constexpr std::uint64_t kMaxBytes = 1 << 20;
  const std::string text = read_file(Env::system(), path, kMaxBytes).or_throw();
  auto object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object()) throw_load_error(ErrorCode::kBadFile, path, "{}: expected a JSON object", path);
  return object;
}

double number_in(const nlohmann::json& object, const std::string& path, const char* name, const char* expected,
                 bool (*fits)(double number)) {
  const auto value = object.find(name);
  if (value != object.end() && value->is_number() && fits(value->get<double>())) return value->get<double>();
  throw_load_error(ErrorCode::kBadFile, name, "{}: {}: expected {}", path, name, expected);
}

}  // namespace millrace::app
