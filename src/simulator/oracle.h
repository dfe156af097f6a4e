#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/request.h"
#include "simulator/adapter_shelf.h"
#include "simulator/coverage.h"
#include "simulator/reference.h"
#include "simulator/verdict.h"

namespace millrace::simulator {

// Asked::engine of a request that has left one engine and has not arrived in the other.
inline constexpr std::size_t kInTransit = static_cast<std::size_t>(-1);

// A request that an engine has accepted, with the outputs received so far.
struct Asked {
  struct Choice {
    std::unique_ptr<Reference> reference;
    std::string text;
    std::int64_t tokens = 0;
    bool ended = false;
  };
  engine::RequestId id = 0;
  std::uint64_t serial = 0;  // unique in a run, unlike `id`, which restarts with each process
  engine::Request request;
  std::vector<std::int32_t> prompt;  // the whole prompt, tokens of its session included
  std::int64_t from_session = 0;     // number of first prompt tokens that are in its session
  std::size_t client = 0;
  std::size_t engine = 0;  // index of its engine, or kInTransit
  TimePoint arrival{};
  std::optional<TimePoint> deadline;
  std::vector<Choice> choices;
  bool forked = false;            // its prompt is computed, so all n answers are on their way
  int ended = 0;                  // number of ended choices
  std::int64_t must_end_by = -1;  // last step that it may live, since it is cancelled or overdue; -1 = none
  std::int64_t unread = 0;        // outputs that its client has not read
  bool paused = false;
  TimePoint paused_since{};
};

// Conditions under which an output is judged.
struct Circumstances {
  bool caching = false;                    // the prefix cache is on
  bool rejects_late = false;               // the policy may reject a waiting request that would miss its targets
  bool faulty = false;                     // a fault has just happened, so requests may end with an error
  bool ranks_lost = false;                 // a step was, so that requests with adapters may end so
  const AdapterShelf* adapters = nullptr;  // may refuse requests with adapters
};

// Compares each output with its reference (D1) and with the rules of streams (S1, S2, C1), and knows which requests
// have not ended (P3). The promises are those of docs/simulator.md. Verdict and coverage must outlive it.
class Oracle {
 public:
  Oracle(Verdict& verdict, Coverage& coverage) : verdict_(verdict), coverage_(coverage) {}

  // Adds an accepted request. `longest` is the limit of tokens of prompt and answer together.
  void open(Asked asked, std::int64_t longest);
  // Checks an output. If it is the last one of its request, removes the request and returns it.
  std::optional<Asked> take(const engine::Output& output, const Circumstances& terms);
  // Checks that no request lives beyond its must_end_by.
  void check_overdue(std::int64_t step);
  void forget_all();  // the process has ended: removes all requests

  Asked* find(engine::RequestId id);  // null if it is not live
  const std::map<engine::RequestId, Asked>& live() const noexcept { return live_; }
  std::map<engine::RequestId, Asked>& live() noexcept { return live_; }
  // Answers that have not ended, without beams: the number of sequences that the engine must have for them.
  std::size_t answers_in_flight(std::size_t engine) const;
  bool any_live(std::size_t engine) const;
  // Changes the id of a live request that has moved to another engine.
  void rename(engine::RequestId from, engine::RequestId to);
  // The tokens of prompt and first answer, without an end-of-sequence token. The request may have ended.
  const std::vector<std::int32_t>& text_of(engine::RequestId id) const { return texts_[text_of_.at({id, 0})].tokens; }
  std::int64_t output_tokens() const noexcept { return output_tokens_; }
  std::uint64_t digest() const noexcept { return digest_; }  // of all outputs in order

 private:
  // With what requests share pages.
  struct Sharing {
    std::string salt;
    std::uint64_t adapters = 0;  // adapter_stamp()
    auto operator<=>(const Sharing&) const = default;
  };
  // Tokens of a prompt and answer that later requests of the same sharing may find in the prefix cache.
  struct Text {
    Sharing sharing;
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
  static Sharing sharing_of(const engine::Request& request) {
    return {request.cache_salt, adapter_stamp(request.adapters)};
  }
  std::set<Sharing> searched_;  // of beam searches, whose rejected beams may be cached too
  std::map<std::pair<engine::RequestId, int>, std::size_t> text_of_;
  std::int64_t output_tokens_ = 0;
  std::uint64_t next_serial_ = 1;
  std::uint64_t digest_ = 0;
};

}  // namespace millrace::simulator
