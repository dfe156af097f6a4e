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

// Passes requests of clients to one or two engines and outputs back. Records requests and sessions, pauses requests
// whose client does not read, as the server does, and checks that engines accept and reject what they must (Q1, M1 of
// docs/simulator.md). Engines and the objects given to the constructor must outlive it. One thread.
class RequestDriver {
 public:
  // A session as the engine must have it.
  struct Session {
    std::vector<std::int32_t> tokens;
    bool busy = false;       // one of its requests has not ended
    std::size_t engine = 0;  // index of its engine, or kInTransit
  };

  RequestDriver(const Scenario& scenario, const MemoryEnv& env, Verdict& verdict, Coverage& coverage)
      : scenario_(scenario), env_(env), verdict_(verdict), coverage_(coverage), book_(verdict, coverage) {}

  // Replaces the engines after a restart. All requests and sessions of the former ones are dropped. `adapters` is those
  // of all requests that are in no session.
  void serve_with(std::vector<engine::Engine*> engines, AdapterShelf& adapters);
  void at_step(std::int64_t step) noexcept { step_ = step; }

  // Submits a request. Nothing if the engine rejects it, for a full queue or its size, or if its session is busy or
  // closed.
  std::optional<engine::RequestId> ask(engine::Request request, std::size_t client);
  // Submits an invalid request, which the engine must reject without any change.
  void ask_wrongly(engine::Request request);
  void cancel(engine::RequestId id);
  void pause(Asked& asked, bool paused);
  // The client reads all pending outputs of the request.
  void read(engine::RequestId id);

  engine::SessionId open_session();
  std::optional<engine::SessionId> fork_session(engine::SessionId id);
  void roll_back(engine::SessionId id, std::int64_t tokens);
  void close_session(engine::SessionId id);
  // Tokens of a session, also of a busy one; -1 if it is closed.
  std::int64_t session_length(engine::SessionId id) const;
  bool session_busy(engine::SessionId id) const;
  std::size_t sessions() const noexcept { return sessions_.size(); }
  void close_all_sessions();

  // Exports the request from its engine: it is then in transit, unless it ended. Appends outputs of steps that were
  // still in flight, of all requests, to `outputs`; they must be delivered first.
  void take_out(engine::RequestId id, std::vector<engine::Output>& outputs);
  // Ids that changed by a move, as pairs of old and new id.
  struct Renamed {
    std::optional<std::pair<engine::RequestId, engine::RequestId>> request;
    std::optional<std::pair<engine::SessionId, engine::SessionId>> session;
  };
  // Imports the requests in transit into the other engine, or if that is full, into the one that they came from. If
  // both are full, a request stays in transit.
  std::vector<Renamed> arrive();
  // Moves an idle session to the other engine; nothing if it is busy or in transit. It must be open.
  std::optional<Renamed> move_session(engine::SessionId id);
  const std::map<engine::SessionId, Session>& all_sessions() const noexcept { return sessions_; }

  // Checks the outputs of a step and passes them on; appends requests that ended to `ended`. `faulty`: a fault has
  // happened, so requests may end with an error.
  void deliver(const std::vector<engine::Output>& outputs, bool faulty, bool ranks_lost, std::vector<Asked>& ended);
  // Call before each step: notes deadlines that have passed, and pauses or cancels requests of slow readers.
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
  // The engine of the request or session; the first engine if it is unknown or in transit.
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
  AdapterShelf* adapters_ = nullptr;
  std::vector<Transit> transit_;
  std::map<engine::SessionId, Session> sessions_;
  std::int64_t step_ = 0, asked_ = 0;
};

}  // namespace millrace::simulator
