#include "http/server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <future>
#include <mutex>
#include <unordered_map>

#include "base/log.h"
#include "http/connection.h"
#include "http/socket_owner.h"

namespace millrace::http {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Tcp = asio::ip::tcp;
using Local = asio::local::stream_protocol;

constexpr std::chrono::milliseconds kNoDescriptors{50};  // until accepting is tried again
constexpr std::size_t kMaxSocketPath = 100;              // bytes; the kernel takes 107
constexpr int kSendBuffer =
    128 << 10;  // bytes that the kernel holds for a client that does not read (it takes twice that)

Result<std::shared_ptr<asio::ssl::context>> load_certificate(const ServerConfig& config) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  error_code error;
  context->set_options(asio::ssl::context::no_sslv2 | asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 |
                       asio::ssl::context::no_tlsv1_1 | asio::ssl::context::no_compression);
  context->use_certificate_chain_file(config.tls_cert, error);
  if (error) return make_error(ErrorCode::kBadFile, "ssl-certfile", "{}: {}", config.tls_cert, error.message());
  context->use_private_key_file(config.tls_key, asio::ssl::context::pem, error);
  if (error) return make_error(ErrorCode::kBadFile, "ssl-keyfile", "{}: {}", config.tls_key, error.message());
  if (SSL_CTX_check_private_key(context->native_handle()) != 1) {
    return make_error(ErrorCode::kBadFile, "ssl-keyfile", "{} is not the key of {}", config.tls_key, config.tls_cert);
  }
  return context;
}

std::string owner_text(const std::optional<SocketOwner>& owner) {
  return owner ? fmt::format("process {} ({})", owner->pid, owner->command) : "another process";
}

// Why the port cannot be listened on.
Error port_error(const ServerConfig& config, const asio::ip::address& address, const error_code& why) {
  const std::string where =
      fmt::format("{}:{}", address.is_v6() ? "[" + address.to_string() + "]" : address.to_string(), config.port);
  if (why == asio::error::address_in_use) {
    return make_error(ErrorCode::kUnavailable, "port", "--port {}: {} listens on {}: stop it, or choose another --port",
                      config.port, owner_text(tcp_owner(address.to_string(), config.port)), where);
  }
  if (why == asio::error::access_denied) {
    return make_error(ErrorCode::kUnavailable, "port", "--port {}: {}: ports below 1024 need a privilege", config.port,
                      why.message());
  }
  if (why == error_code(EADDRNOTAVAIL, boost::system::system_category())) {
    return make_error(ErrorCode::kInvalidArgument, "host", "--host {}: this machine has no such address", config.host);
  }
  return make_error(ErrorCode::kResourceExhausted, "port", "{}: {}", where, why.message());
}

Error uds_error(const std::string& path, const error_code& why) {
  if (why != asio::error::address_in_use) {
    const bool short_of = why == asio::error::no_descriptors || why == asio::error::no_memory;
    return make_error(short_of ? ErrorCode::kResourceExhausted : ErrorCode::kInvalidArgument, "uds", "--uds {}: {}",
                      path, why.message());
  }
  return make_error(ErrorCode::kUnavailable, "uds", "--uds {}: a file that is no socket is there", path);
}

// Listens on a Unix socket that only this user can open; takes the place of one that nobody listens on.
Result<Local::acceptor> listen_local(const std::string& path, asio::io_context& io) {
  error_code error;
  struct stat status{};
  if (::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) {  // of a process that is gone, or is it?
    Local::socket probe(io);
    probe.connect(Local::endpoint(path), error);
    if (!error) {
      return make_error(ErrorCode::kUnavailable, "uds", "--uds {}: {} listens there: stop it, or choose another --uds",
                        path, owner_text(unix_owner(path)));
    }
    ::unlink(path.c_str());
  }
  error = {};
  Local::acceptor acceptor(io);
  acceptor.open(Local(), error);
  const mode_t mask = ::umask(0177);
  if (!error && path.size() > kMaxSocketPath) error = asio::error::name_too_long;
  if (!error) acceptor.bind(Local::endpoint(path), error);
  ::umask(mask);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return uds_error(path, error);
  return acceptor;
}

}  // namespace

