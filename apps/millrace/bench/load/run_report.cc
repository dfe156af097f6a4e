#include "bench/load/run_report.h"

#include "loadtest/report/serve_json.h"

namespace millrace::bench {

Json run_report(const LoadFlags& load, const MeasuredRun& measured) {
  const std::vector<loadtest::Slo> slos = load.slos();
  const auto known = [](const auto& part, const auto& list) { return list.empty() ? nullptr : &part; };
  loadtest::report::RunFacts facts;
  facts.run = &measured.run;
  facts.metrics = &measured.metrics;
  facts.load = &measured.load;
  facts.slos = slos;
  facts.server = &measured.server;
  facts.samples = known(measured.samples, measured.samples.t);
  facts.steps = known(measured.steps, measured.steps.t);
  facts.phases = known(measured.phases, measured.phases);
  facts.noise = &measured.noise;
  return loadtest::report::serve_json(facts);
}

}  // namespace millrace::bench
