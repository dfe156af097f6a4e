#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace millrace::app {

// A server of this user on this machine.
struct RunningServer {
  int pid = 0;
  std::string socket;  // path of its owner's socket
};

// The servers whose sockets are there and whose processes live, by pid. Removes the sockets of those that were killed.
// The error is owner_socket_folder()'s.
Result<std::vector<RunningServer>> running_servers();

// Whether the process lives; a zombie does not.
bool still_runs(const RunningServer& server);

// A model of a running server.
struct FoundModel {
  RunningServer server;
  std::string name;  // that requests use
};
// The running server that has loaded the model of this path (a file or a directory); nothing if none has. A server that
// does not answer within a second counts as having none. Asks the servers one after the other.
std::optional<FoundModel> find_loaded_model(const std::string& path);

// What `ps` shows of a server, and how `stop` knows it.
struct ServerReport {
  RunningServer server;
  std::string address;  // a URL or "unix:PATH"; empty: it does not say
  struct Model {
    std::string name, state;  // "ready", "loading", ...
    double progress = 0.0;    // share that is loaded, [0, 1]
    std::string path;         // of its files; empty: unknown
  };
  std::vector<Model> models;
  std::int64_t requests = 0;         // that run now
  std::uint64_t resident_bytes = 0;  // memory of the process
  double seconds = 0.0;              // since it was started
  std::string trouble;               // why it does not answer; empty: it does
};
ServerReport report_of(const RunningServer& server);

// The server that a user means: by its pid or its port; without a name the only one. kNotFound, or kInvalidArgument
// where several could be meant; both list those that run.
Result<ServerReport> chosen_server(const std::string& name);

}  // namespace millrace::app
