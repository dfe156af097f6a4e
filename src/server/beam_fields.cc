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
          "Search for the n likeliest answers instead of drawing n; they come when the search is over")
      .integer(
          "num_beams", [](Fields& f) -> auto& { return f.beams.width; }, 1, kMaxBeams,
          "Beams of the search; default: best_of or n")
      .number(
          "length_penalty", [](Fields& f) -> auto& { return f.beams.length_penalty; }, {-10.0, 10.0},
          "An answer's log probability is divided by its length to this power")
      .integer(
          "num_beam_groups", [](Fields& f) -> auto& { return f.beams.groups; }, 1, kMaxBeams,
          "Groups of beams that avoid each other's tokens; divides num_beams")
      .number(
          "diversity_penalty", [](Fields& f) -> auto& { return f.beams.diversity_penalty; }, {0.0, 100.0},
          "Off a token's score for each beam of an earlier group that took it")
      .field("early_stopping",
             "true: stop at as many answers as beams; false: where none seems to become better; "
             "\"never\": where none can",
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
