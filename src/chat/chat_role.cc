#include "chat/chat_role.h"

#include <fmt/format.h>

#include <algorithm>

namespace millrace::chat {
namespace {

// The OpenAI API's, then what templates call the same parties: Llama's ipython, GLM's observation, Granite's
// tool_response and document, Gemma's model.
constexpr std::string_view kRoles[] = {"system",  "developer",   "user",          "assistant", "tool", "function",
                                       "ipython", "observation", "tool_response", "document",  "model"};

}  // namespace

std::span<const std::string_view> chat_roles() { return kRoles; }

bool is_chat_role(std::string_view role) {
  return std::find(std::begin(kRoles), std::end(kRoles), role) != std::end(kRoles);
}

std::string chat_role_list() { return fmt::format("{}", fmt::join(kRoles, ", ")); }

}  // namespace millrace::chat
