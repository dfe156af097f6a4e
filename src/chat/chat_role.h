#pragma once

#include <span>
#include <string>
#include <string_view>

namespace millrace::chat {

// The roles a message may have. A template may build a special token around one ("<|" + role + "|>"), so these words,
// and no others, are trusted text when they stand as a message's role.
std::span<const std::string_view> chat_roles();
bool is_chat_role(std::string_view role);
// "system, developer, ...", for messages.
std::string chat_role_list();

}  // namespace millrace::chat
