#include <fmt/core.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "base/memory_env.h"
#include "kv/disk_tier.h"
#include "kv/page_needs.h"
#include "kv/swapped_pages.h"
#include "kv/testing/stamped_device.h"

namespace millrace::kv {
namespace {

// Random commands on a cache, checked against what must be true after each: every page of a live sequence holds its
// own stamps, a match finds what was published just now, and the cache counts what it holds.
struct Command {
  std::uint32_t operation, a, b, c;
};

struct Sequence {
  PrefixScope scope;
  std::vector<std::int32_t> tokens;
  std::vector<std::uint64_t> stamps;
  std::int64_t computed = 0;
  BlockTable table;
  std::optional<PrefixMatch> match;  // planned, not attached yet
  std::optional<SwapTicket> ticket;
};

struct Shape {
  std::int64_t block_tokens = 8;
  std::int32_t pages = 32;
  bool on_disk = false;
  std::int64_t window = 0;  // 0: none
  std::int32_t window_pages = 0;
};

class Trial {
 public:
  explicit Trial(const Shape& shape)
      : block_tokens_(shape.block_tokens),
        pages_(shape.pages),
        on_disk_(shape.on_disk),
        window_(shape.window),
        window_pages_(shape.window_pages),
        device_(shape.window > 0 ? StampedDevice(shape.pages, shape.block_tokens, shape.window, shape.window_pages)
                                 : StampedDevice(shape.pages, shape.block_tokens)) {
    start();
  }

  // Empty, or what is wrong after the command.
  std::string run(const Command& command) {
    time_ += std::chrono::milliseconds(command.c % 50);
    error_.clear();
    if (sequences_.empty() || (command.operation % 16 == 0 && sequences_.size() < 7)) {
      arrive(command);
    } else {
      Sequence& sequence = *sequences_[command.a % sequences_.size()];
      if (sequence.match) {
        attach(sequence, false);
      } else if (sequence.ticket) {
        come_back(sequence);
      } else {
        act(sequence, command);
      }
    }
    check(command);
    return error_;
  }

  std::int64_t evicted_window_pages() const { return cache_->window() == nullptr ? 0 : cache_->window()->evicted(); }
  const CacheCounters& counters() const { return cache_->counters(); }
  std::int64_t loaded() const { return loaded_ + cache_->counters().loaded_pages; }

 private:
  void start() {
    const std::size_t bytes = device_.page_bytes() * (window_ > 0 ? 2 : 1);
    if (on_disk_) {
      disk_ = DiskTier::open(env_, {.directory = "kv",
                                    .limit_bytes = 100 * (bytes + 64),
                                    .origin = {1, bytes, block_tokens_},
                                    .segment_bytes = 10 * (bytes + 64)})
                  .or_throw();
    }
    cache_.emplace(CacheConfig{.block_tokens = block_tokens_,
                               .pages = pages_,
                               .swap_bytes = device_.page_bytes() * 12,
                               .window = window_,
                               .window_pages = window_pages_},
                   device_, disk_.get());
    cache_->set_recompute_ms_per_page(1);
  }
  // Everything in memory is gone.
  void restart() {
    loaded_ += cache_->counters().loaded_pages;
    sequences_.clear();
    cache_.reset();
    disk_.reset();
    start();
  }
  void fail(std::string text) {
    if (error_.empty()) error_ = std::move(text);
  }
  Retention retention(const Command& command) const {
    Retention result{static_cast<int>(command.b % 3) * 30, std::nullopt};
    if (command.b % 5 == 0) result.time_to_live = std::chrono::milliseconds(command.b % 200);
    return result;
  }

  // Some are those of adapters that begin later.
  static PrefixScope scope_of(const Command& command) {
    PrefixScope scope{.adapter = command.a % 3 == 0 ? "adapter" : "", .salt = command.b % 4 == 0 ? "other" : ""};
    if (command.c % 3 == 0) {
      scope.activated_from = 1 + command.c / 3 % 4 * 13;
      scope.activated = fmt::format("{} from {}", command.c % 2, scope.activated_from);
    }
    return scope;
  }
  // Another of a session's requests goes on with it.
  void change_scope(Sequence& sequence, const Command& command) {
    PrefixScope scope = scope_of(command);
    scope.adapter = sequence.scope.adapter;
    scope.salt = sequence.scope.salt;
    sequence.computed = std::min(sequence.computed, common_tokens(sequence.scope, scope, block_tokens_));
    if (sequence.computed == 0) sequence.table.truncate(0);
    if (scope != sequence.scope) sequence.table.set_cursor({});
    sequence.scope = scope;
    sequence.computed = cache_->rewind(sequence.table, sequence.computed);
    sequence.stamps = StampedDevice::stamps(sequence.scope, sequence.tokens);
  }

