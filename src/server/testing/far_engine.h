#pragma once

// An engine without a model, the far side of a RemoteEngine. Requests go in under an id of the caller, and outputs bear
// it. The tokens of an answer follow from its prompt alone; grammars and sampling parameters but max_tokens have no
// effect. One thread.

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/env.h"
#include "engine/request.h"
#include "simulator/letter_tokenizer.h"

namespace millrace::server {

class FarEngine {
 public:
  using Id = std::uint64_t;

  void submit(Id id, engine::Request request) {
    const auto prompt = static_cast<std::int64_t>(request.tokens.size());
    Running running{.request = std::move(request)};
    running.stats.prompt_tokens = prompt;
    running.stats.arrival = running.stats.admitted = Env::system().now();
    running_.emplace(id, std::move(running));
  }
  void cancel(Id id) {
    if (const auto it = running_.find(id); it != running_.end()) it->second.cancelled = true;
  }
  void pause(Id id, bool paused) {
    if (const auto it = running_.find(id); it != running_.end()) it->second.paused = paused;
  }
  void cancel_all() {
    for (auto& [id, running] : running_) running.cancelled = true;
  }
  std::size_t size() const noexcept { return running_.size(); }

  // One token for each choice of every request that is not paused; ends cancelled requests and those that have
  // max_tokens.
  std::vector<engine::Output> step() {
    std::vector<engine::Output> outputs;
    for (auto it = running_.begin(); it != running_.end();) {
      auto& [id, running] = *it;
      const bool ended =
          running.cancelled ? end(id, running, outputs) : !running.paused && advance(id, running, outputs);
      it = ended ? running_.erase(it) : std::next(it);
    }
    return outputs;
  }

  engine::SessionId open_session(std::int64_t tokens = 0) {
    sessions_[++last_session_] = tokens;
    return last_session_;
  }
  void close_session(engine::SessionId id) { sessions_.erase(id); }
  Result<engine::SessionId> fork_session(engine::SessionId id) {
    const auto it = sessions_.find(id);
    if (it == sessions_.end()) return make_error(ErrorCode::kNotFound, "session", "no session {}", id);
    return open_session(it->second);
  }
  Result<void> rollback_session(engine::SessionId id, std::int64_t tokens) {
    const auto it = sessions_.find(id);
    if (it == sessions_.end()) return make_error(ErrorCode::kNotFound, "session", "no session {}", id);
    if (tokens > it->second) {
      return make_error(ErrorCode::kInvalidArgument, "tokens", "tokens is {}: the session has {}", tokens, it->second);
    }
    it->second = tokens;
    return {};
  }

 private:
  struct Running {
    engine::Request request;
    bool paused = false, cancelled = false;
    engine::RequestStats stats;
  };
  static engine::Output output_of(Id id, const Running& running, int choice) {
    engine::Output output;
    output.request = id;
    output.choice = choice;
    output.stats = running.stats;
    output.last = choice + 1 == running.request.n;
    return output;
  }
  static bool end(Id id, const Running& running, std::vector<engine::Output>& outputs) {
    for (int choice = 0; choice < running.request.n; ++choice) {
      outputs.push_back(output_of(id, running, choice));
      outputs.back().finish = engine::FinishReason::kCancelled;
    }
    return true;
  }
  bool advance(Id id, Running& running, std::vector<engine::Output>& outputs) {
    const engine::Request& request = running.request;
    const auto sum = std::accumulate(request.tokens.begin(), request.tokens.end(), std::int64_t{0});
    const auto token = static_cast<std::int32_t>(1 + (sum + running.stats.output_tokens) % (simulator::kLetters - 1));
    ++running.stats.output_tokens;
    running.stats.last_token = Env::system().now();
    if (running.stats.output_tokens == 1) running.stats.first_token = running.stats.last_token;
    const bool ended = running.stats.output_tokens == request.sampling.max_tokens;
    for (int choice = 0; choice < request.n; ++choice) {
      engine::Output output = output_of(id, running, choice);
      output.token = token;
      output.text = simulator::letter_of(token);
      output.last = ended && output.last;
      if (ended) {
        output.finish = engine::FinishReason::kLength;
        output.spent = std::make_shared<const engine::TimeSpent>();
      }
      outputs.push_back(std::move(output));
    }
    if (ended && request.session)
      sessions_[*request.session] += running.stats.prompt_tokens + running.stats.output_tokens;
    return ended;
  }

  std::map<Id, Running> running_;
  std::map<engine::SessionId, std::int64_t> sessions_;  // number of tokens by session
  engine::SessionId last_session_ = 0;
};

}  // namespace millrace::server
