#include "simulator/fake_ranks.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checksum.h"
#include "model/ranks/rank_counts.h"
#include "model/ranks/stage_link.h"

namespace millrace::simulator {
namespace {

constexpr int kAttempts = 5;  // of ranks that end while they start, as runtime::restart_ranks()
constexpr std::int64_t kMaxRows = 4096;
constexpr std::size_t kStepsWithStatistics = 3;
const std::vector<std::string> kInt8x2 = {"w"};

}  // namespace

// One of the processes behind rank 0.
struct FakeRanks::Follower {
  Follower(const Config& config, const FakeHeads& heads, RankNetwork& network, int number)
      : end(network.communicator(number)),
        part(config.model, heads, *end,
             [this, &network, number](std::uint64_t step) { note(step, network.history(number)); }),
        follower(*end, part, config.read) {}
  // Of a step that is doubled the first counts.
  void note(std::uint64_t step, std::uint64_t history) { histories.try_emplace(step, history); }

  std::unique_ptr<comm::Communicator> end;
  FakePart part;
  model::RankFollower follower;
  std::map<std::uint64_t, std::uint64_t> histories;  // of the commands up to each step
};

FakeRanks::FakeRanks(Config config)
    : config_(std::move(config)),
      heads_(heads_of_ranks(config_.shape)),
      network_({.stage_ranks = config_.shape.tensor,
                .stages = config_.shape.stages,
                .memory = exchange_bytes(config_.shape.tensor, kMaxRows)},
               *config_.env, *config_.faults,
               [this](int rank) { followers_[static_cast<std::size_t>(rank) - 1]->follower.follow_one(); }),
      end_(network_.communicator(0)),
      leader_(std::make_unique<model::RankLeader>(end_)) {
  start_followers();
}

FakeRanks::~FakeRanks() {
  const auto sent = [&](const model::RankCommand& kind) {
    return network_.sent(static_cast<std::uint8_t>(kind.index()));
  };
  config_.coverage->count(Event::kRankPageCopied, sent(model::RankPageCopy{}));
  config_.coverage->count(Event::kRankPageRead, sent(model::RankPageRead{}));
  config_.coverage->count(Event::kRankPageWritten, sent(model::RankPageWrite{}));
}

void FakeRanks::start_followers() {
  followers_.clear();
  for (int rank = 1; rank < network_.ranks(); ++rank) {
    followers_.push_back(std::make_unique<Follower>(config_, heads_[static_cast<std::size_t>(rank)], network_, rank));
  }
}

void FakeRanks::restart_followers() {
  followers_.clear();
  network_.restart();
  start_followers();
  steps_.clear();
  counted_rows_ = -1;
  leader_->restore();
}

void FakeRanks::ask_for_pages() {
  const FakeDevice* windowed = device_->windowed();
  const auto own_bytes = static_cast<std::uint64_t>(device_->block_tokens()) * heads_[0].bytes.size();
  auto made = leader_->make_store({.encoding = "stamps",
                                   .layout = "",
                                   .block_tokens = device_->block_tokens(),
                                   .exceptions = {},
                                   .pages = device_->pages(),
                                   .window_pages = windowed == nullptr ? 0 : windowed->pages()},
                                  {true, own_bytes, windowed == nullptr ? 0 : own_bytes});
  std::shared_ptr<kv::PageRanks> pages = std::move(made).or_throw();
  store_ = pages->store();
  device_->share(std::move(pages), heads_);
  leader_->send(model::RankStatistics{.start = true});
  counted_rows_ = 0;
}

void FakeRanks::begin_with(FakeDevice& device) {
  device_ = &device;
  device.report_spoiled([this](bool windowed, kv::BlockId page, std::int64_t slot) { spoil(windowed, page, slot); });
  for (bool again = false;; again = true) {
    try {
      if (again) restart_followers();
      return ask_for_pages();
    } catch (const LoadError& failure) {
      check_loss(failure.error());
      if (config_.verdict->failed()) throw;
    }
  }
}

// A rank that lags behind must have the stamps until it has read them.
void FakeRanks::spoil(bool windowed, kv::BlockId page, std::int64_t slot) {
  for (int rank = 1; rank < network_.ranks(); ++rank) {
    network_.in_order(rank, [this, rank, windowed, page, slot] {
      FakeDevice* device = followers_[static_cast<std::size_t>(rank) - 1]->part.device();
      if (device != nullptr) (windowed ? device->windowed() : device)->spoil(page, slot);
    });
  }
}

template <typename Work>
void FakeRanks::or_lose(const Work& work) {
  try {
    work();
  } catch (const LoadError& failure) {
    if (failure.error().code == ErrorCode::kUnavailable) {
      if (!steps_.empty()) config_.coverage->count(Event::kRanksLostInFlight);
      steps_.clear();
      leader_->lose(failure.error());
    }
    throw;
  }
}

void FakeRanks::begin(const model::BatchInput& input) {
  const std::uint64_t number = leader_->step(input, store_);
  or_lose([&] {
    Step step{.number = number, .history = network_.history(0)};
    compute(input, step);
    if (counted_rows_ >= 0) counted_rows_ += std::ssize(input.tokens);
    steps_.push_back(std::move(step));
  });
}

void FakeRanks::compute(const model::BatchInput& input, Step& step) {
  step.rows = computed_rows(input);
  write_stamps(input, *device_);
  step.states = add_ranks(*end_, sum_rows(input, step.rows, *device_, heads_[0], config_.model.window), {});
  const auto bytes = std::as_bytes(std::span(step.states));
  leader_->computed(leader_->checks_residual() ? checksum(bytes) : 0);
  if (stages() > 1) model::pass_rows(*end_, bytes, step.number, std::ssize(step.rows));
}

FakeResults FakeRanks::take_results(const model::BatchInput& input, const Step& step) {
  if (stages() == 1) return results_of(input, step.rows, step.states, config_.model.vocab_size);
  FakeResults results;
  const auto take = [&](std::int64_t rows, std::int64_t columns, std::int64_t most, std::vector<float>& values) {
    for (; rows > 0; rows -= most) {
      const auto n = static_cast<std::size_t>(std::min(rows, most) * columns);
      const std::vector<std::byte> block = leader_->next_result(0, n * sizeof(float));
      values.resize(values.size() + n);
      std::memcpy(values.data() + values.size() - n, block.data(), block.size());
    }
  };
  const std::int64_t vocab_size = config_.model.vocab_size, rows = std::ssize(input.logit_rows);
  take(rows, vocab_size, rows, results.logits);
  take(std::ssize(input.scored_rows), vocab_size, model::kSinkRows, results.scored);
  take(std::ssize(input.hidden_rows), kStateSize, model::kSinkRows, results.hidden);
  return results;
}

FakeResults FakeRanks::finish(const model::BatchInput& input) {
  FakeResults results;
  or_lose([&] {
    const Step step = std::move(steps_.front());
    steps_.pop_front();
    results = take_results(input, step);
    leader_->finish_step(0, leader_->timer());
    check_histories(step);
    config_.coverage->count(Event::kRanksAgreed);
    if (counted_rows_ >= 0 && step.number >= kStepsWithStatistics && steps_.empty()) end_statistics();
  });
  return results;
}

// What the ranks have counted together decides for all of them.
void FakeRanks::end_statistics() {
  const std::int64_t rows = std::exchange(counted_rows_, -1);
  std::vector<backend::RoundingStatistics> all = {count_rounding(heads_[0], rows)};
  model::add_counts(all, leader_->take_statistics());
  std::int64_t outputs = 0, moved = 0;
  for (const FakeHeads& heads : heads_) {
    outputs += count_rounding(heads, rows).outputs;
    moved += count_rounding(heads, rows).moved;
  }
  if (all.size() != 1 || all[0].outputs != outputs || all[0].moved != moved) {
    config_.verdict->fail("T1", 0, "the ranks have counted {} outputs of {}", all[0].outputs, outputs);
  }
  config_.coverage->count(Event::kRanksCounted);
  leader_->set_int8x2(kInt8x2);
  config_.model.int8x2 = kInt8x2;
}

void FakeRanks::recover() {
  device_->spoil_all();
  for (int attempt = 1;; ++attempt) {
    try {
      restart_followers();
      return config_.coverage->count(Event::kRanksRestored);
    } catch (const LoadError& failure) {
      check_loss(failure.error());
      if (attempt == kAttempts || failure.error().code != ErrorCode::kUnavailable) throw;
    }
  }
}

// There is a reason; without one they would be lost again and again.
void FakeRanks::check_loss(const Error& why) {
  if (!network_.disturbed()) config_.verdict->fail("T2", 0, "ranks are lost without a fault: {}", why.message);
}

// A result that was taken is of ranks that have followed the same commands.
void FakeRanks::check_histories(const Step& step) {
  for (std::size_t i = 0; i < followers_.size(); ++i) {
    auto& histories = followers_[i]->histories;
    const auto at = histories.find(step.number);
    if (at == histories.end() || at->second != step.history) {
      config_.verdict->fail("T1", 0, "rank {} has followed other commands up to step {}, whose results were taken",
                            i + 1, step.number);
    }
    histories.erase(histories.begin(), histories.upper_bound(step.number));
  }
}

void FakeRanks::check() {
  if (!leader_->intact()) return;
  network_.drain();
  if (!network_.tampered() && network_.all_live()) check_pages();
}

void FakeRanks::check_pages() {
  for (std::size_t i = 0; i < followers_.size(); ++i) {
    if (!network_.idle(static_cast<int>(i) + 1)) continue;  // it has not got all commands yet
    FakeDevice* device = followers_[i]->part.device();
    const Stamp kept = heads_[i + 1].kept();
    const auto compare = [&](const FakeDevice& whole, const FakeDevice& part, const char* kind) {
      const auto all = whole.stamps(), own = part.stamps();
      for (std::size_t slot = 0; slot < all.size(); ++slot) {
        if ((all[slot] & kept) == own[slot]) continue;
        const auto page = static_cast<std::int64_t>(slot) / whole.block_tokens();
        return config_.verdict->fail("T1", 0, "rank {} has {:016x} in slot {} of {} {}, rank 0 wrote {:016x}", i + 1,
                                     own[slot], static_cast<std::int64_t>(slot) % whole.block_tokens(), kind, page,
                                     all[slot] & kept);
      }
    };
    if (device == nullptr) {
      config_.verdict->fail("T1", 0, "rank {} has no pages", i + 1);
      continue;
    }
    compare(*device_, *device, "page");
    if (device_->windowed() != nullptr) compare(*device_->windowed(), *device->windowed(), "window page");
  }
}

}  // namespace millrace::simulator
