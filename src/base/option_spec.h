#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

namespace millrace {

// One option of an entry of a table: of a logits processor, a scheduling policy, a drafter. It stands in the entry's
// own file; validation, flags, fields of the API and their documents come from it. Texts are literals.
struct OptionSpec {
  enum class Kind { kNumber, kWhole, kSwitch, kText };

  std::string_view name;        // "xtc_threshold", "ngram_max"; unique among the entries of all tables
  std::string_view alias = {};  // another name of the field in requests, llama-server's
  std::string_view flags = {};  // as CLI11 takes them; empty: "--" and the name with dashes
  Kind kind = Kind::kNumber;
  double low = 0.0, high = 0.0;  // of kNumber and kWhole
  bool above_low = false;        // low itself is outside
  double neutral = 0.0;          // the default; of a switch 0 or 1, of a text it is empty
  std::string_view rule = {};    // the range in words; empty: made of the bounds
  std::string_view help;         // can be understood alone

  bool in_range(double value) const noexcept;  // false for NaN
  std::string range() const;                   // "between 0 and 1"
  std::string flag_names() const;              // "--typical-p,--typical"
  std::string flag_name() const;               // the first of them, without dashes: "typical-p"
  // kInvalidArgument naming the option as `field`, the value and the limit.
  Result<void> check(std::string_view field, double value) const;
};

inline constexpr double kMaxOptionCount = 2147483647.0;  // the highest count of tokens that an option takes

// Values of options, by name. An option without a value has its neutral one.
class OptionValues {
 public:
  OptionValues& set(std::string_view name, double value);
  OptionValues& set(std::string_view name, std::string value);

  bool has(std::string_view name) const { return values_.contains(name); }
  std::optional<double> find(std::string_view name) const;  // nothing: has none, or a text
  double number(const OptionSpec& option) const;
  std::int64_t whole(const OptionSpec& option) const { return static_cast<std::int64_t>(number(option)); }
  bool on(const OptionSpec& option) const { return number(option) != 0.0; }
  std::string text(const OptionSpec& option) const;
  // kInvalidArgument naming the flag, the value and the limit of the first that is out of range.
  Result<void> check(std::span<const OptionSpec> options) const;

  using Map = std::map<std::string, std::variant<double, std::string>, std::less<>>;
  Map& values() noexcept { return values_; }  // to be written and read as a whole

 private:
  Map values_;
};

}  // namespace millrace
