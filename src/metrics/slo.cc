#include "metrics/slo.h"

#include <fmt/core.h>

#include <charconv>

#include "base/error.h"

namespace millrace::metrics {
namespace {

struct Part {
  std::string_view name, label;
  double Slo::* ms;
};
constexpr Part kParts[] = {
    {"ttft", "ttft", &Slo::ttft_ms}, {"tpot", "tpot", &Slo::tpot_ms}, {"e2el", "latency", &Slo::latency_ms}};

// Cuts off what stands before the next mark; the mark is dropped.
std::string_view cut(std::string_view& rest, char mark) {
  const std::size_t end = std::min(rest.find(mark), rest.size());
  const std::string_view first = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return first;
}

// One "ttft:1000" into the objective.
Result<void> add(std::string_view flag, std::string_view pair, Slo& objective) {
  std::string_view value = pair;
  const std::string_view name = cut(value, ':');
  double ms = 0.0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), ms);
  const bool number = error == std::errc() && end == value.data() + value.size() && ms > 0.0 && ms < 1e9;
  for (const Part& part : kParts) {
    if (part.name != name || !number) continue;
    if (objective.*part.ms != 0.0) {
      return make_error(ErrorCode::kInvalidArgument, std::string(flag),
                        "{}: {} is there twice; a / begins the next objective", flag, name);
    }
    objective.*part.ms = ms;
    return {};
  }
  return make_error(ErrorCode::kInvalidArgument, std::string(flag),
                    "{}: '{}': expected ttft:MS, tpot:MS or e2el:MS with MS in (0, 1e9)", flag, pair);
}

}  // namespace

bool Slo::met(double ttft, double tpot, double latency) const noexcept {
  const auto within = [](double ms, double limit) { return limit == 0.0 || ms <= limit; };
  return within(ttft, ttft_ms) && within(tpot, tpot_ms) && within(latency, latency_ms);
}

std::string Slo::str() const {
  std::string out;
  for (const Part& part : kParts) {
    const double ms = this->*part.ms;
    if (ms > 0.0) out += fmt::format("{}{} {:g} ms", out.empty() ? "" : ", ", part.label, ms);
  }
  return out.empty() ? "any" : out;
}

Result<std::vector<Slo>> parse_slos(std::string_view flag, std::span<const std::string> words) {
  std::vector<Slo> objectives;
  Slo current;
  bool begun = false;
  for (const std::string& word : words) {
    if (word == "/" && begun) {
      objectives.push_back(std::exchange(current, {}));
      begun = false;
      continue;
    }
    std::string_view rest = word;
    // An empty word, or an empty part of one, is no pair: add() says what was expected.
    do {
      const std::size_t slash = rest.find('/');
      std::string_view pairs = cut(rest, '/');
      do {
        if (Result<void> added = add(flag, cut(pairs, ','), current); !added) return added.error();
        begun = true;
      } while (!pairs.empty());
      if (slash != std::string_view::npos) {
        objectives.push_back(std::exchange(current, {}));
        begun = false;
      }
    } while (!rest.empty());
  }
  if (begun) objectives.push_back(current);
  return objectives;
}

}  // namespace millrace::metrics
