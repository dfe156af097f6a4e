#include "decode/processor.h"
#include "server/generation_fields.h"
#include "server/limits.h"

namespace millrace::server {
namespace {

using Fields = GenerationFields;
using L = RequestLimits;

void add_penalty_fields(GenerationSchema& schema) {
  schema
      .integer(
          "repeat_last_n", [](Fields& f) -> auto& { return f.samplers.repeat_last_n; }, -1, L::kMaxTokens - 1,
          "Number of last tokens that penalties look at; -1 = all, 0 = none")
      .integer(
          "no_repeat_ngram_size", [](Fields& f) -> auto& { return f.samplers.no_repeat_ngram_size; }, 0, 64,
          "Size of n-grams that must not occur twice in prompt and completion; 0 = any may")
      .number(
          "dry_multiplier", [](Fields& f) -> auto& { return f.samplers.dry_multiplier; }, {0.0, 100.0},
          "DRY: penalty of a token that lengthens a repetition; 0 = none")
      .number(
          "dry_base", [](Fields& f) -> auto& { return f.samplers.dry_base; }, {1.0, 100.0},
          "DRY: factor by which the penalty grows with each further token of the repetition")
      .integer(
          "dry_allowed_length", [](Fields& f) -> auto& { return f.samplers.dry_allowed_length; }, 1, L::kMaxTokens - 1,
          "DRY: length of a repetition, in tokens, that is not penalized yet")
      .integer(
          "dry_penalty_last_n", [](Fields& f) -> auto& { return f.samplers.dry_penalty_last_n; }, -1, L::kMaxTokens - 1,
          "DRY: number of last tokens searched for repetitions; -1 = all, 0 = none")
      .field("dry_sequence_breakers", "DRY: texts that no repetition extends across",
             {{"type", {"array", "null"}},
              {"items", {{"type", "string"}, {"minLength", 1}, {"maxLength", L::kBreakerLength}}},
              {"maxItems", L::kBreakers}},
             [](Fields& f, const Json& value) -> Result<void> {
               if (!value.is_array()) return GenerationSchema::wrong_type("dry_sequence_breakers", "a list of strings");
               auto read = read_strings("dry_sequence_breakers", value, L::kBreakers, L::kBreakerLength);
               if (!read) return read.error();
               f.dry_sequence_breakers = std::move(*read);
               return {};
             });
}

void add_shape_fields(GenerationSchema& schema) {
  schema
      .number(
          "dynatemp_range", [](Fields& f) -> auto& { return f.samplers.dynatemp_range; }, {0.0, 100.0},
          "Dynamic temperature: how far the temperature moves up and down with the entropy")
      .number(
          "dynatemp_exponent", [](Fields& f) -> auto& { return f.samplers.dynatemp_exponent; }, {0.0, 100.0},
          "Dynamic temperature: exponent of the entropy relative to its maximum")
      .number(
          "typical_p", [](Fields& f) -> auto& { return f.samplers.typical_p; }, {0.0, 1.0, true},
          "Typical sampling: sample from the tokens of this total probability whose surprise is nearest to the "
          "entropy; 1 = all")
      .number(
          "top_n_sigma", [](Fields& f) -> auto& { return f.samplers.top_n_sigma; }, {-1.0, 100.0},
          "Top-n-sigma: drop logits more than n standard deviations below the largest; 0 or less = none")
      .number(
          "xtc_probability", [](Fields& f) -> auto& { return f.samplers.xtc_probability; }, {0.0, 1.0},
          "XTC: probability that, of the tokens above xtc_threshold, all but the least likely are removed")
      .number(
          "xtc_threshold", [](Fields& f) -> auto& { return f.samplers.xtc_threshold; }, {0.0, 1.0},
          "XTC: probability above which tokens count as likely; above 0.5 = off")
      .integer(
          "mirostat_mode", [](Fields& f) -> auto& { return f.samplers.mirostat_mode; }, 0, 2,
          "1 or 2: holds the surprise of tokens at mirostat_tau, in place of the other samplers but temperature")
      .integer(
          "mirostat", [](Fields& f) -> auto& { return f.samplers.mirostat_mode; }, 0, 2,
          "Alias of mirostat_mode (llama-server)")
      .number(
          "mirostat_tau", [](Fields& f) -> auto& { return f.samplers.mirostat_tau; }, {0.0, 100.0},
          "Mirostat: target surprise of the sampled tokens, in bits")
      .number(
          "mirostat_eta", [](Fields& f) -> auto& { return f.samplers.mirostat_eta; }, {0.0, 1.0},
          "Mirostat: learning rate towards the target surprise");
}

Result<void> read_samplers(Fields& f, const Json& value) {
  const auto is_string = [](const Json& one) { return one.is_string(); };
  if (!value.is_array() || value.empty() || !std::ranges::all_of(value, is_string)) {
    return GenerationSchema::wrong_type("samplers", "a list of names");
  }
  if (value.size() > decode::sampler_names().size()) {
    return make_error(ErrorCode::kInvalidArgument, "samplers", "samplers has {} names: there are {}", value.size(),
                      decode::sampler_names().size());
  }
  f.samplers.samplers = value.get<std::vector<std::string>>();
  return {};
}

}  // namespace

void add_sampler_fields(GenerationSchema& schema) {
  add_penalty_fields(schema);
  add_shape_fields(schema);
  Json names = Json::array();
  for (const decode::Processor& p : decode::all_processors()) {
    if (!p.name.empty()) names.push_back(p.name);
    if (!p.alias.empty()) names.push_back(p.alias);
  }
  schema.field("samplers", "Which samplers there are and in which order, after bans and bias",
               {{"type", {"array", "null"}},
                {"items", {{"type", "string"}, {"enum", std::move(names)}}},
                {"minItems", 1},
                {"uniqueItems", true},
                {"maxItems", decode::sampler_names().size()}},
               read_samplers);
}

}  // namespace millrace::server