  // Begins as an earlier one did, as prompts do.
  void arrive(const Command& command) {
    auto made = std::make_unique<Sequence>(Sequence{.scope = scope_of(command),
                                                    .tokens = {},
                                                    .stamps = {},
                                                    .table = cache_->make_table(),
                                                    .match = std::nullopt,
                                                    .ticket = std::nullopt});
    if (!history_.empty()) {
      const auto& old = history_[command.c % history_.size()];
      made->tokens.assign(old.begin(), old.begin() + static_cast<std::ptrdiff_t>(command.b % (old.size() + 1)));
    }
    write_more(*made, 1 + command.a % (3 * block_tokens_ + 2), command.b);
    made->match = cache_->match(made->scope, made->tokens);
    if (command.c % 2 == 0) attach(*made, true);
    sequences_.push_back(std::move(made));
  }
  void write_more(Sequence& sequence, std::int64_t n, std::uint32_t seed) {
    for (std::int64_t i = 0; i < n; ++i) sequence.tokens.push_back(static_cast<std::int32_t>((seed >> (i % 24)) & 1));
    sequence.stamps = StampedDevice::stamps(sequence.scope, sequence.tokens);
    if (history_.size() < 16) history_.emplace_back();
    history_[seed % history_.size()] = sequence.tokens;
  }

  void attach(Sequence& sequence, bool at_once) {
    const PageCount had = cache_->room();
    const PrefixMatch& match = *sequence.match;
    sequence.computed = cache_->attach(sequence.table, match, time_);
    if (sequence.computed > match.tokens) fail("more attached than matched");
    const PageCount most = needed(*cache_, match, match.tokens);
    const bool cut = sequence.computed < match.tokens;  // and its window reaches further back
    if (at_once && !cut && !(had - cache_->room()).fits_in(most)) fail("attaching took more than it needs");
    if (at_once && cut && match.disk.empty() && match.partial == kNoBlock) fail("attached less than matched just now");
    sequence.match.reset();
  }
  void come_back(Sequence& sequence) {
    const std::int64_t tokens = sequence.ticket->pages() * block_tokens_;
    const bool fits = needed(*cache_, *sequence.ticket, tokens).fits_in(cache_->room());
    if (cache_->swap_in(*sequence.ticket, sequence.table) != fits) fail("swap_in");
    if (fits) sequence.ticket.reset();
  }

  void act(Sequence& sequence, const Command& command) {
    const auto length = static_cast<std::int64_t>(sequence.tokens.size());
    switch (command.operation % 16) {
      case 1: {
        cache_->publish(sequence.scope, sequence.table, known(sequence), true, retention(command), time_);
        const auto found = cache_->match(sequence.scope, known(sequence));
        if (window_ == 0 && found.tokens < sequence.computed)
          fail(fmt::format("{} of {} found", found.tokens, sequence.computed));
        break;
      }
      case 2: {  // other tokens from here on
        sequence.computed = command.b % (sequence.computed + 1);
        if (window_ > 0) {
          sequence.computed = cache_->rewind(sequence.table, sequence.computed);
        } else if (command.c % 2 == 0) {
          sequence.table.truncate(sequence.computed);
        }
        sequence.tokens.resize(static_cast<std::size_t>(sequence.computed));
        write_more(sequence, 1 + command.c % 40, command.b);
        break;
      }
      case 3:
        if (sequences_.size() < 7) fork(sequence);
        break;
      case 4: leave(sequence, command); break;
      case 5:
        if (sequence.computed > 0) sequence.ticket = cache_->swap_out(sequence.table, sequence.computed);
        if (sequence.ticket && !sequence.table.blocks().empty()) fail("swapped out, and still there");
        if (sequence.ticket && command.c % 4 == 0) move_ticket(sequence, command);
        break;
      case 6: compact(command); break;
      case 7:
        if (command.c % 4 == 0) forget(sequence, command);
        break;
      case 8:
        if (command.c % 8 == 0) cache_->clear();
        break;
      case 9:
        if (command.c % 4 == 0) restart();
        break;
      case 10:
        if (command.c % 4 == 0) {
          change_scope(sequence, command);
          break;
        }
        [[fallthrough]];
      default:
        if (sequence.computed == length) write_more(sequence, 1 + command.c % 3, command.b);
        compute(sequence, 1 + command.b % (static_cast<std::int64_t>(sequence.tokens.size()) - sequence.computed));
        cache_->publish(sequence.scope, sequence.table, known(sequence), false, retention(command), time_);
    }
  }
  static std::span<const std::int32_t> known(const Sequence& sequence) {
    return std::span(sequence.tokens).first(static_cast<std::size_t>(sequence.computed));
  }

