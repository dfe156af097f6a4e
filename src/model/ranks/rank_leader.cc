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
  ~PagesOfRanks() override { leader_.end_store(store_); }
  std::size_t page_bytes(bool windowed) const noexcept override {
    std::size_t bytes = 0;
    for (std::size_t rank = 1; rank < sizes_[windowed].size(); ++rank) bytes += sizes_[windowed][rank];
    return bytes;
  }
  bool intact() const noexcept override { return leader_.intact(); }
  std::uint32_t store() const noexcept override { return store_; }
  void copy(bool windowed, kv::BlockId from, kv::BlockId to) override {
    leader_.try_send(RankPageCopy{{store_, windowed, from}, to});
  }
  void read(bool windowed, kv::BlockId page, std::span<const std::byte> own, std::span<std::byte> out) override {
    std::vector<std::byte> all;
    if (!leader_.try_send(RankPageRead{{store_, windowed, page}})) return;
    if (!leader_.try_gather(sizes_[windowed], own, all)) return;
    std::copy(all.begin() + static_cast<std::ptrdiff_t>(own.size()), all.end(), out.begin());
  }
  void write(bool windowed, kv::BlockId page, std::span<const std::byte> in) override {
    leader_.try_send(RankPageWrite{{store_, windowed, page}, {in.begin(), in.end()}});
  }

 private:
  RankLeader& leader_;
  std::uint32_t store_;
  std::vector<std::size_t> sizes_[2];  // of pages and of window pages, by rank
};

}  // namespace

RankLeader::~RankLeader() { try_send(RankEnd{}); }

void RankLeader::send(const RankCommand& command) {
  if (lost_) throw LoadError(*lost_);
  ByteWriter bytes;
  bytes(command);
  if (auto sent = communicator_->send(bytes.take(), kTimeout); !sent) {
    lost_ = sent.error();
    throw LoadError(*lost_);
  }
}

bool RankLeader::try_send(const RankCommand& command) noexcept {
  try {
    send(command);
    return true;
  } catch (const LoadError& failure) {
    log::debug("ranks: {}", failure.what());
    return false;
  }
}

bool RankLeader::try_gather(std::span<const std::size_t> sizes, std::span<const std::byte> own,
                            std::vector<std::byte>& all) noexcept {
  try {
    all = gather_of_ranks(backend_, sizes, own, true);
    return true;
  } catch (const LoadError& failure) {
    lost_ = failure.error();
    return false;
  }
}

void RankLeader::restore() {
  lost_.reset();
  adapters_.clear();  // what steps still name they get again
  for (const auto& [number, store] : stores_) {
    send(store.command);
    for (const StoreBytes& of_rank : gather_of_ranks(backend_, store.made)) {
      if (of_rank.is_made == 0) {
        throw_load_error(ErrorCode::kResourceExhausted, "", "a rank's memory is too short for its keys and values");
      }
    }
  }
  if (!int8x2_.empty()) send(RankInt8x2{int8x2_});
}

void RankLeader::end_store(std::uint32_t store) noexcept {
  stores_.erase(store);
  try_send(RankStoreEnd{store});
}

void RankLeader::set_int8x2(std::vector<std::string> weights) {
  send(RankInt8x2{weights});
  int8x2_ = std::move(weights);
}

void RankLeader::share(const Adapter& adapter) {
  const auto send_one = [this](const RankCommand& command) { send(command); };
  if (adapters_.has(adapter)) return;
  try {
    adapters_.share(adapter, *communicator_, backend_, send_one);
  } catch (const LoadError& failure) {
    if (failure.error().code == ErrorCode::kUnavailable) lost_ = failure.error();
    throw;
  }
}

void RankLeader::step(const BatchInput& input, std::uint32_t store) {
  adapters_.send_news([this](const RankCommand& command) { send(command); });
  for (const AdapterRange& range : input.adapters) share(*range.adapter);
  RankStep step{.store = store,
                .tokens = input.tokens,
                .sequences = {},
                .pages = {},
                .rope_lengths = input.rope_lengths,
                .logit_rows = input.logit_rows,
                .scored_rows = input.scored_rows,
                .hidden_rows = input.hidden_rows,
                .layers = input.layers,
                .has_windows = !input.window_pages.empty(),
                .adapters = {}};
  for (const AdapterRange& range : input.adapters) {
    step.adapters.push_back({range.adapter->id(), range.first_row, range.n_rows, range.scale});
  }
  for (std::size_t i = 0; i < input.sequences.size(); ++i) {
    const backend::SequenceRows& rows = input.sequences[i];
    const auto window = step.has_windows ? input.window_pages[i] : std::span<const std::int32_t>();
    step.sequences.push_back(
        {rows.first_row, rows.n_rows, rows.first_position, std::ssize(rows.pages), std::ssize(window)});
    step.pages.insert(step.pages.end(), rows.pages.begin(), rows.pages.end());
    step.pages.insert(step.pages.end(), window.begin(), window.end());
  }
  send(step);
}

Result<std::shared_ptr<kv::PageRanks>> RankLeader::make_store(RankStore store, const StoreBytes& made) {
  store.store = next_store_++;
  send(store);
  const std::vector<StoreBytes> all = gather_of_ranks(backend_, made);
  std::vector<int> without;
  std::vector<std::size_t> pages, windows;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].is_made == 0) without.push_back(static_cast<int>(rank));
    pages.push_back(all[rank].page);
    windows.push_back(all[rank].window_page);
  }
  stores_[store.store] = {store, made};
  auto others = std::make_shared<PagesOfRanks>(*this, store.store, std::move(pages), std::move(windows));
  if (!without.empty()) {
    return make_error(ErrorCode::kResourceExhausted, "kv-cache-tokens",
                      "the memory of rank {} is too short for {} pages of keys and values", fmt::join(without, ", "),
                      store.pages);
  }
  return std::shared_ptr<kv::PageRanks>(std::move(others));
}

}  // namespace millrace::model
