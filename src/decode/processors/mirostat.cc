#include "decode/mirostat.h"

#include <algorithm>
#include <cmath>

#include "base/portable_math.h"
#include "decode/processor.h"
#include "decode/softmax.h"
#include "decode/threshold.h"

namespace millrace::decode::processors {
namespace {

constexpr double kFitted = 100;  // tokens that the exponent of Zipf's law is estimated from

// Algorithm 1 of arXiv:2007.14966: the k tokens whose expected surprise under Zipf's law is mu.
void keep_by_zipf(double mu, Candidates& candidates) {
  Candidates likely = candidates;
  keep_likeliest(likely, {}, kFitted);
  std::ranges::stable_sort(likely, std::ranges::greater(), &Candidate::logit);
  double products = 0.0, squares = 0.0;
  for (std::size_t i = 0; i + 1 < likely.size(); ++i) {
    const double t = portable_log(static_cast<double>(i + 2) / static_cast<double>(i + 1));
    products += t * (static_cast<double>(likely[i].logit) - static_cast<double>(likely[i + 1].logit));
    squares += t * t;
  }
  const double exponent = products / squares, epsilon = exponent - 1.0;
  const double log_n = portable_log(static_cast<double>(candidates.size()));
  // epsilon / (1 - N^-epsilon), which is 1 / log N where the law is 1 / rank
  const double scale = std::abs(epsilon) < 1e-9 ? 1.0 / log_n : epsilon / (1.0 - portable_exp(-epsilon * log_n));
  const double k = portable_exp((portable_log(scale) + mu * kLn2) / exponent);
  if (k < static_cast<double>(candidates.size())) keep_likeliest(candidates, {}, k >= 1.0 ? std::floor(k) : 1.0);
}

// Version 2: the tokens whose surprise is at most mu, at least the likeliest.
void keep_by_surprise(double mu, Candidates& candidates) {
  thread_local std::vector<double> weights;
  const double largest = static_cast<double>(largest_logit(candidates));
  const double total = softmax_weights(candidates, static_cast<float>(largest), weights);
  const double least = std::min(largest, largest + portable_log(total) - mu * kLn2);
  std::erase_if(candidates, [=](const Candidate& c) { return static_cast<double>(c.logit) < least; });
}

void apply(const SamplingContext& at, Candidates& candidates) {
  if (candidates.size() < 2) return;
  if (at.params.mirostat_mode == 1) {
    keep_by_zipf(at.mirostat_mu, candidates);
  } else {
    keep_by_surprise(at.mirostat_mu, candidates);
  }
}

}  // namespace

Processor mirostat() {
  return {.name = "",
          .alias = "",
          .place = 500,
          .stage = Stage::kSample,
          .reads_tokens = false,
          .reads_counts = false,
          .active = [](const SamplingParams& p) { return p.mirostat_mode != 0; },
          .apply = apply,
          .options = {
              {.spec = {.name = "mirostat_mode",
                        .alias = "mirostat",
                        .flags = "--mirostat",
                        .kind = OptionSpec::Kind::kWhole,
                        .high = 2.0,
                        .rule = "0 (off), 1 or 2",
                        .help = "Mirostat version, 1 or 2: holds the surprise of tokens at a target, in place of the "
                                "other samplers but temperature; 0 = off"},
               .member = &SamplingParams::mirostat_mode},
              {.spec = {.name = "mirostat_tau",
                        .flags = "--mirostat-tau,--mirostat-ent",
                        .high = 100.0,
                        .neutral = 5.0,
                        .help = "Mirostat: target surprise of the sampled tokens, in bits"},
               .member = &SamplingParams::mirostat_tau},
              {.spec = {.name = "mirostat_eta",
                        .flags = "--mirostat-eta,--mirostat-lr",
                        .high = 1.0,
                        .neutral = 0.1,
                        .help = "Mirostat: learning rate towards the target surprise"},
               .member = &SamplingParams::mirostat_eta}}};
}

}  // namespace millrace::decode::processors
