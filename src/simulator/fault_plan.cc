#include "simulator/fault_plan.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "sched/step_cost.h"

namespace millrace::simulator {

Result<void> FaultPlan::on_step(const engine::StepInput& input, std::span<float> logits) {
  const double ms = scenario_.machine.milliseconds(work_of(input)) * (1.0 + scenario_.noise * random_.unit());
  env_.time += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(ms));
  if (happens(scenario_.faults.failed_step)) {
    failures_ = true;
    coverage_.count(Event::kStepFailed);
    return make_error(ErrorCode::kInternal, "", "the device failed");
  }
  const std::int64_t rows = std::ssize(input.logit_rows) + std::ssize(input.sampled_rows);
  if (rows > 0 && happens(scenario_.faults.nan_row)) {
    failures_ = true;
    coverage_.count(Event::kNanRow);
    const auto row = logits.subspan(static_cast<std::size_t>(random_.in(0, rows - 1) * scenario_.executor.vocab_size),
                                    static_cast<std::size_t>(scenario_.executor.vocab_size));
    std::ranges::fill(row, std::numeric_limits<float>::quiet_NaN());
  }
  return {};
}

bool FaultPlan::happens(RankFault fault, Of of) {
  const RankFaultRates& rates = scenario_.faults.ranks;
  const auto decide = [&](int one_in, Event event) {
    if (calm_ || one_in == 0 || !of_ranks_.one_in(one_in)) return false;
    coverage_.count(event);
    return true;
  };
  const auto which = [&](Event command, Event answer, Event rows) {
    return of == Of::kCommand ? command : of == Of::kAnswer ? answer : rows;
  };
  switch (fault) {
    case RankFault::kLost: return decide(rates.lost, which(Event::kCommandLost, Event::kAnswerLost, Event::kRowsLost));
    case RankFault::kDoubled:
      return decide(rates.doubled, which(Event::kCommandDoubled, Event::kAnswerDoubled, Event::kRowsDoubled));
    case RankFault::kDamaged: return decide(rates.damaged, Event::kCommandDamaged);
    case RankFault::kOvertaken: return decide(rates.overtaken, Event::kCommandOvertaken);
    case RankFault::kLate: return decide(rates.late, Event::kCommandLate);
    case RankFault::kDied: return decide(rates.died, Event::kRankDied);
  }
  return false;
}

bool FaultPlan::host_memory_short() {
  if (!happens(scenario_.faults.host_memory)) return false;
  coverage_.count(Event::kHostMemoryShort);
  return true;
}

FaultPlan::Restart FaultPlan::run_exclusive() {
  if (happens(scenario_.faults.clock_jump)) {
    coverage_.count(Event::kClockJumped);
    const auto jump = random_.chance(50) ? std::chrono::milliseconds(random_.in(100, 5000))
                                         : std::chrono::milliseconds(std::chrono::hours(24));
    env_.time += jump;
    jumped_ += jump;
  }
  if (happens(scenario_.faults.disk)) {
    coverage_.count(Event::kDiskFailed);
    if (random_.chance(50)) {
      env_.fail_write = env_.writes + random_.in(0, 3);
    } else {
      env_.disk_bytes = 0;
      for (const auto& [path, content] : env_.files) env_.disk_bytes += content.size();
      env_.disk_bytes += static_cast<std::uint64_t>(random_.in(0, 2000));
    }
    if (random_.chance(30)) env_.fail_read = env_.reads + random_.in(0, 5);
  }
  if (!happens(scenario_.faults.restart)) return Restart::kNone;
  return random_.chance(50) ? Restart::kCrash : Restart::kOrderly;
}

void FaultPlan::crash() { env_.crash(random_.chance(50) ? static_cast<std::uint64_t>(random_.in(0, 3000)) : 1u << 30); }

void FaultPlan::damage_pages() {
  if (!scenario_.faults.damaged_pages) return;
  for (auto& [path, content] : env_.files) {
    if (content.empty() || !random_.chance(50)) continue;
    for (std::int64_t i = random_.in(1, 64); i > 0; --i) {
      const auto at = static_cast<std::size_t>(random_.in(0, static_cast<std::int64_t>(content.size()) - 1));
      content[at] = static_cast<char>(content[at] ^ static_cast<char>(random_.in(1, 255)));
    }
  }
}

void FaultPlan::repair_disk() {
  env_.fail_write = env_.fail_read = -1;
  env_.disk_bytes = std::numeric_limits<std::uint64_t>::max();
}

}  // namespace millrace::simulator