// Accepts on the first loop and hands connections to all of them in turn.
class Server::Listener {
 public:
  explicit Listener(const ServerConfig& config) : config_(config) {
    for (int i = 0; i < std::max(1, config.threads); ++i) loops_.push_back(std::make_shared<IoLoop>());
  }

  ~Listener() {
    stop_accepting();
    for (const auto& loop : loops_) loop->stop();
  }

  Result<void> listen() {
    if (config_.tls_cert.empty() != config_.tls_key.empty()) {
      return make_error(ErrorCode::kInvalidArgument, "ssl-certfile", "certificate and key are needed, both or none");
    }
    if (!config_.tls_cert.empty()) {
      if (auto loaded = reload_certificate(); !loaded) return loaded;
    }
    if (auto bound = config_.unix_socket.empty() ? listen_tcp() : listen_unix(); !bound) return bound;
    if (!config_.owner_socket.empty()) listen_owner();
    return {};
  }

  void serve(Application& application) {
    application_ = &application;
    if (unix_) spawn(*unix_, "unix");
    if (owner_) spawn(*owner_, http::kOwnerPeer);
    if (tcp_) spawn(*tcp_, {});
    for (const auto& loop : loops_) loop->run();
  }

  Result<void> reload_certificate() {
    if (config_.tls_cert.empty()) return {};
    auto loaded = load_certificate(config_);
    if (!loaded) return loaded.error();
    const std::lock_guard lock(mutex_);
    tls_ = *loaded;
    return {};
  }

  void stop_accepting() {
    if (stopped_.exchange(true)) return;
    if (unix_) ::unlink(config_.unix_socket.c_str());  // now: later there may be another server's
    if (owner_) ::unlink(config_.owner_socket.c_str());
    asio::post(loops_[0]->io(), [this] {
      error_code ignored;
      if (tcp_) tcp_->close(ignored);
      if (unix_) unix_->close(ignored);
      if (owner_) owner_->close(ignored);
    });
    for (const auto& loop : loops_) loop->retire_all();
  }

  int port() const noexcept { return port_; }
  int connections() const noexcept { return connections_; }

 private:
  Result<void> listen_tcp() {
    error_code error;
    const asio::ip::address address =
        asio::ip::make_address(config_.host == "localhost" ? "127.0.0.1" : config_.host, error);
    if (error) {
      return make_error(ErrorCode::kInvalidArgument, "host", "host is '{}': expected an address like 127.0.0.1 or ::1",
                        config_.host);
    }
    tcp_.emplace(loops_[0]->io());
    const Tcp::endpoint endpoint(address, static_cast<std::uint16_t>(config_.port));
    tcp_->open(endpoint.protocol(), error);
    if (!error) tcp_->set_option(asio::socket_base::reuse_address(true), error);
    if (!error) tcp_->bind(endpoint, error);
    if (!error) tcp_->listen(asio::socket_base::max_listen_connections, error);
    if (error) return port_error(config_, address, error);
    port_ = tcp_->local_endpoint().port();
    return {};
  }

  Result<void> listen_unix() {
    auto acceptor = listen_local(config_.unix_socket, loops_[0]->io());
    if (!acceptor) return acceptor.error();
    unix_.emplace(*std::move(acceptor));
    return {};
  }

  void listen_owner() {
    auto acceptor = listen_local(config_.owner_socket, loops_[0]->io());
    if (acceptor) {
      owner_.emplace(*std::move(acceptor));
    } else {
      log::warn("{}: not listened on, so `millrace ps` and `run` do not find this server: {}", config_.owner_socket,
                acceptor.error().message);
    }
  }

  template <typename Acceptor>
  void spawn(Acceptor& acceptor, std::string_view peer) {
    asio::co_spawn(loops_[0]->io(), accept(acceptor, peer), asio::detached);
  }

  template <typename Acceptor>
  asio::awaitable<void> accept(Acceptor& acceptor, std::string_view peer) {
    asio::steady_timer pause(loops_[0]->io());
    while (!stopped_) {
      const std::shared_ptr<IoLoop>& loop = loops_[next_++ % loops_.size()];
      error_code error;
      auto socket = co_await acceptor.async_accept(loop->io(), asio::redirect_error(asio::use_awaitable, error));
      if (stopped_) break;
      if (error) {  // no descriptors, no memory: what is there goes on, and soon there may be some
        pause.expires_after(kNoDescriptors);
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
        continue;
      }
      asio::post(loop->io(),
                 [this, loop, peer, socket = std::move(socket)]() mutable { welcome(std::move(socket), peer, loop); });
    }
  }

