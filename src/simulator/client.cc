#include "simulator/client.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "simulator/letter_tokenizer.h"

namespace millrace::simulator {
namespace {

using engine::Request;

constexpr std::size_t kMaxSessions = 3;  // of one client

//                              name         open burst think reads aband. many hurry talks meddle lies
constexpr ClientProfile kKinds[] = {
    {"canary", 1, 1, 300, 100, 0, 0, 0, 0, 0, 0},        {"steady", 2, 1, 400, 100, 1, 10, 5, 10, 1, 0},
    {"bursty", 12, 8, 9000, 100, 1, 15, 10, 0, 1, 0},    {"slow", 3, 1, 500, 4, 1, 20, 5, 20, 0, 0},
    {"abandoning", 4, 2, 600, 60, 12, 20, 20, 20, 3, 0}, {"hasty", 4, 1, 300, 100, 2, 5, 90, 10, 0, 0},
    {"talking", 2, 1, 200, 90, 3, 0, 5, 95, 12, 0},      {"hostile", 6, 3, 300, 50, 8, 30, 20, 40, 25, 40}};

TimePoint later(TimePoint now, double ms) {
  return now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(ms));
}

}  // namespace

std::vector<Client> make_clients(const Scenario& scenario) {
  Random random(rng::mix(scenario.seed ^ 0xc1e27));
  std::vector<Client> clients;
  clients.emplace_back(0, kKinds[0], scenario, random.next());
  const std::int64_t n = random.in(1, 7);
  for (std::int64_t i = 1; i <= n; ++i) {
    clients.emplace_back(static_cast<std::size_t>(i), random.of(kKinds), scenario, random.next());
  }
  return clients;
}

void Client::restart() {
  open_.clear();
  sessions_.clear();
}

void Client::renamed(const RequestDriver::Renamed& renamed) {
  if (renamed.request) std::ranges::replace(open_, renamed.request->first, renamed.request->second);
  if (renamed.session) std::ranges::replace(sessions_, renamed.session->first, renamed.session->second);
}

void Client::ended(const Asked& asked) { std::erase(open_, asked.id); }

void Client::act(RequestDriver& desk, TimePoint now, bool may_ask) {
  for (const engine::RequestId id : std::vector(open_)) {
    if (random_.chance(profile_.reads)) desk.read(id);
    if (random_.chance(profile_.abandons)) {
      desk.cancel(id);
      if (random_.chance(20)) desk.cancel(id);
    }
  }
  if (profile_.meddles > 0 && random_.chance(profile_.meddles)) meddle(desk);
  if (profile_.lies > 0 && random_.chance(profile_.lies)) lie(desk);
  if (now < wakes_ || !may_ask) return;
  for (int i = 0; i < profile_.burst && static_cast<int>(open_.size()) < profile_.max_at_once; ++i) ask(desk);
  wakes_ = later(now, profile_.think_ms * 2.0 * random_.unit() + 0.1);
}

void Client::ask(RequestDriver& desk) {
  Request request = make_request();
  if (random_.chance(profile_.talks)) {
    continue_session(desk, request);
  } else if (random_.chance(10)) {
    search_with_beams(request);
  }
  if (const auto id = desk.ask(std::move(request), index_)) open_.push_back(*id);
}

void Client::search_with_beams(Request& request) {
  decode::BeamOptions beams;
  beams.groups = random_.chance(25) ? 2 : 1;
  beams.width = beams.groups * static_cast<int>(random_.in(1, 4));
  beams.diversity_penalty = beams.groups > 1 ? random_.unit() : 0.0;
  beams.length_penalty = 2.0 * random_.unit();
  beams.early_stopping = static_cast<decode::EarlyStopping>(random_.in(0, 2));
  request.n = std::min(request.n, beams.width);
  request.beams = beams;
}

Request Client::make_request() {
  Request request;
  choose_prompt(request.tokens);
  choose_sampling(request.sampling);
  if (random_.chance(profile_.many_answers)) request.n = static_cast<int>(random_.chance(10) ? 16 : random_.in(2, 5));
  request.priority = static_cast<int>(random_.in(0, 3));
  request.tenant = static_cast<std::uint32_t>(random_.in(0, 2));
  if (random_.chance(25)) request.cache_salt.assign(1, random_.chance(50) ? 'x' : 'y');
  request.retention.priority = static_cast<int>(random_.in(0, 100));
  if (random_.chance(20)) request.retention.time_to_live = std::chrono::milliseconds(random_.in(0, 5000));
  if (random_.chance(profile_.hurries)) request.timeout_ms = static_cast<double>(random_.in(1, 4000));
  if (random_.chance(40)) request.ttft_target_ms = static_cast<double>(random_.in(10, 2000));
  if (random_.chance(40)) request.tpot_target_ms = static_cast<double>(random_.in(5, 200));
  if (random_.chance(30)) request.expected_tokens = random_.in(1, scenario_.longest_answer);
  return request;
}

