#include "speculation_flags.h"
#include "old_flags.h"

#include <fmt/format.h>

#include "cli.h"
#include "model/make_spec.h"
#include "option_flags.h"

namespace millrace::app {

void SpeculationFlags::declare(CLI::App& app) {
  std::string methods = "none: no speculation";
  for (const draft::DrafterKind& kind : draft::all_drafters()) {
    methods += fmt::format("; {}: {}", kind.name, kind.description);
  }
  app.add_option("--spec-method", method, "Speculative decoding: how draft tokens are proposed. " + methods);
  app.add_option("--spec-tokens,--num-speculative-tokens", tokens, "Max draft tokens per sequence and step")
      ->check(CLI::Range(std::int64_t{1}, draft::kMaxTokens));
  app.add_option("--spec-branches", branches,
                 "Max branches of the draft tree per sequence and step; more than 1 needs --spec-rule coupled")
      ->check(CLI::Range(1, draft::kMaxBranches));
  std::string rules;
  for (const decode::VerificationRule& one : decode::all_verification_rules()) {
    rules += fmt::format("{}{}: {}", rules.empty() ? "" : "; ", one.name, one.summary);
  }
  app.add_option("--spec-rule", rule, "Rule by which draft tokens are accepted. " + rules);
  app.add_flag(
      "--spec-adaptive,!--no-spec-adaptive", adaptive,
      "Verify only as many draft tokens as measurements so far show to be faster; when disabled, verify all of them");
  app.add_flag("--jump-forward,!--no-jump-forward", jump_forward,
               "Draft the tokens that a grammar forces, where it allows only one continuation; output stays the same");
  app.add_option("--spec-model,--speculative-model", model,
                 "Draft model (.gguf file, directory, org/name or 'default') for --spec-method draft-model, or "
                 "directory of the medusa or eagle heads");
  for (const draft::DrafterKind& kind : draft::all_drafters()) declare_options(app, kind.options, options.values);
}

namespace {

// Its weights are packed when it is made: the checkpoint is not needed afterwards.
std::shared_ptr<model::Transformer> load_draft_model(const std::string& reference, const ModelFlags& flags,
                                                     backend::Backend& backend) {
  const auto checkpoint = open_model(reference, flags.hub);
  const model::ModelOptions how{.precision = flags.precision(), .max_length = flags.max_model_len, .progress = {}};
  return std::make_shared<model::Transformer>(*checkpoint, model::make_spec(*checkpoint, backend.limits()).or_throw(),
                                              backend, how);
}

}  // namespace

draft::DrafterOptions SpeculationFlags::prepare(const LoadedModel& loaded, const ModelFlags& flags,
                                                const sched::Config& steps) const {
  for (const draft::DrafterKind& one : draft::all_drafters()) options.values.check(one.options).or_throw();
  draft::DrafterOptions made = options;
  made.place = {.target = loaded.transformer.get(),
                .checkpoint = loaded.checkpoint.get(),
                .backend = loaded.backend.get(),
                .form = flags.kv_pages(),
                .precision = flags.precision(),
                .step_tokens = steps.max_batched_tokens,
                .sequences = steps.max_sequences};
  const draft::DrafterKind* kind = draft::find_drafter(method);
  const draft::Needs needs = kind == nullptr ? draft::Needs::kNothing : kind->needs;
  if (needs == draft::Needs::kHeads && !model.empty()) made.heads = model_path(model, flags.hub);
  if (needs == draft::Needs::kModel && !model.empty()) made.model = load_draft_model(model, flags, *loaded.backend);
  return made;
}

std::unique_ptr<draft::Drafter> SpeculationFlags::make_drafter(const engine::LocalExecutor& executor,
                                                               draft::DrafterOptions prepared) const {
  prepared.place.store = &executor.store();
  prepared.place.pages = executor.pages();
  return draft::make_drafter(method, prepared).or_throw();
}

std::size_t SpeculationFlags::page_bytes(const draft::DrafterOptions& prepared) const {
  return method == "none" ? 0 : draft::page_bytes(method, prepared).or_throw();
}

engine::SpeculationConfig SpeculationFlags::config() const {
  const decode::VerificationRule* found = decode::find_verification_rule(rule);
  if (found == nullptr) {
    std::string names;
    for (const decode::VerificationRule& one : decode::all_verification_rules()) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
    }
    throw_load_error(ErrorCode::kInvalidArgument, "spec-rule", "spec-rule is \"{}\"; there are {}", rule, names);
  }
  if (found->name != rule) warn_old_name("spec-rule " + rule, found->name);
  return {
      .tokens = tokens, .adaptive = adaptive, .rule = found, .jump_forward = jump_forward, .max_branches = branches};
}

draft::DraftMemory SpeculationFlags::apply(engine::Engine& engine, engine::LocalExecutor& executor,
                                           draft::DrafterOptions prepared) const {
  if (method == "none") return {};
  auto drafter = make_drafter(executor, std::move(prepared));
  const draft::DraftMemory memory = drafter->memory();
  executor.add_page_listener(drafter->listener());
  executor.set_hidden_state_hook(drafter->hook());
  engine.speculate(std::make_unique<engine::Speculation>(std::move(drafter), config()));
  return memory;
}

}  // namespace millrace::app
