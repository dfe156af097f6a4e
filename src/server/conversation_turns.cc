#include "server/conversation_turns.h"

#include <algorithm>

namespace millrace::server {
namespace {

Json role_of(const Json& message) { return message.is_object() ? message.value("role", Json()) : Json(); }

bool is_instruction(const Json& message) {
  const Json role = role_of(message);
  return role == "system" || role == "developer";
}

}  // namespace

std::size_t turns_of(const Json& messages) {
  return static_cast<std::size_t>(
      std::ranges::count_if(messages, [](const Json& message) { return role_of(message) == "user"; }));
}

Json without_first_turns(const Json& messages, std::size_t turns) {
  if (turns == 0) return messages;
  Json out = Json::array();
  std::size_t at = 0;
  while (at < messages.size() && is_instruction(messages[at])) out.push_back(messages[at++]);
  for (std::size_t begun = 0; at < messages.size(); ++at) {
    if (role_of(messages[at]) == "user") ++begun;
    if (begun > turns) out.push_back(messages[at]);
  }
  return out;
}

}  // namespace millrace::server
