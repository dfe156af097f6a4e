#include "loadtest/watch/step_timeline.h"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace millrace::loadtest {
namespace {

using Json = nlohmann::json;
using Phase = report::RequestPhase;

// One request's track of the trace: its slices, and the name by which its client knows it.
struct Track {
  std::vector<Phase> phases;
  std::optional<Phase> open;
  std::string request_id;
};

std::optional<Phase::Kind> kind_of(const std::string& name) {
  if (name == "queue") return Phase::Kind::kQueue;
  if (name == "prefill") return Phase::Kind::kPrefill;
  if (name == "decode") return Phase::Kind::kDecode;
  return std::nullopt;
}

// "cmpl-abc" -> "abc": routes put the kind of answer before the request's own id.
std::string_view own_id(std::string_view reply_id) {
  for (const std::string_view kind : {"chatcmpl-", "cmpl-", "msg_", "resp_"}) {
    if (reply_id.starts_with(kind)) return reply_id.substr(kind.size());
  }
  return reply_id;
}

class Reading {
 public:
  Reading(double origin_s, double seconds) : origin_(origin_s), seconds_(seconds) {}

  void take(const Json& event) {
    const std::string kind = event.value("ph", ""), name = event.value("name", "");
    if (kind == "X" && name == "step") return step(event);
    if (kind != "b" && kind != "e") return;
    const auto phase = kind_of(name);
    if (!phase || !event.contains("id")) return;
    Track& track = tracks_[std::to_string(event.value("pid", 0)) + "." + event["id"].get<std::string>()];
    const double at = seconds_of(event);
    const Json arguments = event.value("args", Json::object());
    if (kind == "b") {
      track.open = Phase{.kind = *phase, .start = at, .end = at, .tokens = arguments.value("tokens", std::int64_t{0})};
      if (*phase == Phase::Kind::kDecode) {
        track.open->tokens = arguments.value("output_tokens", std::int64_t{0});
        track.request_id = arguments.value("request_id", "");
      }
    } else if (track.open) {
      track.open->end = at;
      track.phases.push_back(*track.open);
      track.open.reset();
    }
  }

  StepTimeline finish(std::span<const RequestRecord> records) {
    std::map<std::string_view, const Track*> by_id;
    for (const auto& [name, track] : tracks_) {
      if (!track.request_id.empty()) by_id.emplace(track.request_id, &track);
    }
    for (const RequestRecord& record : records) {
      const auto it = by_id.find(own_id(record.id));
      if (!record.id.empty() && it != by_id.end()) timeline_.phases[record.index] = it->second->phases;
    }
    return std::move(timeline_);
  }

 private:
  double seconds_of(const Json& event) const { return event.value("ts", 0.0) * 1e-6 - origin_; }

  void step(const Json& event) {
    const double at = seconds_of(event), ms = event.value("dur", 0.0) * 1e-3;
    if (at + ms * 1e-3 < 0.0 || at > seconds_) return;
    const Json arguments = event.value("args", Json::object());
    const auto number = [&](const char* name) { return arguments.value(name, std::int64_t{0}); };
    report::StepSamples& s = timeline_.steps;
    s.t.push_back(at);
    s.ms.push_back(ms);
    s.prefill_tokens.push_back(number("prefill_tokens"));
    s.decode_tokens.push_back(number("decode_tokens"));
    s.sequences.push_back(number("sequences"));
    s.running.push_back(number("running"));
    s.waiting.push_back(number("waiting"));
    s.pages_used.push_back(number("pages_used"));
    s.pages_free.push_back(number("pages_free"));
    s.preempted.push_back(number("preempted"));
  }

  double origin_, seconds_;
  std::map<std::string, Track> tracks_;
  StepTimeline timeline_;
};

// Calls `take` with each line that is a whole event; one whose fields are of other kinds is left out.
template <typename Take>
void each_event(std::string_view trace, Take&& take) {
  for (std::size_t at = 0; at < trace.size();) {
    const std::size_t end = std::min(trace.find('\n', at), trace.size());
    std::string_view line = trace.substr(at, end - at);
    at = end + 1;
    while (!line.empty() && (line.back() == ',' || line.back() == ']' || line.back() == ' ')) line.remove_suffix(1);
    if (!line.starts_with('{')) continue;
    const Json event = Json::parse(line, nullptr, false);
    try {
      if (event.is_object()) take(event);
    } catch (const Json::exception&) {
      continue;
    }
  }
}

}  // namespace

Result<StepTimeline> read_step_timeline(std::string_view trace, TimePoint started, double seconds,
                                        std::span<const RequestRecord> records) {
  std::optional<Reading> reading;
  each_event(trace, [&](const Json& event) {
    if (reading) return reading->take(event);
    if (event.value("name", "") != "trace_start") return;
    const double begin = event.value("args", Json::object()).value("steady_us", -1.0) * 1e-6;
    reading.emplace(milliseconds_between(TimePoint{}, started) * 1e-3 - begin, seconds);
  });
  if (!reading) return make_error(ErrorCode::kBadFile, "trace", "the trace does not begin with trace_start");
  return reading->finish(records);
}

}  // namespace millrace::loadtest
