// Any bytes as the body of any route that takes one: a reply that says what is wrong, never a failure of the server.
// There is no model, so that what passes all checks ends with 404.

#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>

#include "base/log.h"
#include "server/service.h"

namespace {

using namespace millrace;
using server::Json;

server::Service& service() {
  static server::Observers observers({.log_requests = false}, Env::system());
  static server::Service made({.prep_threads = 1, .version = "fuzz"}, server::Access::load("", {}, 0).or_throw(), {},
                              {.load_at_start = false}, observers, Env::system());
  return made;
}

http::Reply ask(const server::Route& route, std::string body) {
  std::mutex mutex;
  std::condition_variable came;
  bool rung = false;
  http::Request request{.method = std::string(route.method), .path = std::string(route.path), .body = std::move(body)};
  if (const std::size_t hole = request.path.find("{}"); hole != std::string::npos) request.path.replace(hole, 2, "x");
  const auto responder = service().handle(std::move(request), [&] {
    const std::lock_guard lock(mutex);
    rung = true;
    came.notify_one();
  });
  for (;;) {
    if (auto reply = responder->poll()) {
      const std::lock_guard lock(mutex);  // who rang is done with it
      return std::move(*reply);
    }
    std::unique_lock lock(mutex);
    came.wait(lock, [&] { return rung; });
    rung = false;
  }
}

}  // namespace

// The first byte chooses the route; 0 is chats.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<const server::Route*> routes = [] {
    log::set_level(log::Level::kError);
    std::vector<const server::Route*> with_body;
    for (const server::Route& route : server::all_routes()) {
      if (route.body_schema == nullptr) continue;
      with_body.push_back(&route);
      if (route.path == "/v1/chat/completions") std::swap(with_body.front(), with_body.back());
    }
    return with_body;
  }();
  if (size == 0) return 0;
  const server::Route& route = *routes[data[0] % routes.size()];
  const http::Reply reply = ask(route, std::string(reinterpret_cast<const char*>(data + 1), size - 1));
  if (reply.status < 400 || reply.status > 499) std::abort();
  const Json body = Json::parse(reply.body, nullptr, false);
  if (!body.is_object() || !body.contains("error") || body["error"].value("message", "").empty()) std::abort();
  if (body["error"]["message"].get_ref<const std::string&>().size() > 1024) std::abort();
  return 0;
}
