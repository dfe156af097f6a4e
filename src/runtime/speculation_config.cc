#include "runtime/speculation_config.h"

#include <fmt/format.h>

#include "model/make_spec.h"
#include "model/weights/weights_key.h"
#include "runtime/field_checks.h"

namespace millrace::runtime {
namespace {

// Its weights are packed when it is made: the checkpoint is not needed afterwards.
void load_draft_model(const std::string& path, const ModelConfig& config, backend::Backend& backend,
                      draft::DrafterOptions& options) {
  const auto checkpoint = checkpoint::open_checkpoint(Env::system(), path).or_throw();
  const model::ModelOptions how{.precision = config.precision(), .max_length = config.max_model_len, .progress = {}};
  options.model = std::make_shared<model::Transformer>(
      *checkpoint, model::make_spec(*checkpoint, backend.limits()).or_throw(), backend, how);
  options.model_key = model::weights_key(*checkpoint);
}

Result<const decode::VerificationRule*> find_rule(const std::string& rule) {
  if (const decode::VerificationRule* found = decode::find_verification_rule(rule)) return found;
  std::string names;
  for (const decode::VerificationRule& one : decode::all_verification_rules()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
  }
  return make_error(ErrorCode::kInvalidArgument, "spec-rule", "spec-rule is \"{}\"; there are {}", rule, names);
}

}  // namespace

Result<void> SpeculationConfig::validate() const {
  for (const draft::DrafterKind& one : draft::all_drafters()) {
    if (auto fine = options.values.check(one.options); !fine) return fine;
  }
  if (auto fine = first_failure({between<std::int64_t>("spec-tokens", tokens, 1, draft::kMaxTokens),
                                 between("spec-branches", branches, 1, draft::kMaxBranches)});
      !fine) {
    return fine;
  }
  if (method == "none") return {};
  if (draft::find_drafter(method) == nullptr) return draft::page_bytes(method, {}).error();
  const auto found = find_rule(rule);
  return found ? Result<void>() : found.error();
}

draft::DrafterOptions SpeculationConfig::prepare(const LoadedModel& loaded, const sched::Config& steps) const {
  for (const draft::DrafterKind& one : draft::all_drafters()) options.values.check(one.options).or_throw();
  draft::DrafterOptions made = options;
  made.place = {.target = loaded.transformer.get(),
                .checkpoint = loaded.checkpoint.get(),
                .backend = loaded.backend.get(),
                .form = loaded.config.kv_pages(),
                .precision = loaded.config.precision(),
                .step_tokens = steps.max_batched_tokens,
                .sequences = steps.max_sequences};
  made.place.form.exceptions = nullptr;  // of the target's layers
  const draft::DrafterKind* kind = draft::find_drafter(method);
  const draft::Needs needs = kind == nullptr ? draft::Needs::kNothing : kind->needs;
  if (needs == draft::Needs::kHeads && !model.empty()) made.heads = model;
  if (needs == draft::Needs::kModel && !model.empty()) {
    load_draft_model(model, loaded.config, *loaded.backend, made);
  }
  return made;
}

std::unique_ptr<draft::Drafter> SpeculationConfig::make_drafter(const engine::LocalExecutor& executor,
                                                                draft::DrafterOptions prepared) const {
  prepared.place.store = &executor.store();
  prepared.place.pages = executor.pages();
  return draft::make_drafter(method, prepared).or_throw();
}

std::size_t SpeculationConfig::page_bytes(const draft::DrafterOptions& prepared) const {
  return method == "none" ? 0 : draft::page_bytes(method, prepared).or_throw();
}

engine::SpeculationConfig SpeculationConfig::config() const {
  return {.tokens = tokens,
          .adaptive = adaptive,
          .rule = find_rule(rule).or_throw(),
          .jump_forward = jump_forward,
          .max_branches = branches};
}

draft::DraftMemory SpeculationConfig::apply(engine::Engine& engine, engine::LocalExecutor& executor,
                                            draft::DrafterOptions prepared) const {
  if (method == "none") return {};
  auto drafter = make_drafter(executor, std::move(prepared));
  const draft::DraftMemory memory = drafter->memory();
  engine.speculate(std::move(drafter), config());
  return memory;
}

}  // namespace millrace::runtime
