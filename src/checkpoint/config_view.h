#pragma once

#include <array>
#include <cstdint>
#include <memory>
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

// A field with all its names. If a file has several of them, the first one listed here is used.
struct ConfigField {
  std::array<std::string_view, 7> json = {};  // in config.json
  std::array<std::string_view, 3> gguf = {};  // in GGUF, after "<architecture>."; after ":" a whole key
  // The value, as JSON, that has no effect. "*": any value has no effect; empty: false, 0 and empty values have none.
  std::string_view neutral = {};
};

struct IntegerRange {
  std::int64_t low = INT64_MIN, high = INT64_MAX;
};
inline constexpr IntegerRange kCounts{1, kMaxCount};

// Typed and range-checked reading of a ConfigFile under all names of a field, for both containers. It records which
// fields were read, so that others can be reported. A value of another type or outside its range is a LoadError naming
// file, field (as spelled there), limit and value. One thread; the file must outlive it.
class ConfigView {
 public:
  explicit ConfigView(const ConfigFile& config) : ConfigView(config, "") {}
  // `defaults`: a JSON object with the values of fields that config.json leaves out, as the class of the model has
  // them; empty = none. GGUF has all it needs.
  ConfigView(const ConfigFile& config, std::string_view defaults);

  // Whether names and orders are GGUF's.
  bool gguf() const noexcept { return spelled_as_gguf_.value_or(config_->gguf); }
  // From now on they are those that the same model has in a GGUF file, or in Hugging Face's files. Fields are read as
  // before.
  void spell_as(bool gguf) noexcept { spelled_as_gguf_ = gguf; }
  const ConfigFile& config() const noexcept { return *config_; }
  const std::string& file() const noexcept { return config_->file; }

  bool has(const ConfigField& field);
  bool is_list(const ConfigField& field);  // a list in config.json, an array in GGUF
  // An integer; in GGUF also an array of equal integers, one for each layer.
  std::optional<std::int64_t> integer(const ConfigField& field, IntegerRange range = {});
  std::int64_t required_integer(const ConfigField& field, IntegerRange range = {});
  std::optional<double> number(const ConfigField& field);           // may be infinite or NaN
  std::optional<double> positive_number(const ConfigField& field);  // finite, above 0
  double required_positive_number(const ConfigField& field);
  std::optional<bool> boolean(const ConfigField& field);
  std::optional<std::string> text(const ConfigField& field);
  std::optional<std::vector<bool>> booleans(const ConfigField& field);  // GGUF: an array of bool, or of 0 and 1
  // One integer a layer, `n` in all: a list or, in GGUF, an array; of one integer, n times it.
  std::optional<std::vector<std::int64_t>> integers(const ConfigField& field, std::int64_t n, IntegerRange range);
  std::optional<std::vector<double>> numbers(const ConfigField& field);  // a list or array of finite numbers
  const nlohmann::json* json(const ConfigField& field);                  // null: absent, or the file is GGUF
  std::optional<JsonFields> object(const ConfigField& field);            // nothing in GGUF

  // Throw a LoadError about that field: unsupported() kUnsupported, bad_value() kBadFile.
  [[noreturn]] void unsupported(const ConfigField& field, std::string_view why) const;
  [[noreturn]] void bad_value(const ConfigField& field, std::string_view what) const;
  // The field's name in this file: "hidden_size", "llama.embedding_length".
  std::string name_of(const ConfigField& field) const;

  // Throws kUnsupported naming the first field of `known` that is present, has an effect, and was not read.
  void check_unread(std::span<const ConfigField> known) const;
  // The names of fields that are present and were not read, sorted.
  std::vector<std::string> unread() const;

 private:
  std::string find(const ConfigField& field);    // marks it as read; empty: not there
  bool is_there(const std::string& name) const;  // in the file or among the defaults
  bool is_in_file(const std::string& name) const;
  bool is_neutral(const std::string& name, std::string_view neutral) const;
  void check_range(const ConfigField& field, std::int64_t value, IntegerRange range) const;
  [[noreturn]] void missing(const ConfigField& field) const;
  JsonFields fields() const { return JsonFields(config_->file, filled_ ? *filled_ : config_->json); }
  std::vector<std::string> spellings(const ConfigField& field) const;
  std::string quoted(const ConfigField& field) const;  // as messages have it

  const ConfigFile* config_;
  std::shared_ptr<const nlohmann::json> filled_;  // config.json with the defaults; null: there are none
  std::set<std::string> read_;
  std::optional<bool> spelled_as_gguf_;
};

}  // namespace millrace::checkpoint
