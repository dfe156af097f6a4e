#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace::metrics {

// One line of Prometheus' text format.
struct Sample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0.0;
};

// What a server said of itself at one moment.
class MetricsReading {
 public:
  // kBadFile naming the line that is none of the text format 0.0.4.
  static Result<MetricsReading> parse(std::string_view text);

  using Labels = std::map<std::string, std::string>;
  // The sum over all samples of that name that carry those labels; 0 of none.
  double sum(std::string_view name, const Labels& labels = {}) const;
  bool has(std::string_view name) const { return samples_.contains(name); }
  // The buckets of a histogram, summed over the samples that carry those labels: counts by upper bound, cumulative.
  std::map<double, double> buckets(std::string_view histogram, const Labels& labels = {}) const;
  const std::map<std::string, std::vector<Sample>, std::less<>>& samples() const noexcept { return samples_; }
  double taken_unix_seconds = 0.0;  // when it was read; set by the reader

 private:
  std::map<std::string, std::vector<Sample>, std::less<>> samples_;  // by name
};

// The q-quantile of what a histogram counted between two readings, linear within a bucket as Prometheus has it; nothing
// happened: 0. Beyond the last bound: that bound.
double histogram_quantile(double q, const std::map<double, double>& before, const std::map<double, double>& after);

}  // namespace millrace::metrics
