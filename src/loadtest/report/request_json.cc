#include "loadtest/report/request_json.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace millrace::loadtest::report {
namespace {

constexpr const char* kPhaseNames[] = {"queue", "prefill", "decode"};

// To the microsecond: a report of many tokens is half as long.
Json seconds_json(double seconds) { return json_of(std::round(seconds * 1e6) / 1e6); }

// Times of things that never came are 0 in a record, and so is the moment when a run begins: `came` tells them apart.
Json time_json(double seconds, bool came) { return came ? seconds_json(seconds) : Json(nullptr); }
Json tokens_json(std::int64_t tokens) { return tokens >= 0 ? Json(tokens) : Json(nullptr); }

// Of an answer that says how long each phase took: put together around the first token, where the client saw it.
std::vector<RequestPhase> phases_by_answer(const RequestRecord& record) {
  if (!record.server.known() || record.events.empty()) return {};
  const double first = record.events.front(), prefill = first - record.server.prefill_ms * 1e-3;
  using Kind = RequestPhase::Kind;
  return {{Kind::kQueue, prefill - record.server.queue_ms * 1e-3, prefill, 0},
          {Kind::kPrefill, prefill, first,
           std::max<std::int64_t>(0, record.prompt_tokens - std::max<std::int64_t>(0, record.cached_tokens))},
          {Kind::kDecode, first, first + record.server.decode_ms * 1e-3, record.output_tokens()}};
}

Json phases_json(const RequestPhases* phases, const RequestRecord& record) {
  std::vector<RequestPhase> known;
  if (phases != nullptr && phases->contains(record.index)) known = phases->at(record.index);
  if (known.empty()) known = phases_by_answer(record);
  if (known.empty()) return nullptr;
  Json out = Json::array();
  for (const RequestPhase& phase : known) {
    out.push_back({{"phase", kPhaseNames[static_cast<int>(phase.kind)]},
                   {"start", seconds_json(phase.start)},
                   {"end", seconds_json(phase.end)},
                   {"tokens", phase.tokens}});
  }
  return out;
}

Json causes_json(const RequestRecord& record) {
  if (record.server.causes.empty()) return nullptr;
  Json out = Json::object();
  for (const ServerTimes::Cause& cause : record.server.causes)
    out[cause.name] = json_of(std::round(cause.ms * 1e3) / 1e3);
  return out;
}

Json request_json(const RequestRecord& record, const RunFacts& facts) {
  Json good = Json::array();
  for (std::size_t i = 0; i < facts.slos.size(); ++i) {
    if (met(facts.slos[i], record)) good.push_back(i);
  }
  const bool replied = record.status != 0 || !record.events.empty();
  return {{"index", record.index},
          {"session", record.session},
          {"turn", record.turn},
          {"warmup", record.warmup},
          {"model", text_json(record.model)},
          {"due", seconds_json(record.due)},
          {"sent", time_json(record.sent, replied || record.sent != 0.0)},
          {"first_byte", time_json(record.first_byte, replied)},
          {"first_token", record.events.empty() ? Json(nullptr) : seconds_json(record.events.front())},
          {"last_token", record.events.empty() ? Json(nullptr) : seconds_json(record.events.back())},
          {"ended", seconds_json(record.ended)},
          {"prompt_tokens", tokens_json(record.prompt_tokens)},
          {"cached_tokens", tokens_json(record.cached_tokens)},
          {"output_tokens", record.output_tokens()},
          {"outcome", to_string(record.outcome)},
          {"status", record.status},
          {"error", record.error},
          {"id", text_json(record.id)},
          {"finish_reason", text_json(record.finish_reason)},
          {"good", std::move(good)},
          {"phases", phases_json(facts.phases, record)},
          {"causes", causes_json(record)}};
}

}  // namespace

Json requests_json(const RunFacts& facts) {
  Json requests = Json::array();
  for (const RequestRecord& record : facts.run->records) requests.push_back(request_json(record, facts));
  return requests;
}

void add_vllm_lists(const LoadRun& run, Json& report) {
  Json inputs = Json::array(), outputs = inputs, ttfts = inputs, itls = inputs, starts = inputs, errors = inputs;
  for (const RequestRecord& record : run.records) {
    if (!counts(record)) continue;
    Json gaps = Json::array();
    for (std::size_t i = 1; record.good() && i < record.events.size(); ++i) {
      gaps.push_back(seconds_json(record.events[i] - record.events[i - 1]));
    }
    inputs.push_back(tokens_json(record.prompt_tokens));
    outputs.push_back(record.good() ? record.output_tokens() : 0);
    ttfts.push_back(seconds_json(record.good() ? record.ttft() : 0.0));
    itls.push_back(std::move(gaps));
    starts.push_back(seconds_json(record.due));
    errors.push_back(record.good() || !record.error.empty() ? record.error : std::string(to_string(record.outcome)));
  }
  report["input_lens"] = std::move(inputs);
  report["output_lens"] = std::move(outputs);
  report["ttfts"] = std::move(ttfts);
  report["itls"] = std::move(itls);
  report["start_times"] = std::move(starts);
  report["errors"] = std::move(errors);
}

}  // namespace millrace::loadtest::report
