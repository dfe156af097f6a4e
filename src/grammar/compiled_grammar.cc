#include "grammar/compiled_grammar.h"

#include <algorithm>
#include <utility>

#include "grammar/compile.h"

namespace millrace::grammar {
namespace {

constexpr int kFewBytes = 8;
constexpr std::size_t kMaxMaskBytes = std::size_t{16} << 20;

void set_bit(std::span<std::uint64_t> words, std::int32_t token) {
  words[static_cast<std::size_t>(token) / 64] |= std::uint64_t{1} << (token % 64);
}

}  // namespace

CompiledGrammar::CompiledGrammar(std::shared_ptr<const TransitionNetwork> network,
                                 std::shared_ptr<Vocabulary> vocabulary, std::vector<std::string> ignored)
    : network_(std::move(network)),
      vocabulary_(std::move(vocabulary)),
      ignored_(std::move(ignored)),
      states_(*network_, kMaxBytes),
      path_(vocabulary_->longest() + 1) {
  note_memory();
}

std::shared_ptr<CompiledGrammar> CompiledGrammar::renewed() const {
  return std::make_shared<CompiledGrammar>(network_, vocabulary_, ignored_);
}

void CompiledGrammar::note_memory() {
  memory_.store(network_->memory() + states_.memory() + masks_bytes_, std::memory_order_relaxed);
}

void CompiledGrammar::fill_mask(ParseStates::Id state, std::span<std::uint64_t> words, bool ends) {
  std::ranges::fill(words, 0);
  if (state == ParseStates::kDead || states_.failed()) return;
  const Mask& mask = mask_of(state);
  if (states_.failed()) return;
  for (const auto& part : mask.parts) {
    for (std::size_t i = 0; i < part->words.size(); ++i) words[i] |= part->words[i];
    for (const std::int32_t token : part->tokens) set_bit(words, token);
  }
  for (const std::int32_t token : mask.others) set_bit(words, token);
  vocabulary_->add_twins(words);
  if (!ends || !states_.may_end(state)) return;
  for (const std::int32_t token : vocabulary_->ends()) set_bit(words, token);
}

const CompiledGrammar::Mask& CompiledGrammar::mask_of(ParseStates::Id state) {
  if (const auto known = masks_.find(state); known != masks_.end()) return known->second;
  states_.allow(kMaxWork);
  if (masks_bytes_ > kMaxMaskBytes) {
    masks_.clear();
    masks_bytes_ = 0;
  }
  Mask mask;
  const std::vector<ParseStates::Way> ways(states_.ways(state).begin(), states_.ways(state).end());
  Chain chain;
  for (const ParseStates::Way& way : ways) {
    chain = {way.state};
    each_chain(chain, way.frame, [&](const Chain& one, std::int32_t frame) { add_part(mask, one, frame); });
  }
  std::ranges::sort(mask.others);
  mask.others.erase(std::ranges::unique(mask.others).begin(), mask.others.end());
  masks_bytes_ += sizeof(Mask) + mask.others.capacity() * sizeof(std::int32_t) + mask.parts.capacity() * 16 + 64;
  const Mask& kept = masks_.emplace(state, std::move(mask)).first->second;
  note_memory();
  return kept;
}

// The ways out of the rule of the chain's last state, each to the end of a rule that is a unit and the frame behind it.
template <typename Visit>
void CompiledGrammar::each_chain(Chain& chain, std::int32_t frame, const Visit& visit) {
  if (network_->rule(network_->state(chain.back()).rule).unit) {
    visit(chain, frame);
    return;
  }
  const std::vector<ParseStates::Way> callers(states_.frame(frame).begin(), states_.frame(frame).end());
  for (const ParseStates::Way& caller : callers) {
    if (caller.state < 0) {
      visit(chain, states_.frame_of(caller));
      continue;
    }
    chain.push_back(caller.state);
    each_chain(chain, caller.frame, visit);
    chain.pop_back();
  }
}

void CompiledGrammar::add_part(Mask& mask, const Chain& chain, std::int32_t frame) {
  auto local = local_mask(chain);
  if (!local->through.empty()) {
    const ParseStates::Id behind = states_.after(frame);
    for (const std::uint32_t node : local->through) {
      walk(node, behind, [&](std::int32_t token) { mask.others.push_back(token); }, [](std::uint32_t) {});
    }
  }
  if (std::ranges::find(mask.parts, local) == mask.parts.end()) mask.parts.push_back(std::move(local));
}

std::shared_ptr<const LocalMask> CompiledGrammar::local_mask(const Chain& chain) {
  std::shared_ptr<const LocalMask>& known = locals_[chain];
  if (known != nullptr) return known;
  if (is_narrow(chain[0])) return known = make_local_mask(chain);
  const auto described = follow_.describe(*network_, chain, vocabulary_->longest());
  Vocabulary::Key key(described.begin(), described.end());
  known = vocabulary_->find(key);
  if (known == nullptr) {
    known = make_local_mask(chain);
    if (!states_.failed()) vocabulary_->remember(std::move(key), known);
  }
  return known;
}

// So few tokens begin as the state does that to look at them is as fast as to ask who has done so before.
bool CompiledGrammar::is_narrow(std::int32_t state) const {
  int bytes = 0;
  for (const auto& edge : network_->bytes_of(state)) bytes += edge.last - edge.first + 1;
  return bytes <= kFewBytes;
}

std::shared_ptr<const LocalMask> CompiledGrammar::make_local_mask(const Chain& chain) {
  auto mask = std::make_shared<LocalMask>();
  const ParseStates::Id start = states_.outside(chain[0], std::span(chain).subspan(1));
  walk(
      0, start, [&](std::int32_t token) { mask->tokens.push_back(token); },
      [&](std::uint32_t node) { mask->through.push_back(node); });
  if (mask->tokens.size() > 2 * vocabulary_->words()) {
    mask->words.resize(vocabulary_->words());
    for (const std::int32_t token : mask->tokens) set_bit(mask->words, token);
    mask->tokens = {};
  }
  mask->tokens.shrink_to_fit();
  return mask;
}

// The tokens below a node that fit from `state`, which is where the node's bytes lead; `through` hears of nodes that
// may be outside() with tokens below them.
template <typename Found, typename Through>
void CompiledGrammar::walk(std::uint32_t node, ParseStates::Id state, const Found& found, const Through& through) {
  const auto nodes = vocabulary_->nodes();
  path_[nodes[node].depth] = state;
  for (std::uint32_t i = node + 1; i < nodes[node].end;) {
    const Vocabulary::Node& at = nodes[i];
    const ParseStates::Id next = states_.step(path_[at.depth - 1u], at.byte);
    if (next == ParseStates::kDead) {
      i = at.end;
      continue;
    }
    path_[at.depth] = next;
    if (at.token >= 0) found(at.token);
    if (at.end > i + 1 && states_.may_leave(next)) through(i);
    ++i;
  }
}

Result<std::shared_ptr<CompiledGrammar>> compile(const Grammar& grammar, std::shared_ptr<Vocabulary> vocabulary,
                                                 WorkMeter& meter) {
  auto network = build_network(grammar, &vocabulary->tokenizer(), meter);
  if (!network) return network.error();
  auto made = std::make_shared<CompiledGrammar>(std::make_shared<const TransitionNetwork>(std::move(*network)),
                                                std::move(vocabulary), grammar.ignored());
  std::vector<std::uint64_t> words(made->vocabulary().words());
  made->fill_mask(made->states().start(), words, true);
  return made;
}

}  // namespace millrace::grammar
