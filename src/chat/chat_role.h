#pragma once

#include <span>
#include <string>
#include <string_view>

namespace millrace::chat {

// The roles that a message may have. A template may build a special token around one ("<|" + role + "|>"), so these
// words, and no others, count as trusted text in the role of a message.
std::span<const std::string_view> chat_roles();
bool is_chat_role(std::string_view role);
// The roles as text for messages: "system, developer, ...".
std::string chat_role_list();

}  // namespace millrace::chat
