#include "server/generation_fields.h"
#include "server/limits.h"

namespace millrace::server {
namespace {

using Fields = GenerationFields;
using decode::EarlyStopping;

constexpr std::int64_t kMaxBeams = 64;

}  // namespace

// Names as vLLM and Hugging Face's generate() have them.
void add_beam_fields(GenerationSchema& schema) {
  schema
      .boolean(
          "use_beam_search", [](Fields& f) -> auto& { return f.use_beam_search; },
          "Beam search: return the n most likely completions instead of sampling n; they come when the search is over")
      .integer(
          "num_beams", [](Fields& f) -> auto& { return f.beams.width; }, 1, kMaxBeams,
          "Beam search: number of beams; default: best_of or n")
      .number(
          "length_penalty", [](Fields& f) -> auto& { return f.beams.length_penalty; }, {-10.0, 10.0},
          "Beam search: exponent of the length by which a completion's log probability is divided")
      .integer(
          "num_beam_groups", [](Fields& f) -> auto& { return f.beams.groups; }, 1, kMaxBeams,
          "Diverse beam search: groups of beams that avoid each other's tokens; divides num_beams")
      .number(
          "diversity_penalty", [](Fields& f) -> auto& { return f.beams.diversity_penalty; }, {0.0, 100.0},
          "Diverse beam search: subtracted from a token's score for each beam of an earlier group that took it")
      .field(
          "early_stopping",
          "End of beam search; true: when as many completions are found as beams; false: when no better one is likely; "
          "\"never\": when no better one is possible",
          {{"oneOf", Json::array({{{"type", "boolean"}}, {{"const", "never"}}, {{"type", "null"}}})}},
          [](Fields& f, const Json& value) -> Result<void> {
            if (value.is_boolean()) {
              f.beams.early_stopping = value.get<bool>() ? EarlyStopping::kFull : EarlyStopping::kHeuristic;
            } else if (value == "never") {
              f.beams.early_stopping = EarlyStopping::kNever;
            } else {
              return GenerationSchema::wrong_type("early_stopping", "true, false or \"never\"");
            }
            return {};
          });
}

std::optional<decode::BeamOptions> GenerationFields::beam_options() const {
  if (!use_beam_search) return std::nullopt;
  decode::BeamOptions options = beams;
  if (options.width == 0) options.width = std::max(n, best_of.value_or(0));
  return options;
}

}  // namespace millrace::server
