#include "model/ranks/rank_follower.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <utility>

#include "base/checksum.h"
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

void RankFollower::run() {
  while (!ended_) {
    const std::vector<std::byte> bytes = communicator_.receive(kAnyTime).or_throw();
    RankCommand command;
    ByteReader reader(bytes);
    reader(command);
    if (!reader.ok() || reader.left() > 0) refuse_command("its bytes end early or late");
    command_key_ = checksum(bytes);
    std::visit([this](auto& of_kind) { follow(of_kind); }, command);
  }
}

template <typename Answer>
void RankFollower::answer(Answer answer) {
  ByteWriter bytes;
  bytes(answer);
  communicator_.answer(bytes.take(), kAnyTime).or_throw();
}

RankFollower::Store& RankFollower::store_of(std::uint32_t number) {
  const auto at = stores_.find(number);
  if (at == stores_.end() || at->second.store == nullptr) refuse_command(fmt::format("there is no store {}", number));
  return at->second;
}

kv::KvStore& RankFollower::pages_of(const RankPage& page) {
  kv::KvStore& store = *store_of(page.store).store;
  kv::KvStore* pages = page.windowed ? store.windowed() : &store;
  if (pages == nullptr || page.page < 0 || page.page >= pages->pages()) {
    refuse_command(fmt::format("there is no page {}", page.page));
  }
  return *pages;
}

void RankFollower::follow(RankStep& step) {
  const RankTimer timer(communicator_);
  Nobody nobody;
  AnswersRows answers(communicator_);
  const bool has_results = communicator_.stage() > 0 && communicator_.stage() + 1 == communicator_.stages();
  LogitsConsumer& sink = has_results && communicator_.place() == 0 ? static_cast<LogitsConsumer&>(answers) : nobody;
  const Store& of_step = store_of(step.store);
  const kv::KvStore& store = *of_step.store;
  const ModelSpec& spec = model_.spec();
  check_command(step, {.vocabulary = spec.vocab_size,
                       .positions = spec.positions == PositionKind::kNone ? std::numeric_limits<std::int32_t>::max()
                                                                          : spec.context_length,
                       .layers = std::ssize(spec.layers),
                       .stages = communicator_.stages(),
                       .block_tokens = store.block_tokens(),
                       .pages = store.pages(),
                       .window_pages = store.windowed() == nullptr ? 0 : store.windowed()->pages(),
                       .window = of_step.window});
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
                   .state_layers = std::move(step.state_layers)};
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
  model_.forward(input, store);
  RankReport report = model_.report(step.checks_residual);
  report.step = step.number;
  report.command_key = command_key_;
  report.time = timer.time();
  answer(std::move(report));
}

void RankFollower::follow(const RankStore& command) {
  if (stores_.contains(command.store)) refuse_command(fmt::format("there is a store {} already", command.store));
  check_command(command, stores_.size());
  Store& made = stores_[command.store];
  made.encoding = command.encoding;
  made.layout = command.layout;
  backend::KvFormat format{.encoding = made.encoding, .block_tokens = command.block_tokens, .layout = made.layout};
  auto exceptions = std::make_shared<std::vector<backend::KvException>>();
  for (const RankStore::Exception& exception : command.exceptions) made.exceptions.push_back(exception.encoding);
  for (std::size_t i = 0; i < command.exceptions.size(); ++i) {
    exceptions->push_back({command.exceptions[i].first, command.exceptions[i].last, made.exceptions[i]});
  }
  if (!exceptions->empty()) format.exceptions = std::move(exceptions);
  const kv::KvGroups groups = model_.kv_groups(format);
  made.window = groups.window();
  auto store = kv::KvStore::create(backend_, groups, command.pages, command.window_pages);
  RankStoreMade answered;
  if (store) {
    made.store = std::make_unique<kv::KvStore>(*std::move(store));
    answered = {true, made.store->page_bytes(), made.store->windowed() ? made.store->windowed()->page_bytes() : 0};
  } else {
    log::warn("rank {}: {}", communicator_.rank(), store.error().message);
  }
  answer(answered);
}

void RankFollower::follow(const RankPageCopy& copy) {
  kv::KvStore& store = pages_of(copy.from);
  if (copy.to < 0 || copy.to >= store.pages()) refuse_command(fmt::format("there is no page {}", copy.to));
  store.copy(copy.from.page, copy.to);
}

void RankFollower::follow(const RankPageRead& read) {
  const kv::KvStore& store = pages_of(read.page);
  std::vector<std::byte> own(store.page_bytes());
  store.read(read.page.page, own);
  communicator_.answer(own, kAnyTime).or_throw();
}

void RankFollower::follow(const RankPageWrite& write) {
  kv::KvStore& store = pages_of(write.page);
  const auto rank = static_cast<std::size_t>(communicator_.rank());
  if (write.sizes.size() <= rank || write.sizes[rank] != store.page_bytes()) {
    refuse_command(fmt::format("a page of another size: must have {} bytes", store.page_bytes()));
  }
  const std::size_t before =  // whatever it adds up to
      std::accumulate(write.sizes.begin() + 1, write.sizes.begin() + communicator_.rank(), std::size_t{0});
  if (write.bytes.size() < before || write.bytes.size() - before < store.page_bytes()) {
    refuse_command(fmt::format("a page is too short: {} bytes of all ranks", write.bytes.size()));
  }
  store.write(write.page.page, std::span(write.bytes).subspan(before, store.page_bytes()));
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
