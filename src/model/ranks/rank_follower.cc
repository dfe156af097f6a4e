#include "model/ranks/rank_follower.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "base/log.h"
#include "model/ranks/command_check.h"
#include "model/ranks/rank_answers.h"

namespace millrace::model {
namespace {

constexpr std::chrono::hours kAnyTime{24 * 365 * 10};

// Takes what rank 0 alone wants.
class Nobody final : public LogitsConsumer {
 public:
  void take_logits(std::int64_t, const TensorView&) override {}
  void take_hidden(std::int64_t, const TensorView&) override {}
};

// Passes on to rank 0 what the last of several stages computes for it, in the blocks in which it comes.
class AnswersRows final : public LogitsConsumer {
 public:
  explicit AnswersRows(comm::Communicator& group) : group_(group) {}
  void take_logits(std::int64_t, const TensorView& logits) override { answer(logits); }
  void take_hidden(std::int64_t, const TensorView& hidden) override { answer(hidden); }

 private:
  void answer(const TensorView& rows) {
    const auto n = static_cast<std::size_t>(rows.rows() * rows.cols());
    group_.answer(std::as_bytes(std::span(rows.row(0), n)), kAnyTime).or_throw();
  }
  comm::Communicator& group_;
};

}  // namespace

bool RankFollower::follow_one() {
  const std::vector<std::byte> bytes = communicator_.receive(kAnyTime).or_throw();
  RankCommand command;
  ByteReader reader(bytes);
  reader(command);
  if (!reader.ok() || reader.left() > 0) refuse_command("its bytes end early or late");
  commands_key_ = next_commands_key(commands_key_, bytes);
  std::visit([this](auto& of_kind) { follow(of_kind); }, command);
  return !ended_;
}

template <typename Answer>
void RankFollower::answer(Answer answer) {
  ByteWriter bytes;
  bytes(answer);
  send(bytes.take());
}

void RankFollower::send(std::vector<std::byte> message) {
  append_number(message, commands_key_);
  communicator_.answer(message, kAnyTime).or_throw();
}

RankPages& RankFollower::pages_of(std::uint32_t store) {
  const auto at = stores_.find(store);
  if (at == stores_.end() || at->second == nullptr) refuse_command(fmt::format("there is no store {}", store));
  return *at->second;
}

RankFollower::OfPage RankFollower::check_page(const RankPage& page) {
  RankPages& store = pages_of(page.store);
  kv::PageDevice* device = page.windowed ? store.device().windowed() : &store.device();
  const StepLimits limits = store.limits();
  const std::int64_t pages = page.windowed ? limits.window_pages : limits.pages;
  if (device == nullptr || page.page < 0 || page.page >= pages) {
    refuse_command(fmt::format("there is no page {}", page.page));
  }
  return {*device, pages};
}

void RankFollower::follow(RankStep& step) {
  const RankTimer timer(communicator_);
  Nobody nobody;
  AnswersRows answers(communicator_);
  const bool has_results = communicator_.stage() > 0 && communicator_.stage() + 1 == communicator_.stages();
  LogitsConsumer& sink = has_results && communicator_.place() == 0 ? static_cast<LogitsConsumer&>(answers) : nobody;
  RankPages& pages = pages_of(step.store);
  StepLimits limits = pages.limits();
  limits.stages = communicator_.stages();
  check_command(step, limits);
  BatchInput input{.tokens = std::move(step.tokens),
                   .sequences = {},
                   .window_pages = {},
                   .rope_lengths = std::move(step.rope_lengths),
                   .adapters = {},
                   .logit_rows = std::move(step.logit_rows),
                   .scored_rows = std::move(step.scored_rows),
                   .hidden_rows = std::move(step.hidden_rows),
                   .layers = std::move(step.layers),
                   .sink = &sink,
                   .state_layers = std::move(step.state_layers),
                   .number = step.number};
  std::span<const std::int32_t> left = step.pages;
  const auto take = [&](std::int64_t n) {
    const auto taken = left.first(static_cast<std::size_t>(n));
    left = left.subspan(taken.size());
    return taken;
  };
  for (const RankStep::Sequence& rows : step.sequences) {
    input.sequences.push_back({rows.first_row, rows.n_rows, rows.first_position, take(rows.pages)});
    const auto window = take(rows.window_pages);
    if (step.has_windows) input.window_pages.push_back(window);
  }
  for (const RankStep::Adapter& rows : step.adapters) {
    const Adapter* adapter = adapters_.find(rows.adapter);
    if (adapter == nullptr) refuse_command(fmt::format("there is no adapter {}", rows.adapter));
    input.adapters.push_back({rows.first_row, rows.n_rows, adapter, rows.scale});
  }
  pages.compute(input);
  RankReport report = model_.report(step.checks_residual);
  report.step = step.number;
  report.time = timer.time();
  answer(std::move(report));
}

void RankFollower::follow(const RankStore& command) {
  if (stores_.contains(command.store)) refuse_command(fmt::format("there is a store {} already", command.store));
  check_command(command, stores_.size());
  auto& kept = stores_[command.store];
  auto made = model_.make_pages(command);
  RankStoreMade answered;
  if (made) {
    kept = std::move(*made);
    const kv::PageDevice* windowed = kept->device().windowed();
    answered = {true, kept->device().page_bytes(), windowed == nullptr ? 0 : windowed->page_bytes()};
  } else {
    log::warn("rank {}: {}", communicator_.rank(), made.error().message);
  }
  answer(answered);
}

void RankFollower::follow(const RankPageCopy& copy) {
  const auto [device, pages] = check_page(copy.from);
  if (copy.to < 0 || copy.to >= pages) refuse_command(fmt::format("there is no page {}", copy.to));
  device.copy(copy.from.page, copy.to);
}

void RankFollower::follow(const RankPageRead& read) {
  const kv::PageDevice& device = check_page(read.page).device;
  std::vector<std::byte> own(device.page_bytes());
  device.read(read.page.page, own);
  send(std::move(own));
}

void RankFollower::follow(const RankPageWrite& write) {
  kv::PageDevice& device = check_page(write.page).device;
  const std::size_t bytes = device.page_bytes();
  const auto rank = static_cast<std::size_t>(communicator_.rank());
  if (write.sizes.size() <= rank || write.sizes[rank] != bytes) {
    refuse_command(fmt::format("a page of another size: must have {} bytes", bytes));
  }
  const std::size_t before =  // whatever it adds up to
      std::accumulate(write.sizes.begin() + 1, write.sizes.begin() + communicator_.rank(), std::size_t{0});
  if (write.bytes.size() < before || write.bytes.size() - before < bytes) {
    refuse_command(fmt::format("a page is too short: {} bytes of all ranks", write.bytes.size()));
  }
  device.write(write.page.page, std::span(write.bytes).subspan(before, bytes));
}

void RankFollower::follow(const RankGiveBack& command) {
  const auto [device, pages] = check_page({command.store, command.windowed, 0});
  check_command(command, pages);
  const auto kept = [&command](kv::BlockId page) {  // whether an odd number of borders is before it
    return (std::ranges::upper_bound(command.kept, page) - command.kept.begin()) % 2 == 1;
  };
  const auto own = [&](std::int32_t part) {
    return static_cast<std::int32_t>(std::int64_t{device.memory_parts()} * part / command.parts);
  };
  for (std::int32_t part = own(command.first_part); part < own(command.end_part); ++part) device.give_back(part, kept);
}

void RankFollower::follow(const RankStatistics& statistics) {
  if (statistics.start) {
    counts_rounding_ = true;
    return model_.start_rounding_statistics();
  }
  if (!std::exchange(counts_rounding_, false)) refuse_command("statistics end that have not begun");
  RankCounts counts;
  for (const backend::RoundingStatistics& of_weight : model_.take_rounding_statistics()) {
    counts.weights.push_back({of_weight.weight, of_weight.outputs, of_weight.moved});
  }
  answer(std::move(counts));
}

void RankFollower::follow(const RankAdapter& adapter) {
  check_command(adapter);
  if (adapters_.find(adapter.adapter) != nullptr) {
    refuse_command(fmt::format("there is an adapter {} already", adapter.adapter));
  }
  answer(adapters_.read(adapter));
}

void RankFollower::follow(const RankAdapterAhead& adapter) {
  check_command(adapter);
  adapters_.read_ahead(adapter);
}

}  // namespace millrace::model
