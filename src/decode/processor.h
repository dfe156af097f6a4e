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

// What a processor may look at.
struct SamplingContext {
  const SamplingParams& params;
  const History& history;
  std::int64_t position = 0;  // of the token to be sampled, in the whole sequence
  double mirostat_mu = 0.0;   // the surprise in bits that mirostat allows now
};

// Decides who sees what a processor did: bans and adjustments hold for every use of a row, samples only where one
// samples.
enum class Stage {
  kBan,     // bans tokens
  kAdjust,  // changes logits: greedy decoding and beams see it too
  kSample,  // shapes the distribution that is sampled from
};

// One step from logits to a token: a file in processors/, whose function of the file's name gives it. Linear in the
// candidates, or nearly; leaves at least one of them and their order. No state: what it remembers is in History.
struct Processor {
  std::string_view name;   // in `samplers` (llama.cpp's word); empty: not one of those, always in its place
  std::string_view alias;  // another word for it, or empty
  int place;               // in the order that holds where none is asked for, ascending; different for each
  Stage stage;
  bool reads_tokens, reads_counts;        // of History
  bool (*active)(const SamplingParams&);  // false: it would change nothing and is left out
  void (*apply)(const SamplingContext&, Candidates&);
  std::vector<SamplerOption> options = {};  // its parameters
};
std::span<const Processor> all_processors();  // generated from the files
std::vector<const Processor*> processors_by_place();
// The options of all processors, in the order of these.
std::span<const SamplerOption* const> all_sampler_options();
// Each option of `params` becomes what is given, else what `defaults` has for its name, else it stays as it is.
// kInvalidArgument naming the first given value that is out of range, as `params.validate()` names it.
Result<void> set_sampler_options(SamplingParams& params, const OptionValues& given,
                                 const std::function<std::optional<double>(std::string_view)>& defaults);

// By name or alias, "-" as good as "_"; null if there is none.
const Processor* find_processor(std::string_view name);

// The names that `samplers` takes, in the order that holds where none is asked for.
std::vector<std::string_view> sampler_names();

// The processors that change something, in the order asked for: bans, bias, then `samplers`. Where mirostat is asked
// for it takes the place of all others that shape the distribution but temperature. Params are valid.
std::vector<const Processor*> build_chain(const SamplingParams& params);

}  // namespace millrace::decode
