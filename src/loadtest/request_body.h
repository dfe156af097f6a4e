#pragma once

#include <string>
#include <vector>

#include "loadtest/workload.h"

namespace millrace::loadtest {

// What all requests of a run have in common.
struct RequestStyle {
  enum class Endpoint { kCompletions, kChat } endpoint = Endpoint::kCompletions;
  std::string model;         // "" = none is named
  bool ignore_eos = true;    // answers have the length asked for
  double temperature = 0.0;  // < 0 = not sent: the server's own
  std::string extra;         // further members, of --extra-body: R"("top_k":5)", or ""
  std::string path() const;  // "/v1/completions" or "/v1/chat/completions", below the target's base
};

// What a session has said so far.
struct Exchange {
  Turn turn;
  std::string answer;
};

// The JSON of the next request of a session: streamed, with usage at its end. Ids and text of a completion follow on
// what was said before; a chat lists it as messages.
std::string request_body(const RequestStyle& style, const std::vector<Exchange>& before, const Turn& turn);

}  // namespace millrace::loadtest
