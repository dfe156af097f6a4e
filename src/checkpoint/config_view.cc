#include "checkpoint/config_view.h"

#include <cmath>

#include "base/error.h"
#include "checkpoint/quote_name.h"

namespace millrace::checkpoint {
namespace {

// A value of GGUF as one of JSON; arrays as null unless they hold something.
nlohmann::json as_json(const GgufValue& value) {
  return std::visit(
      [](const auto& v) -> nlohmann::json {
        if constexpr (requires { v.elements; }) {
          const bool empty = std::visit([](const auto& elements) { return elements.empty(); }, v.elements);
          return empty ? nlohmann::json() : nlohmann::json("an array");
        } else {
          return v;
        }
      },
      value);
}

bool says_nothing(const nlohmann::json& value) {
  if (value.is_number()) return value.get<double>() == 0.0;
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_string()) return value.get_ref<const std::string&>().empty();
  return value.empty();  // null, [] and {}
}

}  // namespace

ConfigView::ConfigView(const ConfigFile& config, std::string_view defaults)
    : config_(&config), read_{"architectures", "_name_or_path", "model_type"} {
  if (defaults.empty() || config.gguf) return;
  nlohmann::json filled = nlohmann::json::parse(defaults);
  for (const auto& [key, value] : config.json.items()) {
    // What the whole says of itself is not the text model's, of which the default is known.
    if (!config.whole_fields.contains(key) || !filled.contains(key)) filled[key] = value;
  }
  filled_ = std::make_shared<const nlohmann::json>(std::move(filled));
}

std::vector<std::string> ConfigView::spellings(const ConfigField& field) const {
  std::vector<std::string> names;
  for (const std::string_view name :
       config_->gguf ? std::span<const std::string_view>(field.gguf) : std::span<const std::string_view>(field.json)) {
    if (name.empty()) continue;
    const bool whole = !config_->gguf || name.front() == ':';
    names.push_back(whole ? std::string(name.substr(config_->gguf ? 1 : 0))
                          : config_->architecture + "." + std::string(name));
  }
  return names;
}

bool ConfigView::is_there(const std::string& name) const {
  return config_->gguf ? config_->metadata.find(name) != nullptr : fields().find(name) != nullptr;
}

bool ConfigView::is_in_file(const std::string& name) const {
  return config_->gguf ? is_there(name) : JsonFields(config_->file, config_->json).find(name) != nullptr;
}

std::string ConfigView::find(const ConfigField& field) {
  std::string found;
  for (const std::string& name : spellings(field)) {
    read_.insert(name);
    if (found.empty() && is_there(name)) found = name;
  }
  return found;
}

std::string ConfigView::name_of(const ConfigField& field) const {
  const std::vector<std::string> names = spellings(field);
  for (const std::string& name : names) {
    if (is_there(name)) return name;
  }
  return names.empty() ? std::string(config_->gguf ? field.json[0] : field.gguf[0]) : names[0];
}

std::string ConfigView::quoted(const ConfigField& field) const {
  return config_->gguf ? "key " + quote_name(name_of(field)) : name_of(field);
}

void ConfigView::missing(const ConfigField& field) const {
  throw_load_error(ErrorCode::kBadFile, name_of(field), "{}: required {}{} is missing", file(),
                   config_->gguf ? "" : "field ", quoted(field));
}

void ConfigView::unsupported(const ConfigField& field, std::string_view why) const {
  throw_load_error(ErrorCode::kUnsupported, name_of(field), "{}: {}: {}", file(), quoted(field), why);
}

void ConfigView::bad_value(const ConfigField& field, std::string_view what) const {
  throw_load_error(ErrorCode::kBadFile, name_of(field), "{}: {}: {}", file(), quoted(field), what);
}

bool ConfigView::has(const ConfigField& field) { return !find(field).empty(); }

bool ConfigView::is_list(const ConfigField& field) {
  const std::string name = find(field);
  if (name.empty()) return false;
  return config_->gguf ? std::holds_alternative<GgufArray>(*config_->metadata.find(name))
                       : fields().find(name)->is_array();
}

void ConfigView::check_range(const ConfigField& field, std::int64_t value, IntegerRange range) const {
  if (value >= range.low && value <= range.high) return;
  bad_value(field, fmt::format("expected {} to {}, found {}", range.low, range.high, value));
}

std::optional<std::int64_t> ConfigView::integer(const ConfigField& field, IntegerRange range) {
  const std::string name = find(field);
  if (name.empty()) return std::nullopt;
  const auto value = config_->gguf ? config_->metadata.uniform_integer(name) : fields().integer(name);
  if (value) check_range(field, *value, range);
  return value;
}

std::int64_t ConfigView::required_integer(const ConfigField& field, IntegerRange range) {
  if (const auto value = integer(field, range)) return *value;
  missing(field);
}

std::optional<double> ConfigView::number(const ConfigField& field) {
  const std::string name = find(field);
  if (name.empty()) return std::nullopt;
  return config_->gguf ? config_->metadata.number(name) : fields().number(name);
}

