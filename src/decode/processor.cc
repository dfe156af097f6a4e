#include "decode/processor.h"

#include <algorithm>
#include <string>

namespace millrace::decode {

std::vector<const Processor*> processors_by_place() {
  std::vector<const Processor*> all;
  for (const Processor& p : all_processors()) all.push_back(&p);
  std::ranges::sort(all, {}, &Processor::place);
  return all;
}

namespace {

bool gives_way_to_mirostat(const Processor& p) { return p.stage == Stage::kSample && p.name != "temperature"; }

}  // namespace

const Processor* find_processor(std::string_view name) {
  std::string word(name);
  std::ranges::replace(word, '-', '_');
  for (const Processor& p : all_processors()) {
    if (!p.name.empty() && (p.name == word || p.alias == word)) return &p;
  }
  return nullptr;
}

std::vector<std::string_view> sampler_names() {
  std::vector<std::string_view> names;
  for (const Processor* p : processors_by_place()) {
    if (!p->name.empty()) names.push_back(p->name);
  }
  return names;
}

std::vector<const Processor*> build_chain(const SamplingParams& params) {
  std::vector<const Processor*> always, chosen;
  for (const Processor* p : processors_by_place()) {
    if (p->name.empty()) {
      always.push_back(p);
    } else if (params.samplers.empty()) {
      chosen.push_back(p);
    }
  }
  for (const std::string& name : params.samplers) chosen.push_back(find_processor(name));
  if (params.mirostat_mode != 0) std::erase_if(chosen, [](const Processor* p) { return gives_way_to_mirostat(*p); });

  // Bans and bias come before the chosen ones; what stands behind all of them by its place, after.
  std::vector<const Processor*> chain;
  const auto append = [&](const Processor* p) {
    if (p->active(params)) chain.push_back(p);
  };
  for (const Processor* p : always) {
    if (p->stage != Stage::kSample) append(p);
  }
  for (const Processor* p : chosen) append(p);
  for (const Processor* p : always) {
    if (p->stage == Stage::kSample) append(p);
  }
  return chain;
}

std::span<const SamplerOption* const> all_sampler_options() {
  static const std::vector<const SamplerOption*> all = [] {
    std::vector<const SamplerOption*> options;
    for (const Processor* p : processors_by_place()) {
      for (const SamplerOption& option : p->options) options.push_back(&option);
    }
    return options;
  }();
  return all;
}

Result<void> set_sampler_options(SamplingParams& params, const OptionValues& given,
                                 const std::function<std::optional<double>(std::string_view)>& defaults) {
  for (const SamplerOption* option : all_sampler_options()) {
    const OptionSpec& spec = option->spec;
    if (const auto value = given.find(spec.name)) {
      if (auto valid = spec.check(spec.name, *value); !valid) return valid;
      option->set(params, *value);
    } else if (const auto otherwise = defaults(spec.name)) {
      option->set(params, *otherwise);
    }
  }
  return {};
}

}  // namespace millrace::decode
