#include "simulator/traffic.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/counter_rng.h"
#include "engine/load/random_prompt.h"
#include "metrics/token_range.h"

namespace millrace::simulator {
namespace {

constexpr std::uint64_t kInputStream = 0, kOutputStream = 1, kGapStream = 2, kTenantStream = 3;
constexpr double kMaxSeconds = 1e9;

template <typename T>
std::optional<T> parse_number(std::string_view text, T least, T most) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most)) {
    return std::nullopt;
  }
  return value;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// What stands before `mark`, which goes too; all if there is none.
std::string_view take_until(std::string_view& text, char mark) {
  const std::size_t at = text.find(mark);
  const std::string_view part = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return part;
}

struct Spec {
  std::int64_t requests = 100, prefix = 0, tenants = 1, seed = 0;
  double rate = 1.0;
  metrics::TokenRange input{128, 128}, output{64, 64};
};

Result<void> set_part(Spec& spec, std::string_view name, std::string_view value) {
  const auto wrong = [&](const char* expected) {
    return make_error(ErrorCode::kInvalidArgument, "workload", "workload: {} is '{}': expected {}", name, value,
                      expected);
  };
  if (name == "input" || name == "output") {
    auto range = metrics::parse_token_range(name, value);
    if (!range) return range.error();
    (name == "input" ? spec.input : spec.output) = *range;
  } else if (name == "requests") {
    const auto n = parse_number<std::int64_t>(value, 1, kMaxArrivals);
    if (!n) return wrong("1 to 1000000");
    spec.requests = *n;
  } else if (name == "rate") {
    const auto rate = parse_number<double>(value, 0.0, 1e6);
    if (!rate) return wrong("requests a second, at most 1e6");
    spec.rate = *rate;
  } else if (name == "prefix") {
    const auto n = parse_number<std::int64_t>(value, 0, metrics::kMaxTokens);
    if (!n) return wrong("a number of tokens");
    spec.prefix = *n;
  } else if (name == "tenants") {
    const auto n = parse_number<std::int64_t>(value, 1, 1'000'000);
    if (!n) return wrong("1 to 1000000");
    spec.tenants = *n;
  } else if (name == "seed") {
    const auto n = parse_number<std::int64_t>(value, 0, std::int64_t{1} << 60);
    if (!n) return wrong("a number");
    spec.seed = *n;
  } else {
    return make_error(ErrorCode::kInvalidArgument, "workload",
                      "workload: unknown part '{}': expected requests, rate, input, output, prefix, tenants or seed",
                      name);
  }
  return {};
}

// A field of a trace's line, by name: text of CSV, or whatever JSON holds.
Result<void> set_field(Arrival& arrival, std::size_t line, std::string_view name, std::string_view value) {
  const auto count = [&](std::int64_t least, auto& field) -> Result<void> {
    const auto n = parse_number<std::int64_t>(value, least, metrics::kMaxTokens);
    if (!n) {
      return make_error(ErrorCode::kBadFile, std::string(name), "line {}: {} is '{}': expected {} to {}", line, name,
                        value, least, metrics::kMaxTokens);
    }
    field = static_cast<std::remove_reference_t<decltype(field)>>(*n);
    return {};
  };
  if (name == "prompt_tokens") return count(1, arrival.prompt_tokens);
  if (name == "output_tokens") return count(1, arrival.output_tokens);
  if (name == "tenant") return count(0, arrival.tenant);
  if (name == "prefix_group") return count(-1, arrival.prefix_group);
  if (name == "prefix_tokens") return count(0, arrival.prefix_tokens);
  if (name != "arrival_s") return {};
  const auto seconds = parse_number<double>(value, 0.0, kMaxSeconds);
  if (!seconds) {
    return make_error(ErrorCode::kBadFile, "arrival_s", "line {}: arrival_s is '{}': expected seconds from 0 to 1e9",
                      line, value);
  }
  arrival.seconds = *seconds;
  return {};
}

constexpr std::string_view kNeeded[] = {"arrival_s", "prompt_tokens", "output_tokens"};

Result<void> missing(std::size_t line, std::string_view name) {
  return make_error(ErrorCode::kBadFile, std::string(name), "line {}: {} is missing", line, name);
}

