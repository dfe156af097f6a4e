#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/memory_env.h"
#include "engine/engine.h"
#include "engine/snapshot_bytes.h"
#include "simulator/oracle.h"
#include "simulator/scenario.h"

namespace millrace::simulator {

// Where clients meet the engine: keeps the book of what they asked, what their sessions hold, and pauses those who do
// not read, as the server does.
class RequestDriver {
 public:
  struct Session {
    std::vector<std::int32_t> tokens;
    bool busy = false;
    std::size_t engine = 0;
  };

  RequestDriver(const Scenario& scenario, const MemoryEnv& env, Verdict& verdict, Coverage& coverage)
      : scenario_(scenario), env_(env), verdict_(verdict), coverage_(coverage), book_(verdict, coverage) {}

  // New processes: the old ones' requests and sessions are gone.
  void serve_with(std::vector<engine::Engine*> engines);
  void at_step(std::int64_t step) noexcept { step_ = step; }

  // Nothing where the queue is full, or the session is busy or holds too much.
  std::optional<engine::RequestId> ask(engine::Request request, std::size_t client);
  // A request that the engine must refuse, and that must change nothing.
  void ask_wrongly(engine::Request request);
  void cancel(engine::RequestId id);
  void pause(Asked& asked, bool paused);
  // The client takes all outputs that wait for it.
  void read(engine::RequestId id);

  engine::SessionId open_session();
  std::optional<engine::SessionId> fork_session(engine::SessionId id);
  void roll_back(engine::SessionId id, std::int64_t tokens);
  void close_session(engine::SessionId id);
  // -1: closed. Busy ones too.
  std::int64_t session_length(engine::SessionId id) const;
  bool session_busy(engine::SessionId id) const;
  std::size_t sessions() const noexcept { return sessions_.size(); }
  void close_all_sessions();

  // Takes the request out of its engine; it is in transit then, unless it has just ended. `outputs` gets what steps had
  // computed until then, of all requests: to be delivered before anything else.
  void take_out(engine::RequestId id, std::vector<engine::Output>& outputs);
  // What is in transit goes on in the other engine, or where that is full in the one that it came from. What changed
  // its id with that.
  struct Renamed {
    std::optional<std::pair<engine::RequestId, engine::RequestId>> request;  // from, to
    std::optional<std::pair<engine::SessionId, engine::SessionId>> session;
  };
  std::vector<Renamed> arrive();
  // An idle session goes to the other engine; nothing where it is busy.
  std::optional<Renamed> move_session(engine::SessionId id);
  const std::map<engine::SessionId, Session>& all_sessions() const noexcept { return sessions_; }

  // The outputs of a step. `faulty`: something went wrong that a request may fail of.
  void deliver(const std::vector<engine::Output>& outputs, bool faulty, std::vector<Asked>& ended);
  // Deadlines and slow readers, before a step.
  void look_after();

  Oracle& book() noexcept { return book_; }
  const Oracle& book() const noexcept { return book_; }
  std::int64_t asked() const noexcept { return asked_; }

 private:
  struct Transit {
    std::vector<std::byte> bytes;
    engine::RequestId id;
    std::size_t from;
    TimePoint begin;
    bool cancelled = false;
  };
  // The engine that has the request or the session; the first engine if none has.
  engine::Engine& engine_of(const Asked* asked) const;
  engine::Engine& engine_of_session(engine::SessionId id) const;
  void count_departure(const Asked& asked, const engine::Engine& engine);
  std::optional<engine::ImportedSequence> import(const Transit& transit, std::size_t place);
  Renamed settle_in(const Transit& transit, const engine::ImportedSequence& imported, std::size_t place);
  void expect_bad_ones_rejected(const std::vector<std::byte>& bytes, engine::Engine& engine);
  void expect_rejection(bool rejected, const char* what);

  const Scenario& scenario_;
  const MemoryEnv& env_;
  Verdict& verdict_;
  Coverage& coverage_;
  Oracle book_;
  std::vector<engine::Engine*> engines_;
  std::vector<Transit> transit_;
  std::map<engine::SessionId, Session> sessions_;
  std::int64_t step_ = 0, asked_ = 0;
};

}  // namespace millrace::simulator