  // Through another process, and back to an earlier token.
  void move_ticket(Sequence& sequence, const Command& command) {
    PageContents contents = cache_->export_pages(*sequence.ticket, sequence.computed);
    if (!check_contents(*cache_, contents, sequence.computed)) fail("an export that cannot be imported");
    sequence.ticket.emplace(std::move(contents));
    sequence.computed = rewind(*cache_, *sequence.ticket, sequence.computed - command.b % (sequence.computed + 1) / 4);
    if (sequence.computed == 0) sequence.ticket.reset();
  }
  void compute(Sequence& sequence, std::int64_t n) {
    sequence.table.release_behind(sequence.computed);
    const std::int64_t end = sequence.computed + n;
    const std::int32_t needed = cache_->needed(sequence.table, sequence.computed, end), had = cache_->available();
    const bool reserved = cache_->reserve(sequence.table, sequence.computed, end);
    if (reserved != (needed <= had)) fail(fmt::format("{} pages needed, {} available: {}", needed, had, reserved));
    if (!reserved) return;
    // A page that two sequences shared counts twice until one of them has its own.
    if (cache_->available() < had - needed) fail("took more than needed");
    device_.compute(sequence.table, sequence.stamps, sequence.computed, end);
    sequence.computed = end;
  }
  void fork(const Sequence& sequence) {
    auto made = std::make_unique<Sequence>(Sequence{.scope = sequence.scope,
                                                    .tokens = sequence.tokens,
                                                    .stamps = sequence.stamps,
                                                    .computed = sequence.computed,
                                                    .table = cache_->make_table(),
                                                    .match = std::nullopt,
                                                    .ticket = std::nullopt});
    made->table.share(sequence.table.blocks(), sequence.table.behind());
    sequences_.push_back(std::move(made));
  }
  void leave(Sequence& sequence, const Command& command) {
    if (command.b % 2 == 0) {
      cache_->publish(sequence.scope, sequence.table, known(sequence), true, retention(command), time_);
    }
    std::erase_if(sequences_, [&](const auto& other) { return other.get() == &sequence; });
  }
  void compact(const Command& command) {
    std::vector<BlockTable*> tables;
    for (auto& sequence : sequences_) tables.push_back(&sequence->table);
    const auto most = static_cast<std::int32_t>(command.b % 9);
    if (cache_->compact(tables, most) > most) fail("more copies than allowed");
    if (most == 0 || command.c % 4 != 0) return;
    for (int copies = 0; const std::int32_t moved = cache_->compact(tables, most); copies += moved) {
      if (copies > 16 * cache_->total_pages()) return fail("compaction goes round in circles");
    }
    const std::uint64_t changes = cache_->changes();
    if (cache_->compact(tables, 100) > 0 || cache_->changes() != changes) fail("compaction was not at its end");
  }
  void forget(const Sequence& sequence, const Command& command) {
    const std::int64_t from = command.b % (sequence.computed + 1);
    cache_->forget(sequence.scope, known(sequence), from);
    const auto found = cache_->match(sequence.scope, known(sequence));
    if (static_cast<std::int64_t>(found.pages.size()) * block_tokens_ > from) fail("found what was forgotten");
  }

  void check(const Command& command) {
    std::vector<const BlockTable*> tables;
    for (const auto& sequence : sequences_) tables.push_back(&sequence->table);
    if (command.a % 4 == 0) cache_->check_integrity(tables);
    for (const auto& sequence : sequences_) {
      if (sequence->ticket || sequence->match) continue;
      const auto wrong = device_.first_wrong(sequence->table, sequence->stamps, sequence->computed);
      if (wrong != sequence->computed) fail(fmt::format("position {} of {} is wrong", wrong, sequence->computed));
    }
  }

