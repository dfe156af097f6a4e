#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <map>
#include <string>
#include <string_view>

#include "server/observe/metric_table.h"

namespace millrace::server::observe {

// The metrics of metric_table.h as objects that count. A CHECK fails for a name that the table lacks or has as another
// kind. The same name and labels give the same object, which lives as long as the MetricFamilies. Thread-safe; each
// call takes a lock, so code that runs in every step keeps the reference.
class MetricFamilies {
 public:
  MetricFamilies();
  prometheus::Counter& counter(std::string_view name, const prometheus::Labels& labels = {});
  prometheus::Gauge& gauge(std::string_view name, const prometheus::Labels& labels = {});
  // Forgets a gauge, which must be one of that name: for states that stand in labels.
  void remove(std::string_view name, prometheus::Gauge& gauge);
  prometheus::Histogram& histogram(std::string_view name, const prometheus::Labels& labels = {});
  std::vector<prometheus::MetricFamily> collect() const { return registry_.Collect(); }

 private:
  prometheus::Registry registry_;
  std::map<std::string_view, prometheus::Family<prometheus::Counter>*> counters_;
  std::map<std::string_view, prometheus::Family<prometheus::Gauge>*> gauges_;
  struct HistogramFamily {
    prometheus::Family<prometheus::Histogram>* family;
    std::span<const double> buckets;
  };
  std::map<std::string_view, HistogramFamily> histograms_;
};

// Raises a counter to a total that is kept elsewhere; does nothing for a lower total. One thread at a time per counter.
inline void raise_to(prometheus::Counter& counter, double total) {
  if (total > counter.Value()) counter.Increment(total - counter.Value());
}

}  // namespace millrace::server::observe
