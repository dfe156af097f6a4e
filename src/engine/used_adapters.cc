#include "engine/used_adapters.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "base/sha256.h"
#include "model/adapters/adapter.h"

namespace millrace::engine {

std::unique_ptr<model::AdapterClaim> claim_adapters(const std::shared_ptr<model::AdapterStore>& store,
                                                    const std::vector<AdapterUse>& adapters) {
  std::vector<model::AdapterRef> wanted;
  for (const AdapterUse& use : adapters) {
    wanted.push_back(store->of_key(use.key));
    if (wanted.back() == nullptr) return nullptr;
  }
  return std::make_unique<model::AdapterClaim>(store, std::move(wanted));
}

Result<void> find_adapters(std::vector<AdapterUse>& adapters, Executor& executor) {
  for (AdapterUse& use : adapters) {
    use.adapter = executor.adapter(use);
    if (use.adapter == nullptr) {
      return make_error(ErrorCode::kNotFound, "lora", "no adapter here has the content {}", use.key);
    }
    if (auto shared = executor.share(*use.adapter); !shared) return shared;
  }
  return {};
}

std::vector<UsedAdapter> used_adapters(const std::vector<AdapterUse>& found, std::span<const std::int32_t> prompt) {
  std::vector<UsedAdapter> used;
  for (const AdapterUse& use : found) {
    const std::vector<std::int32_t>& invocation = use.adapter->invocation_tokens();
    const auto last = std::ranges::find_end(prompt, invocation);
    if (invocation.empty()) {
      used.push_back({&use, 0});
    } else if (!last.empty()) {
      used.push_back({&use, last.begin() - prompt.begin()});
    }
  }
  return used;
}

StepInput::Adapters step_adapters(const std::vector<UsedAdapter>& used) {
  StepInput::Adapters adapters;
  for (std::size_t i = 0; i < used.size(); ++i) {
    adapters.ids[i] = used[i].use->adapter->id();
    adapters.scales[i] = used[i].use->scale;
    adapters.firsts[i] = used[i].first;
  }
  return adapters;
}

// What is added before the first activated adapter begins does not know of it. From there on all count, in their order.
void add_to_scope(const std::vector<UsedAdapter>& used, kv::PrefixScope& scope) {
  Sha256 of_all, activated;
  std::int64_t n_of_all = 0, from = std::numeric_limits<std::int64_t>::max();
  for (const UsedAdapter& adapter : used) {
    const std::string text =
        fmt::format("{} {:08x}\n", adapter.use->key, std::bit_cast<std::uint32_t>(adapter.use->scale));
    const std::string placed = fmt::format("{} {}", adapter.first, text);
    activated.update(std::as_bytes(std::span(placed)));
    if (adapter.first > 0) {
      from = std::min(from, adapter.first);
    } else {
      of_all.update(std::as_bytes(std::span(text)));
      ++n_of_all;
    }
  }
  if (n_of_all > 0) scope.adapter = hex(of_all.finish());
  if (n_of_all == std::ssize(used)) return;
  scope.activated = hex(activated.finish());
  scope.activated_from = from;
}

}  // namespace millrace::engine
