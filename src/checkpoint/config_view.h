#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/config_file.h"
#include "checkpoint/json_fields.h"

namespace millrace::checkpoint {

inline constexpr std::int64_t kMaxCount = (std::int64_t{1} << 31) - 1;

// A field under all its names. Where several spellings are there, the first one listed counts.
struct ConfigField {
  std::array<std::string_view, 3> json = {};  // in config.json
  std::array<std::string_view, 3> gguf = {};  // in GGUF, behind "<architecture>."
  // The JSON value that changes nothing; "*": every value does not; empty: false, 0 and what is empty.
  std::string_view neutral = {};
};

struct IntegerRange {
  std::int64_t low = INT64_MIN, high = INT64_MAX;
};
inline constexpr IntegerRange kCounts{1, kMaxCount};

// Typed, aliased and range-checked reading of a ConfigFile, the same for both containers. Remembers what was asked for,
// so that fields that were not understood can be named. A value of another type or outside its range is a LoadError
// that names file, field (as that file spells it), limit and value. Borrows the file; one thread.
class ConfigView {
 public:
  explicit ConfigView(const ConfigFile& config)
      : config_(&config), read_{"architectures", "_name_or_path", "model_type"} {}

  bool gguf() const noexcept { return config_->gguf; }
  const ConfigFile& config() const noexcept { return *config_; }
  const std::string& file() const noexcept { return config_->file; }

  bool has(const ConfigField& field);
  // An integer; in GGUF also an array of equal ones, a layer each.
  std::optional<std::int64_t> integer(const ConfigField& field, IntegerRange range = {});
  std::int64_t required_integer(const ConfigField& field, IntegerRange range = {});
  std::optional<double> number(const ConfigField& field);           // may be infinite or NaN
  std::optional<double> positive_number(const ConfigField& field);  // finite, above 0
  double required_positive_number(const ConfigField& field);
  std::optional<bool> boolean(const ConfigField& field);
  std::optional<std::string> text(const ConfigField& field);
  std::optional<std::vector<bool>> booleans(const ConfigField& field);  // GGUF: an array of bool
  const nlohmann::json* json(const ConfigField& field);                 // null: not there, or GGUF
  std::optional<JsonFields> object(const ConfigField& field);           // nothing in GGUF

  // Stops the load over that field, kUnsupported or kBadFile.
  [[noreturn]] void unsupported(const ConfigField& field, std::string_view why) const;
  [[noreturn]] void bad_value(const ConfigField& field, std::string_view what) const;
  // The field's name in this file: "hidden_size", "llama.embedding_length".
  std::string name_of(const ConfigField& field) const;

  // Throws kUnsupported naming the first of `known` that is there, says something and was not asked for.
  void check_unread(std::span<const ConfigField> known) const;
  // What is there and was not asked for, as the file spells it, sorted.
  std::vector<std::string> unread() const;

 private:
  std::string find(const ConfigField& field);  // marks it as read; empty: not there
  bool is_there(const std::string& name) const;
  bool is_neutral(const std::string& name, std::string_view neutral) const;
  void check_range(const ConfigField& field, std::int64_t value, IntegerRange range) const;
  [[noreturn]] void missing(const ConfigField& field) const;
  JsonFields fields() const { return JsonFields(config_->file, config_->json); }
  std::vector<std::string> spellings(const ConfigField& field) const;
  std::string quoted(const ConfigField& field) const;  // as messages have it

  const ConfigFile* config_;
  std::set<std::string> read_;
};

}  // namespace millrace::checkpoint
