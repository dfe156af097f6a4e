#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "simulator/random.h"
#include "simulator/request_driver.h"

namespace millrace::simulator {

// What a kind of client does; percentages are of a round in which it is awake, or of a request.
struct ClientProfile {
  std::string_view name;
  int max_at_once;   // requests in flight
  int burst;         // asked together
  double think_ms;   // mean between two bursts
  int reads;         // takes what waits for it; 100: at once
  int abandons;      // cancels a request that runs
  int many_answers;  // asks for n > 1
  int hurries;       // sets a timeout
  int talks;         // goes on in a session
  int meddles;       // pauses, cancels and forks at random
  int lies;          // asks for what cannot be
};

// One client: asks, reads, gives up. All it does follows from its random numbers.
class Client {
 public:
  Client(std::size_t index, const ClientProfile& habits, const Scenario& scenario, std::uint64_t seed)
      : index_(index), profile_(habits), scenario_(scenario), random_(seed) {}

  // A round: `may_ask` while the run has requests left.
  void act(RequestDriver& desk, TimePoint now, bool may_ask);
  void ended(const Asked& asked);
  void restart();
  void renamed(const RequestDriver::Renamed& renamed);  // the server died with everything it had
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

// The clients of a run: a few of each kind, as its seed has it; one is always a canary, who does nothing out of the
// ordinary and must be served as if it were alone.
std::vector<Client> make_clients(const Scenario& scenario);

}  // namespace millrace::simulator
