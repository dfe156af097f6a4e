#pragma once

#include <string>
#include <vector>

#include "loadtest/workload.h"

namespace millrace::loadtest {

// Settings common to all requests of a run.
struct RequestStyle {
  enum class Endpoint { kCompletions, kChat } endpoint = Endpoint::kCompletions;
  std::string model;         // "" = the request names none
  bool ignore_eos = true;    // answers have the requested length
  double temperature = 0.0;  // < 0 = not sent: the server's default applies
  std::string extra;         // further members, from --extra-body: R"("top_k":5)", or ""
  std::string path() const;  // "/v1/completions" or "/v1/chat/completions", appended to the target's base path
};

// A finished turn of a session.
struct Exchange {
  Turn turn;
  std::string answer;
};

// The JSON of a session's next request, streamed and with usage at the end. For completions, the turn's ids or text are
// appended to everything before; a chat lists messages.
std::string request_body(const RequestStyle& style, const std::vector<Exchange>& before, const Turn& turn);

}  // namespace millrace::loadtest
