#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "simulator/random.h"
#include "simulator/request_driver.h"

namespace millrace::simulator {

// The behaviour of one kind of client. Except for counts and times, numbers are percentages: chances in a round in
// which the client is awake, or for a request.
struct ClientProfile {
  std::string_view name;
  int max_at_once;   // count: limit of requests in flight
  int burst;         // count: requests sent together
  double think_ms;   // mean time between two bursts
  int reads;         // reads the outputs that wait; 100 = reads at once
  int abandons;      // cancels a running request
  int many_answers;  // sets n > 1
  int hurries;       // sets a timeout
  int talks;         // uses a session
  int meddles;       // pauses, cancels and forks at random
  int lies;          // sends an invalid request
};

// One simulated client, which sends, reads and abandons requests. Its actions are a function of its seed.
class Client {
 public:
  Client(std::size_t index, const ClientProfile& habits, const Scenario& scenario, std::uint64_t seed)
      : index_(index), profile_(habits), scenario_(scenario), random_(seed) {}

  // Acts for one round. `may_ask`: the run has requests left to send.
  void act(RequestDriver& desk, TimePoint now, bool may_ask);
  void ended(const Asked& asked);
  void restart();                                       // the server process ended: all requests and sessions are gone
  void renamed(const RequestDriver::Renamed& renamed);  // a request or session has a new id after a move
  TimePoint wakes() const noexcept { return wakes_; }

 private:
  void ask(RequestDriver& desk);
  engine::Request make_request();
  void search_with_beams(engine::Request& request);
  void continue_session(RequestDriver& desk, engine::Request& request);
  void choose_prompt(std::vector<std::int32_t>& tokens);
  void choose_sampling(decode::SamplingParams& sampling);
  void meddle(RequestDriver& desk);
  void lie(RequestDriver& desk);

  std::size_t index_;
  const ClientProfile& profile_;
  const Scenario& scenario_;
  Random random_;
  TimePoint wakes_{};
  std::vector<engine::RequestId> open_;
  std::vector<engine::SessionId> sessions_;
};

// The clients of a run: a few of each kind, chosen by the scenario's seed. One is always a canary, which sends plain
// requests one at a time.
std::vector<Client> make_clients(const Scenario& scenario);

}  // namespace millrace::simulator
