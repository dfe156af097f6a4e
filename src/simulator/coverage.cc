#include "simulator/coverage.h"

namespace millrace::simulator {
namespace {

constexpr std::array<std::string_view, kEvents> kNames = {"answered",
                                                          "stop_string",
                                                          "end_of_answer",
                                                          "forked_answers",
                                                          "cancelled_waiting",
                                                          "cancelled_prefilling",
                                                          "cancelled_decoding",
                                                          "cancelled_swapped",
                                                          "cancelled_twice",
                                                          "timed_out",
                                                          "rejected_late",
                                                          "paused",
                                                          "resumed",
                                                          "abandoned_slow_reader",
                                                          "invalid_rejected",
                                                          "queue_full",
                                                          "preempted",
                                                          "preempted_twice",
                                                          "swapped_out",
                                                          "swap_resumed",
                                                          "host_memory_short",
                                                          "prefix_hit",
                                                          "partial_page_matched",
                                                          "evicted",
                                                          "pages_moved",
                                                          "session_appended",
                                                          "session_forked",
                                                          "session_forked_amid_page",
                                                          "session_rolled_back",
                                                          "session_closed_busy",
                                                          "session_used_busy",
                                                          "batch_waited",
                                                          "two_steps_in_flight",
                                                          "draft_accepted",
                                                          "draft_rejected",
                                                          "branch_accepted",
                                                          "beams_found",
                                                          "step_failed",
                                                          "nan_row",
                                                          "clock_jumped",
                                                          "disk_failed",
                                                          "restarted",
                                                          "crashed",
                                                          "disk_hit_after_restart",
                                                          "disk_page_damaged"};

}  // namespace

std::string_view to_string(Event event) noexcept { return kNames[static_cast<std::size_t>(event)]; }

}  // namespace millrace::simulator
