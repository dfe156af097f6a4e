#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "loadtest/confidence.h"

namespace millrace::loadtest {

// Values of one metric by session. Values of one session resemble each other, so intervals come from differences
// between sessions: many requests of one session are no more evidence than one.
class SessionSample {
 public:
  // `sessions` is the number of sessions, including those without values.
  explicit SessionSample(std::size_t sessions) : counts_(sessions) {}

  void add(std::size_t session, double value);
  void sort();  // must be called before the functions below

  bool empty() const noexcept { return values_.empty(); }
  std::span<const double> values() const noexcept { return values_; }  // ascending
  double quantile(double q) const;

  // The quantiles `qs`, ascending, of a resampling of sessions (draw_with_replacement), in which the values of each
  // session occur as often as it was drawn. False if the resampling has no value. One pass over the values.
  bool drawn_quantiles(std::span<const int> times, std::span<const double> qs, std::span<double> out) const;

  // Woodruff's interval (1952) for clustered samples: the uncertainty of the share of values below the quantile, from
  // the sessions' shares (linearised, Student's t over sessions), converted back through the sample. Costs two passes,
  // where a bootstrap costs one per resampling; suitable if there are many more values than sessions.
  Estimate woodruff(double q) const;

 private:
  struct Entry {
    double value;
    std::uint32_t session;
  };
  std::vector<Entry> entries_;  // until sorted
  std::vector<double> values_;
  std::vector<std::uint32_t> sessions_;  // of each value
  std::vector<std::int64_t> counts_;     // values of each session
};

}  // namespace millrace::loadtest