// Prompts share beginnings: a part of one of a few texts, which all clients know, and then their own end.
void Client::choose_prompt(std::vector<std::int32_t>& tokens) {
  const std::int64_t length = random_.in(1, scenario_.longest_prompt);
  const std::int64_t shared = random_.chance(80) ? random_.in(0, length) : 0;
  Random text(static_cast<std::uint64_t>(random_.in(0, 2)) + scenario_.seed * 4);
  for (std::int64_t i = 0; i < length; ++i) {
    Random& source = i < shared ? text : random_;
    tokens.push_back(static_cast<std::int32_t>(source.in(0, kLetters - 1)));
  }
}

void Client::choose_sampling(decode::SamplingParams& sampling) {
  sampling.temperature = index_ == 0 || random_.chance(40) ? 0.0 : 1.0;
  sampling.seed = random_.next() >> 8;
  sampling.max_tokens = random_.in(1, scenario_.longest_answer);
  sampling.ignore_eos = random_.chance(50);
  if (random_.chance(15)) sampling.top_k = random_.in(1, 10);
  if (random_.chance(15)) sampling.repetition_penalty = 1.3;
  if (random_.chance(25)) {
    const auto letter = [&] { return letter_of(static_cast<std::int32_t>(random_.in(1, kLetters - 1))); };
    sampling.stop = {fmt::format("{}", letter()), fmt::format("{} a", letter())};
  }
}

void Client::continue_session(RequestDriver& desk, Request& request) {
  std::erase_if(sessions_, [&](engine::SessionId id) { return desk.session_length(id) < 0; });
  if (sessions_.empty() || (sessions_.size() < kMaxSessions && random_.chance(20))) {
    sessions_.push_back(desk.open_session());
  }
  const engine::SessionId session =
      sessions_[static_cast<std::size_t>(random_.in(0, static_cast<std::int64_t>(sessions_.size()) - 1))];
  request.n = 1;
  request.session = session;
  request.append_to_session = random_.chance(85);
  if (request.append_to_session && desk.session_length(session) > 0) {
    request.tokens.resize(std::min<std::size_t>(request.tokens.size(), static_cast<std::size_t>(random_.in(0, 12))));
  }
}

void Client::meddle(RequestDriver& desk) {
  if (!open_.empty() && random_.chance(30)) {
    if (Asked* asked = desk.book().find(open_.front())) desk.pause(*asked, !asked->paused);
  }
  if (sessions_.empty()) return;
  const auto index = static_cast<std::size_t>(random_.in(0, static_cast<std::int64_t>(sessions_.size()) - 1));
  const engine::SessionId session = sessions_[index];
  switch (random_.in(0, 5)) {
    case 0:
    case 1:
      if (sessions_.size() < kMaxSessions) {
        if (const auto forked = desk.fork_session(session)) sessions_.push_back(*forked);
      }
      break;
    case 2:
    case 3: desk.roll_back(session, random_.in(-1, std::max<std::int64_t>(1, desk.session_length(session)) + 1)); break;
    case 4:
      desk.close_session(session);
      std::erase(sessions_, session);
      break;
    default: break;
  }
}

void Client::lie(RequestDriver& desk) {
  Request request = make_request();
  request.session.reset();
  switch (random_.in(0, 11)) {
    case 0: request.tokens.clear(); break;
    case 1: request.tokens.front() = static_cast<std::int32_t>(kLetters); break;
    case 2: request.tokens.back() = -1; break;
    case 3: request.n = random_.chance(50) ? 0 : 17; break;
    case 4: request.tokens.assign(100'000, 1); break;
    case 5: request.sampling.temperature = std::numeric_limits<double>::quiet_NaN(); break;
    case 6: request.sampling.max_tokens = random_.chance(50) ? 0 : std::int64_t{1} << 40; break;
    case 7: request.timeout_ms = random_.chance(50) ? -1.0 : std::numeric_limits<double>::quiet_NaN(); break;
    case 8: request.session = 999'999'999; break;
    case 9: request.append_to_session = true; break;
    case 10: request.sampling.stop.assign(17, "x"); break;
    default:
      desk.cancel(999'999'999);
      request.retention.priority = 101;
      break;
  }
  desk.ask_wrongly(std::move(request));
}

}  // namespace millrace::simulator
