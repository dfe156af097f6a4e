#include "model/ranks/rank_leader.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "model/ranks/rank_gather.h"

namespace millrace::model {
namespace {

constexpr std::chrono::seconds kTimeout{30};  // for room in the ring of commands

// Pages of a store of the other ranks.
class PagesOfRanks final : public kv::PageRanks {
 public:
  PagesOfRanks(RankLeader& leader, std::uint32_t store, std::vector<std::size_t> pages,
               std::vector<std::size_t> windows)
      : leader_(leader), store_(store), sizes_{std::move(pages), std::move(windows)} {}
  ~PagesOfRanks() override {
    try {
      leader_.send(RankStoreEnd{store_});
    } catch (const LoadError&) {  // they have ended
    }
  }
  std::size_t page_bytes(bool windowed) const noexcept override {
    std::size_t bytes = 0;
    for (std::size_t rank = 1; rank < sizes_[windowed].size(); ++rank) bytes += sizes_[windowed][rank];
    return bytes;
  }
  std::uint32_t store() const noexcept override { return store_; }
  void copy(bool windowed, kv::BlockId from, kv::BlockId to) override {
    leader_.send(RankPageCopy{{store_, windowed, from}, to});
  }
  void read(bool windowed, kv::BlockId page, std::span<const std::byte> own, std::span<std::byte> out) override {
    leader_.send(RankPageRead{{store_, windowed, page}});
    const std::vector<std::byte> all = gather_of_ranks(leader_.backend(), sizes_[windowed], own, true);
    std::copy(all.begin() + static_cast<std::ptrdiff_t>(own.size()), all.end(), out.begin());
  }
  void write(bool windowed, kv::BlockId page, std::span<const std::byte> in) override {
    leader_.send(RankPageWrite{{store_, windowed, page}, {in.begin(), in.end()}});
  }

 private:
  RankLeader& leader_;
  std::uint32_t store_;
  std::vector<std::size_t> sizes_[2];  // of pages and of window pages, by rank
};

}  // namespace

RankLeader::~RankLeader() {
  try {
    send(RankEnd{});
  } catch (const LoadError& failure) {
    log::debug("ranks: {}", failure.what());
  }
}

void RankLeader::send(const RankCommand& command) {
  ByteWriter bytes;
  bytes(command);
  communicator_->send(bytes.take(), kTimeout).or_throw();
}

void RankLeader::step(const BatchInput& input, std::uint32_t store) {
  RankStep step{.store = store,
                .tokens = input.tokens,
                .sequences = {},
                .rope_lengths = input.rope_lengths,
                .logit_rows = input.logit_rows,
                .scored_rows = input.scored_rows,
                .hidden_rows = input.hidden_rows,
                .layers = input.layers,
                .has_windows = !input.window_pages.empty()};
  for (std::size_t i = 0; i < input.sequences.size(); ++i) {
    const backend::SequenceRows& rows = input.sequences[i];
    RankStep::Sequence& sequence = step.sequences.emplace_back();
    sequence.first_row = rows.first_row;
    sequence.n_rows = rows.n_rows;
    sequence.first_position = rows.first_position;
    sequence.pages.assign(rows.pages.begin(), rows.pages.end());
    if (step.has_windows) sequence.window_pages.assign(input.window_pages[i].begin(), input.window_pages[i].end());
  }
  send(step);
}

Result<std::shared_ptr<kv::PageRanks>> RankLeader::make_store(RankStore store, const StoreBytes& made) {
  store.store = stores_++;
  send(store);
  const std::vector<StoreBytes> all = gather_of_ranks(backend_, made);
  std::vector<int> without;
  std::vector<std::size_t> pages, windows;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].is_made == 0) without.push_back(static_cast<int>(rank));
    pages.push_back(all[rank].page);
    windows.push_back(all[rank].window_page);
  }
  auto others = std::make_shared<PagesOfRanks>(*this, store.store, std::move(pages), std::move(windows));
  if (!without.empty()) {
    return make_error(ErrorCode::kResourceExhausted, "kv-cache-tokens",
                      "the memory of rank {} is too short for {} pages of keys and values", fmt::join(without, ", "),
                      store.pages);
  }
  return std::shared_ptr<kv::PageRanks>(std::move(others));
}

}  // namespace millrace::model
