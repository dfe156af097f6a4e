#pragma once

#include "chat/slash_commands.h"

namespace millrace::app {

// Holds a chat on the terminal until the user leaves it.
void hold_chat(SlashContext& context);

}  // namespace millrace::app
