#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace millrace::simulator {

// Events that a campaign must contain: if one never happens, the simulation does not test what it is for.
enum class Event : std::size_t {
  kAnswered,
  kStopString,
  kEndToken,
  kForkedAnswers,
  kCancelledWaiting,
  kCancelledPrefilling,
  kCancelledDecoding,
  kCancelledSwapped,
  kCancelledTwice,
  kTimedOut,
  kRejectedLate,
  kPaused,
  kResumed,
  kAbandonedSlowReader,
  kInvalidRejected,
  kQueueFull,
  kPreempted,
  kPreemptedTwice,
  kSwappedOut,
  kSwapResumed,
  kHostMemoryShort,
  kPrefixHit,
  kPartialPageMatched,
  kEvicted,
  kWindowPageEvicted,
  kPagesMoved,
  kSessionAppended,
  kSessionForked,
  kSessionForkedAmidPage,
  kSessionRolledBack,
  kSessionClosedBusy,
  kSessionUsedBusy,
  kBatchWaited,
  kTwoStepsInFlight,
  kTokenFed,
  kDraftAccepted,
  kDraftRejected,
  kBranchAccepted,
  kBeamsFound,
  kStepFailed,
  kNanRow,
  kClockJumped,
  kDiskFailed,
  kRestarted,
  kCrashed,
  kDiskHitAfterRestart,
  kDiskPageDamaged,
  kMovedWaiting,
  kMovedPrefilling,
  kMovedDecoding,
  kMovedSwapped,
  kMovedBeams,
  kMovedWithSession,
  kMovedSeveralAnswers,
  kSessionMoved,
  kMoveRejectedFull,
  kBadSnapshotRejected,
  kAdapterLoaded,
  kAdapterReplaced,
  kAdapterRemoved,
  kAdapterEvicted,
  kAdapterAwaited,
  kAdapterRefused,
  kAdapterAnswered,
  kRankDied,
  kRanksRestored,
  kRanksLostInFlight,
  kCommandLost,
  kCommandDoubled,
  kCommandDamaged,
  kCommandOvertaken,
  kCommandLate,
  kAnswerLost,
  kAnswerDoubled,
  kRowsLost,
  kRowsDoubled,
  kRankPageCopied,
  kRankPageRead,
  kRankPageWritten,
  kRanksAgreed,
  kRanksCounted,
  kRanksGivenUp,
  kCount
};
inline constexpr std::size_t kEvents = static_cast<std::size_t>(Event::kCount);
std::string_view to_string(Event event) noexcept;

// Counts of events.
class Coverage {
 public:
  void count(Event event, std::int64_t n = 1) noexcept { counts_[static_cast<std::size_t>(event)] += n; }
  std::int64_t of(Event event) const noexcept { return counts_[static_cast<std::size_t>(event)]; }
  void add(const Coverage& other) noexcept {
    for (std::size_t i = 0; i < kEvents; ++i) counts_[i] += other.counts_[i];
  }

 private:
  std::array<std::int64_t, kEvents> counts_{};
};

}  // namespace millrace::simulator
