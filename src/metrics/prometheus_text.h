#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace::metrics {

// One sample in Prometheus' text format.
struct Sample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0.0;
};

// All samples of a server's metrics at one moment.
class MetricsReading {
 public:
  // Parses the text format 0.0.4. kBadFile names the first invalid line.
  static Result<MetricsReading> parse(std::string_view text);

  using Labels = std::map<std::string, std::string>;
  // The sum of all samples with that name and at least these labels; 0 if there are none.
  double sum(std::string_view name, const Labels& labels = {}) const;
  bool has(std::string_view name) const { return samples_.contains(name); }
  // The buckets of a histogram, summed over the samples with at least these labels: upper bound -> cumulative count.
  std::map<double, double> buckets(std::string_view histogram, const Labels& labels = {}) const;
  const std::map<std::string, std::vector<Sample>, std::less<>>& samples() const noexcept { return samples_; }
  double taken_unix_seconds = 0.0;  // time of the reading; set by the caller

 private:
  std::map<std::string, std::vector<Sample>, std::less<>> samples_;  // by name
};

// The q-quantile of what a histogram counted between two readings, linear within a bucket as in Prometheus. 0 if it
// counted nothing; the last finite bound if the quantile is above it.
double histogram_quantile(double q, const std::map<double, double>& before, const std::map<double, double>& after);

}  // namespace millrace::metrics
