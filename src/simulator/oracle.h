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

// A request that an engine has accepted, and what of its answers has come.
struct Asked {
  struct Choice {
    std::unique_ptr<Reference> reference;
    std::string text;
    std::int64_t tokens = 0;
    bool ended = false;
  };
  engine::RequestId id = 0;
  std::uint64_t serial = 0;  // ids begin anew with each process
  engine::Request request;
  std::vector<std::int32_t> prompt;  // with what its session holds
  std::int64_t from_session = 0;     // of them
  std::size_t client = 0;
  std::size_t engine = 0;  // that has it; kInTransit between two
  TimePoint arrival{};
  std::optional<TimePoint> deadline;
  std::vector<Choice> choices;
  bool forked = false;
  int ended = 0;
  std::int64_t must_end_by = -1;  // step; cancelled, or its time is up
  std::int64_t unread = 0;        // outputs that its reader has not taken
  bool paused = false;
  TimePoint paused_since{};
};

// What may end an answer early, or shorten its way.
struct Circumstances {
  bool caching = false;       // requests share what they begin with alike
  bool rejects_late = false;  // one that would miss its targets is refused before it has begun
  bool faulty = false;        // something has just failed
};

// Every answer compared with its reference as it comes (D1), and with the rules of a stream (S1, S2); who is still owed
// one (P3).
class Oracle {
 public:
  Oracle(Verdict& verdict, Coverage& coverage) : verdict_(verdict), coverage_(coverage) {}

  void open(Asked asked, std::int64_t longest);
  // Returns the request if this was its last output; it is in the book no more.
  std::optional<Asked> take(const engine::Output& output, const Circumstances& terms);
  // What must have ended by this step has.
  void check_overdue(std::int64_t step);
  void forget_all();  // the process died

  Asked* find(engine::RequestId id);
  const std::map<engine::RequestId, Asked>& live() const noexcept { return live_; }
  std::map<engine::RequestId, Asked>& live() noexcept { return live_; }
  std::size_t answers_in_flight(std::size_t engine) const;
  bool any_live(std::size_t engine) const;
  // The request goes on under another id.
  void rename(engine::RequestId from, engine::RequestId to);
  // The tokens of prompt and first answer, without one that only ends it; also of a request that has just ended.
  const std::vector<std::int32_t>& text_of(engine::RequestId id) const { return texts_[text_of_.at({id, 0})].tokens; }
  std::int64_t output_tokens() const noexcept { return output_tokens_; }
  std::uint64_t digest() const noexcept { return digest_; }

 private:
  // Everything that was ever said under a salt: what may be found cached.
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
  std::set<std::string> searched_;  // salts under which beams have said what was not emitted
  std::map<std::pair<engine::RequestId, int>, std::size_t> text_of_;
  std::int64_t output_tokens_ = 0;
  std::uint64_t next_serial_ = 1;
  std::uint64_t digest_ = 0;
};

}  // namespace millrace::simulator
