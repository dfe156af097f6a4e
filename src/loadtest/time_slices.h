#pragma once

#include <cstddef>
#include <vector>

#include "loadtest/confidence.h"

namespace millrace::loadtest {

// Work that was done over the time of a run, and how sure its rate is. Throughput has no sample of independent
// requests: what makes it another in the next run is that the server is faster at one time than at another, and
// requests that ran beside each other share that. So the run is cut into slices of time, long against a request, and
// these are drawn with replacement (block bootstrap: Carlstein 1986, Kuensch 1989; in simulation: batch means).
class TimeSlices {
 public:
  // Cuts `seconds` > 0 from `start`; slices last twice `typical_s` or so, the usual time of a request: 10 to 60 of
  // them.
  TimeSlices(double start, double seconds, double typical_s);

  void add(double time, double amount);  // what is outside counts in the first or last slice
  Estimate rate() const;                 // a second

 private:
  double start_, seconds_;
  std::vector<double> amounts_;
};

}  // namespace millrace::loadtest
