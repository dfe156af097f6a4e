#include "speculation_flags.h"

#include <fmt/format.h>

#include "cli.h"
#include "model_flags.h"
#include "old_flags.h"
#include "option_flags.h"
#include "option_heading.h"

namespace millrace::app {

void declare_speculation(CLI::App& app, runtime::SpeculationConfig& speculation) {
  const OptionHeading heading(app, "Speculative decoding");
  std::string methods = "none: no speculation", names = "none";
  for (const draft::DrafterKind& kind : draft::all_drafters()) {
    methods += fmt::format("; {}: {}", kind.name, kind.description);
    names += fmt::format(",{}", kind.name);
  }
  app.add_option("--spec-method", speculation.method, "Speculative decoding: how draft tokens are proposed. " + methods)
      ->type_name("{" + names + "}");
  app.add_option("--spec-tokens,--num-speculative-tokens", speculation.tokens, "Max draft tokens per sequence and step")
      ->check(CLI::Range(std::int64_t{1}, draft::kMaxTokens));
  app.add_option("--spec-branches", speculation.branches,
                 "Max branches of the draft tree per sequence and step; more than 1 needs --spec-rule coupled")
      ->check(CLI::Range(1, draft::kMaxBranches));
  std::string rules, rule_names;
  for (const decode::VerificationRule& one : decode::all_verification_rules()) {
    rules += fmt::format("{}{}: {}", rules.empty() ? "" : "; ", one.name, one.summary);
    rule_names += fmt::format("{}{}", rule_names.empty() ? "" : ",", one.name);
  }
  app.add_option("--spec-rule", speculation.rule, "Rule by which draft tokens are accepted. " + rules)
      ->type_name("{" + rule_names + "}");
  app.add_flag(
      "--spec-adaptive,!--no-spec-adaptive", speculation.adaptive,
      "Verify only as many draft tokens as measurements so far show to be faster; when disabled, verify all of them");
  app.add_flag("--jump-forward,!--no-jump-forward", speculation.jump_forward,
               "Draft the tokens that a grammar forces, where it allows only one continuation; output stays the same");
  app.add_option("--spec-model,--speculative-model", speculation.model,
                 "Draft model (.gguf file, directory, org/name or 'default') for --spec-method draft-model, or "
                 "directory of the medusa or eagle heads")
      ->type_name("MODEL");
  for (const draft::DrafterKind& kind : draft::all_drafters())
    declare_options(app, kind.options, speculation.options.values);
}

runtime::SpeculationConfig resolved_speculation(const runtime::SpeculationConfig& speculation, const HubFlags& hub) {
  speculation.validate().or_throw();
  runtime::SpeculationConfig config = speculation;
  if (config.method == "none") return config;
  const std::string_view found = decode::find_verification_rule(config.rule)->name;
  if (found != config.rule) warn_old_name("spec-rule " + config.rule, found);
  if (draft::find_drafter(config.method)->needs != draft::Needs::kNothing && !config.model.empty()) {
    config.model = model_path(config.model, hub);
  }
  return config;
}

}  // namespace millrace::app
