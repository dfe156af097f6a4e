#pragma once

#include <cstddef>
#include <vector>

#include "loadtest/confidence.h"

namespace millrace::loadtest {

// Work done over the time of a run, and the uncertainty of its rate. Throughput has no sample of independent requests:
// it varies because the server is faster at one time than at another, which affects concurrent requests alike. So the
// run is divided into slices of time, long against a request, which are resampled (block bootstrap: Carlstein 1986,
// Kuensch 1989; in simulation: batch means).
class TimeSlices {
 public:
  // Divides `seconds` > 0 seconds from `start` into 10 to 60 slices of about twice `typical_s`, the usual duration of a
  // request.
  TimeSlices(double start, double seconds, double typical_s);

  void add(double time, double amount);  // times outside count in the first or last slice
  Estimate rate() const;                 // per second

 private:
  double start_, seconds_;
  std::vector<double> amounts_;
};

}  // namespace millrace::loadtest