  std::int64_t block_tokens_;
  std::int32_t pages_;
  bool on_disk_;
  std::int64_t window_;
  std::int32_t window_pages_;
  StampedDevice device_;
  MemoryEnv env_;
  std::unique_ptr<DiskTier> disk_;
  std::optional<PagedCache> cache_;
  std::int64_t loaded_ = 0;
  std::vector<std::unique_ptr<Sequence>> sequences_;
  std::vector<std::vector<std::int32_t>> history_;
  TimePoint time_{};
  std::string error_;
};

struct Seen : CacheCounters {
  std::int64_t evicted_window_pages = 0;
};

// `seen` adds up what happened, so that the test can say that it tried everything.
std::string run(const Shape& shape, const std::vector<Command>& commands, Seen* seen = nullptr) {
  Trial trial(shape);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (std::string error = trial.run(commands[i]); !error.empty()) return fmt::format("command {}: {}", i, error);
  }
  if (seen) {
    seen->loaded_pages += trial.loaded();
    seen->hit_tokens += trial.counters().hit_tokens;
    seen->copied_pages += trial.counters().copied_pages;
    seen->evicted_pages += trial.counters().evicted_pages;
    seen->evicted_window_pages += trial.evicted_window_pages();
    seen->moved_pages += trial.counters().moved_pages;
    seen->swapped_in_pages += trial.counters().swapped_in_pages;
  }
  return {};
}

// The same failure with as few commands as taking out one after the other yields.
std::vector<Command> shrink(const Shape& shape, std::vector<Command> commands) {
  for (std::size_t length = commands.size(); length > 0; length /= 2) {
    for (std::size_t i = 0; i + length <= commands.size();) {
      auto fewer = commands;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i),
                  fewer.begin() + static_cast<std::ptrdiff_t>(i + length));
      if (run(shape, fewer).empty()) {
        i += length;
      } else {
        commands = std::move(fewer);
      }
    }
  }
  return commands;
}

unsigned current_seed = 0;
int current_block_tokens = 0;
// A CHECK ends the process: say which trial it was.
extern "C" void say_seed(int) {
  std::fprintf(stderr, "seed %u, %d tokens a page\n", current_seed, current_block_tokens);
}

class PagedCacheModel : public testing::TestWithParam<int> {
 protected:
  // Random commands on caches of the shapes that `shape` makes of a seed.
  static Seen run_all(const std::function<Shape(std::mt19937&, Shape)>& shape) {
    std::signal(SIGABRT, say_seed);
    constexpr unsigned kSeeds = 600;
    constexpr std::size_t kCommands = 400;
    Seen seen;
    for (unsigned seed = 1; seed <= kSeeds; ++seed) {
      current_seed = seed;
      current_block_tokens = GetParam();
      std::mt19937 random(seed);
      std::vector<Command> commands(kCommands);
      for (Command& command : commands) {
        command = {static_cast<std::uint32_t>(random()), static_cast<std::uint32_t>(random()),
                   static_cast<std::uint32_t>(random()), static_cast<std::uint32_t>(random())};
      }
      const Shape tried =
          shape(random, {.block_tokens = GetParam(), .pages = GetParam() == 1 ? 160 : 32, .on_disk = seed % 2 == 0});
      if (run(tried, commands, &seen).empty()) continue;
      const auto fewer = shrink(tried, commands);
      std::string text;
      for (const Command& c : fewer) text += fmt::format("{{{}, {}, {}, {}}}, ", c.operation, c.a, c.b, c.c);
      ADD_FAILURE() << "seed " << seed << ", window " << tried.window << ", " << tried.window_pages
                    << " window pages: " << run(tried, fewer) << " after " << text;
      break;
    }
    std::signal(SIGABRT, SIG_DFL);
    return seen;
  }
};

TEST_P(PagedCacheModel, HoldsUnderRandomCommands) {
  const Seen seen = run_all([](std::mt19937&, Shape shape) { return shape; });
  EXPECT_LT(200, seen.hit_tokens);
  EXPECT_LT(200, seen.evicted_pages);
  EXPECT_LT(200, seen.moved_pages);
  EXPECT_LT(200, seen.swapped_in_pages);
  EXPECT_LT(200, seen.loaded_pages);
  EXPECT_LT(GetParam() > 1 ? 200 : -1, seen.copied_pages);  // pages of one token have no part worth a copy
}

TEST_P(PagedCacheModel, HoldsWithWindowsUnderRandomCommands) {
  const Seen seen = run_all([](std::mt19937& random, Shape shape) {
    shape.window = 1 + static_cast<std::int64_t>(random() % (4 * shape.block_tokens + 8));
    const std::int32_t least = min_window_pages(shape.window, shape.block_tokens);
    shape.window_pages = least + static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(shape.pages / 2));
    return shape;
  });
  EXPECT_LT(200, seen.hit_tokens);
  EXPECT_LT(200, seen.evicted_pages);
  EXPECT_LT(200, seen.evicted_window_pages);
  EXPECT_LT(100, seen.moved_pages);
  EXPECT_LT(200, seen.swapped_in_pages);
  EXPECT_LT(200, seen.loaded_pages);
  EXPECT_LT(GetParam() > 1 ? 200 : -1, seen.copied_pages);
}

INSTANTIATE_TEST_SUITE_P(Pages, PagedCacheModel, testing::Values(1, 8, 16, 32, 64));

}  // namespace
}  // namespace millrace::kv
