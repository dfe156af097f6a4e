#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "decode/candidates.h"
#include "decode/history.h"
#include "decode/sampler_option.h"
#include "decode/sampling_params.h"

namespace millrace::decode {

// The state that a processor reads besides the candidates.
struct SamplingContext {
  const SamplingParams& params;
  const History& history;
  std::int64_t position = 0;  // of the token to be sampled, in the whole sequence
  double mirostat_mu = 0.0;   // surprise in bits that mirostat allows at present
};

// Which uses of a row a processor applies to. Bans and adjustments apply to every use, sample processors only to
// sampling.
enum class Stage {
  kBan,     // bans tokens
  kAdjust,  // changes logits, also for greedy decoding and beams
  kSample,  // shapes the distribution that is sampled from
};

// One step from logits to a token. Each is a file in processors/, with a function of the file's name. O(candidates), or
// nearly. It leaves at least one candidate and keeps their order. It has no state; earlier tokens are in History.
struct Processor {
  std::string_view name;   // its name in `samplers`, as in llama.cpp; empty: not selectable, always at its place
  std::string_view alias;  // another name in `samplers`, or empty
  int place;               // position in the default order, ascending; unique
  Stage stage;
  bool reads_tokens, reads_counts;        // which parts of History it reads
  bool (*active)(const SamplingParams&);  // false: it would change nothing and is left out
  void (*apply)(const SamplingContext&, Candidates&);
  std::vector<SamplerOption> options = {};  // its parameters
};
std::span<const Processor> all_processors();  // generated from the files
// All processors, ascending by `place`.
std::vector<const Processor*> processors_by_place();
// The options of all processors, in the order of all_processors().
std::span<const SamplerOption* const> all_sampler_options();
// Sets each option of `params` to its value in `given`, else to that in `defaults`; others stay. kInvalidArgument names
// the first given value that is out of range, as SamplingParams::validate() does.
Result<void> set_sampler_options(SamplingParams& params, const OptionValues& given,
                                 const std::function<std::optional<double>(std::string_view)>& defaults);

// Finds a processor by name or alias, with "-" and "_" alike; null if there is none.
const Processor* find_processor(std::string_view name);

// The names that `samplers` accepts, in the default order.
std::vector<std::string_view> sampler_names();

// The active processors in the order in which they apply: bans, bias, then `samplers`. With mirostat, it replaces all
// processors of the kSample stage but temperature. `params` are valid.
std::vector<const Processor*> build_chain(const SamplingParams& params);

}  // namespace millrace::decode
