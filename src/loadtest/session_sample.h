#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "loadtest/confidence.h"

namespace millrace::loadtest {

// Values of one metric, each belonging to a session. Those of one session resemble each other, so intervals come from
// what differs between sessions: requests of a session are no more evidence than it.
class SessionSample {
 public:
  // `sessions`: how many there are, with and without values.
  explicit SessionSample(std::size_t sessions) : counts_(sessions) {}

  void add(std::size_t session, double value);
  void sort();  // before anything below

  bool empty() const noexcept { return values_.empty(); }
  std::span<const double> values() const noexcept { return values_; }  // ascending
  double quantile(double q) const;

  // The quantiles, `qs` ascending, of a draw of sessions (draw_with_replacement): as if the values of each were there
  // as often as it was drawn. False where the draw has no value. Cost: one pass over the values.
  bool drawn_quantiles(std::span<const int> times, std::span<const double> qs, std::span<double> out) const;

  // The interval of Woodruff 1952 for clustered samples: how uncertain the share of values below the quantile is, from
  // the sessions' shares (linearised, Student's t over sessions), read back through the sample. Costs two passes, where
  // a bootstrap costs one a draw; good where there are many more values than sessions.
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