  void welcome(Tcp::socket socket, std::string_view, const std::shared_ptr<IoLoop>& loop) {
    error_code error;
    socket.set_option(Tcp::no_delay(true), error);
    // Left to itself the buffer grows to megabytes, and a stream that is not read would be made to its end.
    socket.set_option(asio::socket_base::send_buffer_size(kSendBuffer), error);
    const auto remote = socket.remote_endpoint(error);
    if (error) return;
    const bool loopback = remote.address().is_loopback();
    auto place = take_place(remote.address().to_string(), loopback);
    FollowContext follow_context{*application_, config_.limits, loop, remote.address().to_string(), place};
    if (place == nullptr) return turn_away(std::move(socket));
    std::shared_ptr<asio::ssl::context> tls;
    {
      const std::lock_guard lock(mutex_);
      tls = tls_;
    }
    if (tls == nullptr) {
      std::make_shared<Connection<TcpStream>>(std::move(socket), std::move(follow_context))->start();
    } else {
      std::make_shared<Connection<TlsStream>>(TlsStream(std::move(socket), *tls), std::move(follow_context))->start();
    }
  }

  void welcome(Local::socket socket, std::string_view peer, const std::shared_ptr<IoLoop>& loop) {
    const std::string name(peer);
    auto place = take_place(name, true);
    if (place == nullptr) return turn_away(std::move(socket));
    std::make_shared<Connection<UnixStream>>(std::move(socket),
                                             FollowContext{*application_, config_.limits, loop, name, place})
        ->start();
  }

  // Null where there is none.
  std::shared_ptr<void> take_place(const std::string& peer, bool loopback) {
    const Limits& limits = config_.limits;
    const std::lock_guard lock(mutex_);
    if (limits.connections > 0 && connections_ >= limits.connections) return nullptr;
    int& mine = by_peer_[peer];
    if (!loopback && limits.connections_per_peer > 0 && mine >= limits.connections_per_peer) return nullptr;
    ++mine;
    ++connections_;
    return std::shared_ptr<void>(this, [this, peer](void*) {
      const std::lock_guard give(mutex_);
      --connections_;
      if (--by_peer_[peer] == 0) by_peer_.erase(peer);
    });
  }

  // Says so in as far as the socket takes it without waiting.
  template <typename Socket>
  void turn_away(Socket socket) {
    const Reply reply = application_->error(503, "too many connections");
    const std::string text = fmt::format(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: {}\r\ncontent-length: {}\r\nretry-after: 1\r\n"
        "connection: close\r\n\r\n{}",
        reply.content_type, reply.body.size(), reply.body);
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(text), ignored);
  }

  const ServerConfig config_;
  Application* application_ = nullptr;  // null before serve()
  std::vector<std::shared_ptr<IoLoop>> loops_;
  std::optional<Tcp::acceptor> tcp_;
  std::optional<Local::acceptor> unix_, owner_;
  std::atomic<bool> stopped_ = false;
  std::atomic<int> connections_ = 0;
  std::size_t next_ = 0;
  int port_ = 0;
  std::mutex mutex_;  // of what follows
  std::shared_ptr<asio::ssl::context> tls_;
  std::unordered_map<std::string, int> by_peer_;
};

Server::Server(std::unique_ptr<Listener> listener) : listener_(std::move(listener)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::listen(const ServerConfig& config) {
  auto listener = std::make_unique<Listener>(config);
  if (auto listening = listener->listen(); !listening) return listening.error();
  return std::unique_ptr<Server>(new Server(std::move(listener)));
}

void Server::serve(Application& application) { listener_->serve(application); }

Result<std::unique_ptr<Server>> Server::start(const ServerConfig& config, Application& application) {
  auto server = listen(config);
  if (server) (*server)->serve(application);
  return server;
}

int Server::port() const noexcept { return listener_->port(); }
void Server::stop_accepting() { listener_->stop_accepting(); }
int Server::connections() const noexcept { return listener_->connections(); }
Result<void> Server::reload_certificate() { return listener_->reload_certificate(); }

}  // namespace millrace::http
