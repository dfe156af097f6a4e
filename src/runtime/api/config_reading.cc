#include "runtime/api/config_reading.h"

#include <optional>

#include "runtime/field_checks.h"
#include "sched/admission_resource.h"

namespace millrace::runtime {
namespace {

constexpr double kMaxSlowReaderMs = 1e9;

const OptionSpec* find_option(std::span<const OptionSpec> options, std::string_view name) {
  const auto found = std::ranges::find(options, name, &OptionSpec::name);
  return found == options.end() ? nullptr : &*found;
}

using PublicValue = std::variant<double, std::string>;

// The value of one option, which this kind of policy or drafter has.
Result<void> set_option(const OptionSpec& option, const PublicValue& value, OptionValues& values) {
  const bool wants_text = option.kind == OptionSpec::Kind::kText;
  if (wants_text != std::holds_alternative<std::string>(value)) {
    return make_error(ErrorCode::kInvalidArgument, std::string(option.name), "{} must be a {}", option.name,
                      wants_text ? "text" : "number");
  }
  if (wants_text) {
    values.set(option.name, std::get<std::string>(value));
    return {};
  }
  if (auto fine = option.check(option.name, std::get<double>(value)); !fine) return fine;
  values.set(option.name, std::get<double>(value));
  return {};
}

Result<void> read_option(const std::string& name, const PublicValue& value, EngineConfig& out) {
  bool known = false;
  const auto offer = [&](std::span<const OptionSpec> options, OptionValues& values) -> Result<void> {
    const OptionSpec* option = find_option(options, name);
    if (option == nullptr) return {};
    known = true;
    return set_option(*option, value, values);
  };
  for (const sched::PolicyKind& kind : sched::all_policies()) {
    if (auto fine = offer(kind.options, out.policy_values); !fine) return fine;
  }
  for (const sched::AdmissionResourceKind& kind : sched::all_resources()) {
    if (auto fine = offer(kind.options, out.resource_values); !fine) return fine;
  }
  for (const draft::DrafterKind& kind : draft::all_drafters()) {
    if (auto fine = offer(kind.options, out.speculation.options.values); !fine) return fine;
  }
  if (known) return {};
  return make_error(ErrorCode::kInvalidArgument, "options",
                    "options has '{}': no scheduling policy, no resource of admission and no way of drafting has an "
                    "option of that name",
                    name);
}

}  // namespace

Result<ModelConfig> read_config(const api::ModelConfig& config) {
  ModelConfig out{.path = config.path,
                  .device = config.device,
                  .threads = config.threads,
                  .cpu_isa = config.cpu_isa,
                  .kv_cache_dtype = config.kv_cache_dtype,
                  .kv_exceptions = config.kv_exceptions,
                  .kv_layout = config.kv_layout,
                  .block_size = config.block_size,
                  .matmul_precision = config.matmul_precision,
                  .quantization = config.quantization,
                  .iq_panels = config.iq_panels,
                  .imatrix = config.imatrix,
                  .memory = config.memory,
                  .max_model_len = config.max_model_len,
                  .packed_cache = config.packed_cache,
                  .packed_cache_limit = config.packed_cache_limit};
  if (out.path.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "path", "path is '': expected a .gguf file or a model directory");
  }
  if (auto fine = out.validate(); !fine) return fine.error();
  return out;
}

Result<EngineConfig> read_config(const api::EngineConfig& config) {
  EngineConfig out{.max_num_batched_tokens = config.max_num_batched_tokens,
                   .max_num_seqs = config.max_num_seqs,
                   .long_prefill_token_threshold = config.long_prefill_token_threshold,
                   .scheduling_policy = config.scheduling_policy,
                   .policy_values = {},
                   .batching = config.batching,
                   .batch_wait_ms = config.batch_wait_ms,
                   .tpot_target_ms = config.tpot_target_ms,
                   .kv_cache_tokens = config.kv_cache_tokens,
                   .kv_cache_bytes = config.kv_cache_memory_bytes,
                   .prefix_caching = config.prefix_caching,
                   .swap_space = config.swap_space,
                   .preemption_mode = config.preemption_mode,
                   .kv_disk_tier = config.kv_disk_tier,
                   .kv_disk_tier_limit = config.kv_disk_tier_limit,
                   .speculation = {.method = config.spec_method,
                                   .model = config.spec_model,
                                   .rule = config.spec_rule,
                                   .tokens = config.spec_tokens,
                                   .branches = config.spec_branches,
                                   .adaptive = config.spec_adaptive,
                                   .jump_forward = config.jump_forward,
                                   .options = {}}};
  if (!(config.slow_reader_ms > 0.0 && config.slow_reader_ms <= kMaxSlowReaderMs)) {
    return make_error(ErrorCode::kInvalidArgument, "slow_reader_ms",
                      "slow_reader_ms is {}: must be above 0 and at most {}", config.slow_reader_ms, kMaxSlowReaderMs);
  }
  for (const auto& [name, value] : config.options) {
    if (auto fine = read_option(name, value, out); !fine) return fine.error();
  }
  if (auto fine = out.validate(); !fine) return fine.error();
  return out;
}

}  // namespace millrace::runtime
