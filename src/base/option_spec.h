#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

namespace millrace {

// One option of an entry in a table, such as a logits processor, a scheduling policy or a drafter. It is defined in the
// entry's own file; validation, flags, fields of the API and their documentation are derived from it. Texts are
// literals.
struct OptionSpec {
  enum class Kind { kNumber, kWhole, kSwitch, kText };

  std::string_view name;        // "xtc_threshold", "ngram_max"; unique among all tables
  std::string_view alias = {};  // another name of the field in requests (llama-server's)
  std::string_view flags = {};  // in CLI11's form; empty: "--" and the name with dashes
  Kind kind = Kind::kNumber;
  double low = 0.0, high = 0.0;  // bounds of kNumber and kWhole
  bool above_low = false;        // low itself is excluded
  double neutral = 0.0;          // the default; 0 or 1 for a switch; a text's default is ""
  std::string_view rule = {};    // the range in words; empty: derived from the bounds
  std::string_view help;         // must be understandable alone

  bool in_range(double value) const noexcept;  // false for NaN
  std::string range() const;                   // "between 0 and 1"
  std::string flag_names() const;              // "--typical-p,--typical"
  std::string flag_name() const;               // the first of them, without dashes: "typical-p"
  // kInvalidArgument naming the option as `field`, the value and the limit, if it is out of range.
  Result<void> check(std::string_view field, double value) const;
};

inline constexpr double kMaxOptionCount = 2147483647.0;  // upper bound of options that are token counts

// Values of options by name. An option without a value has its neutral one.
class OptionValues {
 public:
  OptionValues& set(std::string_view name, double value);
  OptionValues& set(std::string_view name, std::string value);

  bool has(std::string_view name) const { return values_.contains(name); }
  std::optional<double> find(std::string_view name) const;  // nothing: it has no value, or a text
  double number(const OptionSpec& option) const;
  std::int64_t whole(const OptionSpec& option) const { return static_cast<std::int64_t>(number(option)); }
  bool on(const OptionSpec& option) const { return number(option) != 0.0; }
  std::string text(const OptionSpec& option) const;
  // kInvalidArgument naming the flag, the value and the limit of the first option that is out of range. Texts are not
  // checked.
  Result<void> check(std::span<const OptionSpec> options) const;

  using Map = std::map<std::string, std::variant<double, std::string>, std::less<>>;
  Map& values() noexcept { return values_; }  // to be written and read as a whole

 private:
  Map values_;
};

}  // namespace millrace
