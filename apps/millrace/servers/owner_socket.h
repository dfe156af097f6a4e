#pragma once

#include <string>

#include "base/result.h"

namespace millrace::app {

// Each server also listens on a Unix socket of the user who runs it, by which `run`, `ps`, `stop`, `load` and `unload`
// find it and need no key: $XDG_RUNTIME_DIR/millrace/<pid>.sock, mode 0600. Where the variable is not set the folder is
// /run/user/<uid>/millrace, or /tmp/millrace-<uid> where there is none of these either.

// The folder of the sockets, which may be absent. kInvalidArgument where something is there that is no folder, belongs
// to another user or lets others in: its sockets are not to be trusted.
Result<std::string> owner_socket_folder();
// The path of this process's socket, in a folder made with mode 0700. Empty where that is not possible, which is
// logged.
std::string owner_socket_to_listen_on();

}  // namespace millrace::app
