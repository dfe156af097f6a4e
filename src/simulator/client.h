#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "simulator/random.h"
#include "simulator/request_driver.h"

namespace millrace::simulator {

// Behaviour of a kind of client. `reads` to `lies` are probabilities in percent: for a request, or for a round.
struct ClientProfile {
  std::string_view name;
  int max_at_once;   // limit of its requests in flight
  int burst;         // requests sent together
  double think_ms;   // mean virtual milliseconds between two bursts
  int reads;         // takes the outputs of a request, in a round; 100: reads at once
  int abandons;      // cancels a request, in a round
  int many_answers;  // a request asks for n > 1 answers
  int hurries;       // a request has a timeout
  int talks;         // a request continues a session
  int meddles;       // pauses, cancels or forks at random, in a round
  int lies;          // sends an invalid request, in a round
};

// A client that sends, reads and cancels requests. Its behaviour is a function of its seed. `scenario` and `habits`
// must outlive it.
class Client {
 public:
  Client(std::size_t index, const ClientProfile& habits, const Scenario& scenario, std::uint64_t seed)
      : index_(index), profile_(habits), scenario_(scenario), random_(seed) {}

  // One round. It sends requests only if `may_ask`, and `now` is not before wakes().
  void act(RequestDriver& desk, TimePoint now, bool may_ask);
  void ended(const Asked& asked);                       // one of its requests has ended
  void restart();                                       // the server has restarted: its requests and sessions are gone
  void renamed(const RequestDriver::Renamed& renamed);  // a request or session has moved and has a new id
  TimePoint wakes() const noexcept { return wakes_; }   // when it sends its next requests

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

// The clients of a run, 2 to 8, chosen by the seed. The first is a canary: it sends one ordinary request at a time.
// They refer to `scenario`.
std::vector<Client> make_clients(const Scenario& scenario);

}  // namespace millrace::simulator