Result<Arrival> parse_json_line(std::string_view text, std::size_t line) {
  const auto object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object()) {
    return make_error(ErrorCode::kBadFile, "", "line {}: expected a JSON object", line);
  }
  Arrival arrival;
  for (const std::string_view name : kNeeded) {
    if (!object.contains(name)) return missing(line, name).error();
  }
  for (const auto& [name, value] : object.items()) {
    if (auto set = set_field(arrival, line, name, value.dump()); !set) return set.error();
  }
  return arrival;
}

Result<Arrival> parse_csv_line(std::string_view text, std::size_t line, const std::vector<std::string>& columns) {
  Arrival arrival;
  for (const std::string& name : columns) {
    const std::string_view value = trim(take_until(text, ','));
    const bool needed = std::ranges::find(kNeeded, name) != std::end(kNeeded);
    if (value.empty() && !needed) continue;
    if (auto set = set_field(arrival, line, name, value); !set) return set.error();
  }
  return arrival;
}

}  // namespace

Result<std::vector<Arrival>> parse_workload(std::string_view text) {
  Spec spec;
  while (!text.empty()) {
    std::string_view value = take_until(text, ',');
    const std::string_view name = take_until(value, '=');
    if (auto set = set_part(spec, trim(name), trim(value)); !set) return set.error();
  }
  const auto seed = static_cast<std::uint64_t>(spec.seed);
  std::vector<Arrival> arrivals(static_cast<std::size_t>(spec.requests));
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    arrivals[i].prompt_tokens = spec.prefix + metrics::sample(spec.input, seed, i, kInputStream);
    arrivals[i].output_tokens = metrics::sample(spec.output, seed, i, kOutputStream);
    arrivals[i].tenant = static_cast<std::uint32_t>(metrics::sample({0, spec.tenants - 1}, seed, i, kTenantStream));
    if (spec.prefix > 0) arrivals[i].prefix_group = 0;
    arrivals[i].prefix_tokens = spec.prefix;
  }
  set_rate(arrivals, spec.rate, seed);
  return arrivals;
}

void set_rate(std::vector<Arrival>& arrivals, double rate, std::uint64_t seed) {
  double seconds = 0.0;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    arrivals[i].seconds = seconds;
    if (rate > 0.0) seconds += -std::log(rng::uniform(seed, i, kGapStream)) / rate;
  }
}

Result<std::vector<Arrival>> parse_trace(std::string_view text) {
  std::vector<Arrival> arrivals;
  std::vector<std::string> columns;
  for (std::size_t line = 1; !text.empty(); ++line) {
    std::string_view row = trim(take_until(text, '\n'));
    if (row.empty()) continue;
    if (row.front() != '{' && columns.empty()) {
      while (!row.empty()) columns.emplace_back(trim(take_until(row, ',')));
      for (const std::string_view name : kNeeded) {
        if (std::ranges::find(columns, name) == columns.end()) return missing(line, name).error();
      }
      continue;
    }
    auto arrival = row.front() == '{' ? parse_json_line(row, line) : parse_csv_line(row, line, columns);
    if (!arrival) return arrival.error();
    if (arrival->prefix_group >= 0 && arrival->prefix_tokens == 0) arrival->prefix_tokens = arrival->prompt_tokens / 2;
    arrival->prefix_tokens = std::min(arrival->prefix_tokens, arrival->prompt_tokens);
    arrivals.push_back(*arrival);
    if (static_cast<std::int64_t>(arrivals.size()) > kMaxArrivals) {
      return make_error(ErrorCode::kBadFile, "", "line {}: more than {} requests", line, kMaxArrivals);
    }
  }
  if (arrivals.empty()) return make_error(ErrorCode::kBadFile, "", "no requests");
  std::ranges::stable_sort(arrivals, {}, &Arrival::seconds);
  return arrivals;
}

std::vector<std::int32_t> prompt_of(const Arrival& arrival, std::uint64_t index, std::int64_t vocabulary) {
  constexpr std::uint64_t kGroupSeed = 0x67726f7570;  // groups have a text each, all requests one of their own
  auto prompt = engine::load::random_prompt(arrival.prompt_tokens, vocabulary, 0, index);
  if (arrival.prefix_group < 0) return prompt;
  const auto shared = engine::load::random_prompt(arrival.prefix_tokens, vocabulary, kGroupSeed,
                                                  static_cast<std::uint64_t>(arrival.prefix_group));
  std::ranges::copy(shared, prompt.begin());
  return prompt;
}

}  // namespace millrace::simulator
