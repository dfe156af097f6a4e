#pragma once

// For tests: what a request may ask for, of each kind one.

#include <functional>
#include <string>
#include <vector>

#include "engine/request.h"
#include "grammar/grammar.h"

namespace millrace::engine {

struct Choice {
  std::string name;
  std::function<void(Request&)> apply;
};

// What changes which tokens are sampled.
inline std::vector<Choice> samplers() {
  return {{"greedy", [](Request& r) { r.sampling.temperature = 0.0; }},
          {"temperature", [](Request& r) { r.sampling.temperature = 1.3; }},
          {"top-k, top-p, min-p",
           [](Request& r) {
             r.sampling.top_k = 20;
             r.sampling.top_p = 0.9;
             r.sampling.min_p = 0.02;
           }},
          {"penalties",
           [](Request& r) {
             r.sampling.repetition_penalty = 1.2;
             r.sampling.presence_penalty = 0.4;
             r.sampling.frequency_penalty = 0.3;
           }},
          {"bias, bans",
           [](Request& r) {
             r.sampling.temperature = 0.0;
             r.sampling.logit_bias = {{9, 1.5f}, {14, -2.0f}};
             r.sampling.bad_words = {{13, 13}, {7}};
             r.sampling.min_tokens = 6;
             r.sampling.stop_token_ids = {21, 39};
           }},
          {"DRY, XTC, no-repeat",
           [](Request& r) {
             r.sampling.dry_multiplier = 0.8;
             r.sampling.dry_allowed_length = 1;
             r.sampling.xtc_probability = 0.5;
             r.sampling.xtc_threshold = 0.05;
             r.sampling.no_repeat_ngram_size = 3;
           }},
          {"typical, top-nσ, dynamic temperature",
           [](Request& r) {
             r.sampling.typical_p = 0.9;
             r.sampling.top_n_sigma = 2.0;
             r.sampling.dynatemp_range = 0.5;
           }},
          {"mirostat",
           [](Request& r) {
             r.sampling.mirostat_mode = 2;
             r.sampling.mirostat_tau = 3.0;
           }},
          {"allowed ids, stop", [](Request& r) {
             for (std::int32_t id = 3; id < 64; id += 2) r.sampling.allowed_token_ids.push_back(id);
             r.sampling.stop = {"7\n"};
           }}};
}

inline std::vector<Choice> scores() {
  return {{"no logprobs", [](Request&) {}},
          {"logprobs", [](Request& r) { r.sampling.logprobs = 3; }},
          {"prompt logprobs", [](Request& r) { r.sampling.logprobs = 0, r.prompt_logprobs = 2; }}};
}

inline std::vector<Choice> answers() {
  return {{"n = 1", [](Request&) {}}, {"n = 3", [](Request& r) { r.n = 3; }}, {"beams", [](Request& r) {
                                                                                 r.n = 2;
                                                                                 r.beams.emplace();
                                                                                 r.beams->width = 3;
                                                                                 r.beams->length_penalty = 0.7;
                                                                               }}};
}

// Sums and quotients of numbers, recursive on both sides, spelled in what the small model has.
inline grammar::Grammar sums() {
  grammar::Grammar g;
  unicode::CodePointSet digits, signs;
  digits.add('0', '9');
  signs.add('-', '-');
  signs.add('/', '/');
  const grammar::RuleId sum = g.declare("sum");
  const grammar::ExpressionId atom =
      g.choice({g.repeat(g.character(digits), 1, 3), g.sequence({g.bytes(")"), g.rule(sum), g.bytes("+")})});
  g.define(sum, g.choice({g.sequence({g.rule(sum), g.character(signs), atom}), atom}));
  g.set_root(g.sequence({g.bytes("+1"), g.rule(sum)}));
  return g;
}

inline std::vector<std::string> names_of(const std::vector<Choice>& choices) {
  std::vector<std::string> names;
  for (const Choice& choice : choices) names.push_back(choice.name);
  return names;
}

}  // namespace millrace::engine
