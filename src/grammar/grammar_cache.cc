#include "grammar/grammar_cache.h"

#include <algorithm>
#include <map>
#include <utility>

#include "grammar/matcher.h"

namespace millrace::grammar {
namespace {

// A grammar that has grown so large is begun anew by the next request: those that use it keep it.
constexpr std::size_t kRenewBytes = CompiledGrammar::kMaxBytes / 4;

}  // namespace

GrammarCache::GrammarCache(std::shared_ptr<const text::Tokenizer> tokenizer, const WorkLimits& limits,
                           std::size_t max_bytes)
    : tokenizer_(std::move(tokenizer)), limits_(limits), max_bytes_(max_bytes) {}

std::shared_ptr<Vocabulary> GrammarCache::prepare() {
  std::call_once(made_vocabulary_, [&] { vocabulary_ = make_vocabulary(tokenizer_); });
  return vocabulary_;
}

Result<std::shared_ptr<CompiledGrammar>> GrammarCache::get(const std::string& key, std::uint32_t tenant,
                                                           const Build& build, const std::atomic<bool>* cancelled) {
  if (auto known = find(key)) return known;
  WorkMeter meter(limits_, cancelled);
  auto grammar = build(meter);
  if (!grammar) return grammar.error();
  auto compiled = compile(*grammar, prepare(), meter);
  if (!compiled) return compiled.error();
  insert({key, tenant, *compiled});
  return *std::move(compiled);
}

std::shared_ptr<CompiledGrammar> GrammarCache::find(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  const auto known = by_key_.find(key);
  if (known == by_key_.end()) {
    ++counters_.misses;
    return nullptr;
  }
  ++counters_.hits;
  entries_.splice(entries_.begin(), entries_, known->second);
  std::shared_ptr<CompiledGrammar>& grammar = known->second->grammar;
  if (grammar->failed() || grammar->memory() > kRenewBytes) grammar = grammar->renewed();
  return grammar;
}

void GrammarCache::insert(Entry entry) {
  const std::scoped_lock lock(mutex_);
  if (by_key_.contains(entry.key)) return;  // another thread was faster
  entries_.push_front(std::move(entry));
  by_key_.emplace(entries_.front().key, entries_.begin());
  make_room();
}

void GrammarCache::make_room() {
  std::map<std::uint32_t, std::size_t> of_tenant;
  std::size_t all = 0;
  for (const Entry& entry : entries_) {
    of_tenant[entry.tenant] += entry.bytes();
    all += entry.bytes();
  }
  while (all > max_bytes_ && entries_.size() > 1) {
    const auto most = std::ranges::max_element(of_tenant, {}, [](const auto& one) { return one.second; });
    const auto oldest =
        std::ranges::find(entries_.rbegin(), entries_.rend(), most->first, [](const Entry& e) { return e.tenant; });
    if (oldest == entries_.rend()) break;
    const std::size_t bytes = std::min(oldest->bytes(), most->second);
    most->second -= bytes;
    all -= std::min(all, bytes);
    by_key_.erase(oldest->key);
    entries_.erase(std::prev(oldest.base()));
    ++counters_.evicted;
  }
}

GrammarCache::Counters GrammarCache::counters() const {
  const std::scoped_lock lock(mutex_);
  Counters out = counters_;
  out.grammars = entries_.size();
  for (const Entry& entry : entries_) out.bytes += entry.bytes();
  return out;
}

}  // namespace millrace::grammar
