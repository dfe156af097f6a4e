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

// Passes clients' calls to the engines. Records requests and sessions, moves them between engines, and pauses requests
// whose clients do not read, as the server does.
class RequestDriver {
 public:
  struct Session {
    std::vector<std::int32_t> tokens;
    bool busy = false;
    std::size_t engine = 0;
  };

  RequestDriver(const Scenario& scenario, const MemoryEnv& env, Verdict& verdict, Coverage& coverage)
      : scenario_(scenario), env_(env), verdict_(verdict), coverage_(coverage), book_(verdict, coverage) {}

  // Uses these engines from now on. Requests and sessions of earlier engines are forgotten.
  void serve_with(std::vector<engine::Engine*> engines);
  void at_step(std::int64_t step) noexcept { step_ = step; }

  // Submits a request. Returns nothing if the queue is full, or the session is busy or too long.
  std::optional<engine::RequestId> ask(engine::Request request, std::size_t client);
  // Submits an invalid request: the engine must reject it and change nothing.
  void ask_wrongly(engine::Request request);
  void cancel(engine::RequestId id);
  void pause(Asked& asked, bool paused);
  // The client reads all outputs that wait for it.
  void read(engine::RequestId id);

  engine::SessionId open_session();
  std::optional<engine::SessionId> fork_session(engine::SessionId id);
  void roll_back(engine::SessionId id, std::int64_t tokens);
  void close_session(engine::SessionId id);
  // Tokens of the session, busy or not; -1 if it is closed.
  std::int64_t session_length(engine::SessionId id) const;
  bool session_busy(engine::SessionId id) const;
  std::size_t sessions() const noexcept { return sessions_.size(); }
  void close_all_sessions();

  // Exports the request from its engine. It is in transit then, unless it has just ended. `outputs` gets the outputs of
  // the steps that were in flight, of all requests; deliver them first.
  void take_out(engine::RequestId id, std::vector<engine::Output>& outputs);
  // The new ids of a request and its session after a move.
  struct Renamed {
    std::optional<std::pair<engine::RequestId, engine::RequestId>> request;  // from, to
    std::optional<std::pair<engine::SessionId, engine::SessionId>> session;
  };
  // Imports what is in transit into the other engine, or back into its own if the other one is full.
  std::vector<Renamed> arrive();
  // Moves an idle session to the other engine; nothing if it is busy.
  std::optional<Renamed> move_session(engine::SessionId id);
  const std::map<engine::SessionId, Session>& all_sessions() const noexcept { return sessions_; }

  // Checks the outputs of a step and appends the requests that ended to `ended`. `faulty`: requests may fail of a
  // fault.
  void deliver(const std::vector<engine::Output>& outputs, bool faulty, std::vector<Asked>& ended);
  // Tracks deadlines, and pauses or resumes requests of slow readers. Call it before each step.
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
