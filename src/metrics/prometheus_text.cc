#include "metrics/prometheus_text.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace millrace::metrics {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::optional<double> number(std::string_view text) {
  if (text == "+Inf" || text == "Inf") return kInfinity;
  if (text == "-Inf") return -kInfinity;
  if (text == "NaN" || text == "Nan") return std::nan("");
  double value = 0.0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Takes `{name="value",...}` off the front; false if that is not what stands there.
bool take_labels(std::string_view& rest, std::map<std::string, std::string>& labels) {
  rest.remove_prefix(1);
  while (!rest.empty() && rest.front() != '}') {
    const std::size_t equals = rest.find("=\"");
    if (equals == std::string_view::npos) return false;
    std::string& value = labels[std::string(rest.substr(0, equals))];
    rest.remove_prefix(equals + 2);
    while (!rest.empty() && rest.front() != '"') {
      if (rest.front() == '\\' && rest.size() > 1)
        rest.remove_prefix(1), value += rest.front() == 'n' ? '\n' : rest.front();
      else
        value += rest.front();
      rest.remove_prefix(1);
    }
    if (rest.empty()) return false;
    rest.remove_prefix(1);
    if (rest.starts_with(',')) rest.remove_prefix(1);
  }
  if (rest.empty()) return false;
  rest.remove_prefix(1);
  return true;
}

std::optional<Sample> parse_line(std::string_view line) {
  Sample sample;
  const std::size_t name_end = line.find_first_of("{ ");
  if (name_end == 0 || name_end == std::string_view::npos) return std::nullopt;
  sample.name = line.substr(0, name_end);
  line.remove_prefix(name_end);
  if (line.front() == '{' && !take_labels(line, sample.labels)) return std::nullopt;
  if (line.empty() || line.front() != ' ') return std::nullopt;
  line.remove_prefix(1);
  const auto value = number(line.substr(0, line.find(' ')));  // a time may follow
  if (!value) return std::nullopt;
  sample.value = *value;
  return sample;
}

bool carries(const Sample& sample, const MetricsReading::Labels& labels) {
  for (const auto& [name, value] : labels) {
    const auto it = sample.labels.find(name);
    if (it == sample.labels.end() || it->second != value) return false;
  }
  return true;
}

}  // namespace

Result<MetricsReading> MetricsReading::parse(std::string_view text) {
  MetricsReading reading;
  int number_of_line = 0;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    ++number_of_line;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    auto sample = parse_line(line);
    if (!sample) {
      return make_error(ErrorCode::kBadFile, "", "line {} is none of Prometheus' text format", number_of_line);
    }
    std::vector<Sample>& of_name = reading.samples_[sample->name];
    of_name.push_back(*std::move(sample));
  }
  return reading;
}

double MetricsReading::sum(std::string_view name, const Labels& labels) const {
  const auto it = samples_.find(name);
  if (it == samples_.end()) return 0.0;
  double sum = 0.0;
  for (const Sample& sample : it->second) sum += carries(sample, labels) ? sample.value : 0.0;
  return sum;
}

std::map<double, double> MetricsReading::buckets(std::string_view histogram, const Labels& labels) const {
  std::map<double, double> buckets;
  const auto it = samples_.find(std::string(histogram) + "_bucket");
  if (it == samples_.end()) return buckets;
  for (const Sample& sample : it->second) {
    const auto bound = sample.labels.find("le");
    if (bound == sample.labels.end() || !carries(sample, labels)) continue;
    if (const auto le = number(bound->second); le && !std::isnan(*le)) buckets[*le] += sample.value;
  }
  return buckets;
}

double histogram_quantile(double q, const std::map<double, double>& before, const std::map<double, double>& after) {
  const auto count = [&](const auto& bucket) {
    const auto it = before.find(bucket.first);
    return bucket.second - (it == before.end() ? 0.0 : it->second);
  };
  if (after.empty()) return 0.0;
  const double total = count(*after.rbegin());
  if (!(total > 0.0)) return 0.0;
  double below = 0.0, counted = 0.0;
  for (const auto& bucket : after) {
    const double until = count(bucket);
    if (until >= q * total && until > counted) {
      if (std::isinf(bucket.first)) return below;
      return below + (bucket.first - below) * (q * total - counted) / (until - counted);
    }
    below = std::isinf(bucket.first) ? below : bucket.first;
    counted = until;
  }
  return below;
}

}  // namespace millrace::metrics
