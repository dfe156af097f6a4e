#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/request.h"
#include "simulator/coverage.h"
#include "simulator/reference.h"
#include "simulator/verdict.h"

namespace millrace::simulator {

inline constexpr std::size_t kInTransit = static_cast<std::size_t>(-1);

// A request that an engine has accepted, and the state of its answers.
struct Asked {
  struct Choice {
    std::unique_ptr<Reference> reference;
    std::string text;
    std::int64_t tokens = 0;
    bool ended = false;
  };
  engine::RequestId id = 0;
  std::uint64_t serial = 0;  // unique in the run; ids repeat after a restart
  engine::Request request;
  std::vector<std::int32_t> prompt;  // with the session's tokens in front
  std::int64_t from_session = 0;     // the first so many tokens of `prompt` are the session's
  std::size_t client = 0;
  std::size_t engine = 0;  // index of the engine that has it; kInTransit while it moves
  TimePoint arrival{};
  std::optional<TimePoint> deadline;
  std::vector<Choice> choices;
  bool forked = false;
  int ended = 0;
  std::int64_t must_end_by = -1;  // last step at which it may end, once cancelled or timed out; -1 = neither
  std::int64_t unread = 0;        // outputs that its client has not read
  bool paused = false;
  TimePoint paused_since{};
};

// Circumstances in which other outcomes of a request are allowed.
struct Circumstances {
  bool caching = false;       // the prefix cache is on
  bool rejects_late = false;  // the policy rejects requests that would miss their targets
  bool faulty = false;        // a step has just failed, or had NaN
};

// Compares every output with the answer's reference (D1), checks the rules of streams (S1, S2), and knows which
// requests are still owed an end (P3).
class Oracle {
 public:
  Oracle(Verdict& verdict, Coverage& coverage) : verdict_(verdict), coverage_(coverage) {}

  void open(Asked asked, std::int64_t longest);
  // Checks one output. Returns the request, removed from the book, if that was its last output.
  std::optional<Asked> take(const engine::Output& output, const Circumstances& terms);
  // Fails if a cancelled or timed-out request is still open after its last allowed step.
  void check_overdue(std::int64_t step);
  void forget_all();  // the process has ended

  Asked* find(engine::RequestId id);
  const std::map<engine::RequestId, Asked>& live() const noexcept { return live_; }
  std::map<engine::RequestId, Asked>& live() noexcept { return live_; }
  std::size_t answers_in_flight(std::size_t engine) const;
  bool any_live(std::size_t engine) const;
  // Gives a request its new id after a move.
  void rename(engine::RequestId from, engine::RequestId to);
  // The tokens of prompt and first answer, without an end-of-answer token. Also for a request that has just ended.
  const std::vector<std::int32_t>& text_of(engine::RequestId id) const { return texts_[text_of_.at({id, 0})].tokens; }
  std::int64_t output_tokens() const noexcept { return output_tokens_; }
  std::uint64_t digest() const noexcept { return digest_; }

 private:
  // All texts computed under a salt: the prefix cache may know them.
  struct Text {
    std::string salt;
    std::uint64_t serial;
    std::vector<std::int32_t> tokens;
  };
  void check_token(Asked& asked, const engine::Output& output);
  void check_end(Asked& asked, const engine::Output& output, const Circumstances& terms);
  void check_error(const Asked& asked, const engine::Output& output, const Circumstances& terms);
  std::int64_t max_cached(const Asked& asked, bool caching) const;
  void absorb(std::uint64_t value) noexcept;

  Verdict& verdict_;
  Coverage& coverage_;
  std::map<engine::RequestId, Asked> live_;
  std::vector<Text> texts_;
  std::set<std::string> searched_;  // salts with beam searches, which compute texts that are never output
  std::map<std::pair<engine::RequestId, int>, std::size_t> text_of_;
  std::int64_t output_tokens_ = 0;
  std::uint64_t next_serial_ = 1;
  std::uint64_t digest_ = 0;
};

}  // namespace millrace::simulator