std::optional<double> ConfigView::positive_number(const ConfigField& field) {
  const auto value = number(field);
  if (value && !(std::isfinite(*value) && *value > 0.0)) {
    bad_value(field, fmt::format("expected a positive number, found {}", *value));
  }
  return value;
}

double ConfigView::required_positive_number(const ConfigField& field) {
  if (const auto value = positive_number(field)) return *value;
  missing(field);
}

std::optional<bool> ConfigView::boolean(const ConfigField& field) {
  const std::string name = find(field);
  if (name.empty()) return std::nullopt;
  return config_->gguf ? config_->metadata.boolean(name) : fields().boolean(name);
}

std::optional<std::string> ConfigView::text(const ConfigField& field) {
  const std::string name = find(field);
  if (name.empty()) return std::nullopt;
  return config_->gguf ? config_->metadata.text(name) : fields().text(name);
}

std::optional<std::vector<bool>> ConfigView::booleans(const ConfigField& field) {
  const std::string name = find(field);
  if (name.empty() || !config_->gguf) return std::nullopt;
  const GgufValue& value = *config_->metadata.find(name);
  const auto* array = std::get_if<GgufArray>(&value);
  const auto* elements = array == nullptr ? nullptr : std::get_if<std::vector<bool>>(&array->elements);
  if (elements != nullptr) return *elements;
  const auto is_integer = [](const auto& all) {
    return std::is_integral_v<typename std::decay_t<decltype(all)>::value_type>;
  };
  if (array == nullptr || !std::visit(is_integer, array->elements)) {
    unsupported(field, fmt::format("expected array of bool, found {}", gguf_type_name(value)));
  }
  std::vector<bool> flags;
  for (const std::int64_t flag : config_->metadata.integers(name)) {
    check_range(field, flag, {0, 1});
    flags.push_back(flag == 1);
  }
  return flags;
}

const nlohmann::json* ConfigView::json(const ConfigField& field) {
  const std::string name = find(field);
  return name.empty() || config_->gguf ? nullptr : fields().find(name);
}

std::optional<JsonFields> ConfigView::object(const ConfigField& field) {
  const std::string name = find(field);
  if (name.empty() || config_->gguf) return std::nullopt;
  return fields().object(name);
}

std::optional<std::vector<std::int64_t>> ConfigView::integers(const ConfigField& field, std::int64_t n,
                                                              IntegerRange range) {
  const std::string name = find(field);
  if (name.empty()) return std::nullopt;
  std::vector<std::int64_t> values;
  if (config_->gguf) {
    values = config_->metadata.integers(name);
  } else if (const nlohmann::json& value = *fields().find(name); value.is_array()) {
    for (const nlohmann::json& element : value) {
      const auto number = whole_number(element);
      if (!number) bad_value(field, std::string("expected integers, found ") + element.type_name());
      values.push_back(*number);
    }
  } else {
    values.push_back(*fields().integer(name));
  }
  if (!is_list(field)) values.resize(static_cast<std::size_t>(n), values.front());
  if (std::ssize(values) != n) bad_value(field, fmt::format("{} entries for {} layers", values.size(), n));
  for (const std::int64_t value : values) check_range(field, value, range);
  return values;
}

std::optional<std::vector<double>> ConfigView::numbers(const ConfigField& field) {
  const std::string name = find(field);
  if (name.empty()) return std::nullopt;
  if (config_->gguf) {
    const auto floats = config_->metadata.floats(name);
    return floats ? std::optional(std::vector<double>(floats->begin(), floats->end())) : std::nullopt;
  }
  return fields().numbers(name);
}

bool ConfigView::is_neutral(const std::string& name, std::string_view neutral) const {
  if (neutral == "*") return true;
  const nlohmann::json value = config_->gguf ? as_json(*config_->metadata.find(name)) : *fields().find(name);
  return neutral.empty() ? says_nothing(value) : value.is_null() || value == nlohmann::json::parse(neutral);
}

void ConfigView::check_unread(std::span<const ConfigField> known) const {
  for (const ConfigField& field : known) {
    for (const std::string& name : spellings(field)) {
      if (read_.contains(name) || !is_in_file(name) || is_neutral(name, field.neutral)) continue;
      throw_load_error(ErrorCode::kUnsupported, name,
                       "{}: {}{}: a {} model does not have this, and other models change by it", file(),
                       config_->gguf ? "key " : "", config_->gguf ? quote_name(name) : name, config_->architecture);
    }
  }
}

std::vector<std::string> ConfigView::unread() const {
  std::set<std::string> names;
  for (const auto& [key, value] : config_->metadata.entries()) {
    if (!key.starts_with("general.") && !key.starts_with("quantize.")) names.insert(key);  // how the file came about
  }
  for (const auto& [key, value] : config_->json.items()) names.insert(key);
  std::erase_if(names, [&](const std::string& name) { return read_.contains(name) || !is_in_file(name); });
  return {names.begin(), names.end()};
}

}  // namespace millrace::checkpoint
