#include "server/observe/access_log.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/thread_name.h"
#include "server/observe/trace_context.h"

namespace millrace::server::observe {
namespace {

constexpr std::size_t kMaxPath = 200;  // bytes of a path in a line

LogField text_field(std::string name, std::string value) { return {std::move(name), std::move(value), false}; }
LogField count_field(std::string name, std::int64_t value) { return {std::move(name), std::to_string(value), true}; }
LogField ms_field(std::string name, double ms) { return {std::move(name), fmt::format("{:.2f}", ms), true}; }

// A path may be whatever a client tries.
std::string shortened(const std::string& path) {
  return path.size() <= kMaxPath ? path : path.substr(0, kMaxPath) + "...";
}

// What each rank waits for others of its time at steps.
std::string wait_percents(std::span<const model::RankTime> ranks) {
  std::string text;
  for (const model::RankTime& rank : ranks) {
    text += fmt::format("{}{:.1f}", text.empty() ? "" : " ", 100.0 * rank.waited_ms / std::max(rank.ms, 1e-9));
  }
  return text;
}

}  // namespace

std::vector<LogField> access_fields(const RequestRecord& record) {
  std::vector<LogField> fields = {text_field("request_id", record.request_id), text_field("route", record.route)};
  if (!record.path.empty()) fields.push_back(text_field("path", shortened(record.path)));
  if (!record.model.empty()) fields.push_back(text_field("model", record.model));
  if (!record.tenant.empty()) fields.push_back(text_field("tenant", record.tenant));
  if (const auto trace = parse_trace_parent(record.trace_parent)) {
    fields.push_back(text_field("trace_id", trace->trace_id));
  }
  fields.push_back(count_field("status", record.status));
  fields.push_back(ms_field("total_ms", milliseconds_between(record.received, record.finished)));
  if (!record.error_code.empty()) fields.push_back(text_field("error", record.error_code));
  if (record.answers.empty()) return fields;
  fields.push_back(count_field("prompt_tokens", record.prompt_tokens()));
  fields.push_back(count_field("cached_tokens", record.cached_tokens()));
  fields.push_back(count_field("output_tokens", record.output_tokens()));
  const AnswerRecord& first = record.answers.front();
  fields.push_back(ms_field("queue_ms", first.spent.queue_ms));
  if (happened(first.stats.first_token)) {
    fields.push_back(ms_field("ttft_ms", first.stats.ttft_ms()));
    fields.push_back(ms_field("tpot_ms", first.stats.tpot_ms()));
  }
  if (first.stats.preemptions > 0) fields.push_back(count_field("preemptions", first.stats.preemptions));
  fields.push_back(text_field("finish", std::string(engine::to_string(first.finish))));
  return fields;
}

AccessLog::AccessLog(LogWriter& writer, std::chrono::milliseconds period)
    : writer_(writer), period_(period), thread_([this] { run(); }) {}

AccessLog::~AccessLog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void AccessLog::request(const RequestRecord& record) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = traffic_.find(record.model); it != traffic_.end()) {
      ++it->second.requests;
      it->second.failed += record.status >= 400 ? 1 : 0;
    }
  }
  if (log::level() <= log::Level::kInfo) writer_.write(log::Level::kInfo, "request", access_fields(record));
}

void AccessLog::step(std::string_view model, const engine::StepReport& report) {
  const std::lock_guard lock(mutex_);
  auto it = traffic_.find(model);
  if (it == traffic_.end()) it = traffic_.emplace(model, Traffic{}).first;
  Traffic& traffic = it->second;
  traffic.any = true;
  traffic.prompt_tokens += report.prompt_tokens;
  traffic.output_tokens += static_cast<std::int64_t>(report.tokens.size());
  traffic.cached_tokens += report.cached_tokens;
  traffic.preemptions += report.preempted;
  traffic.ranks.resize(std::max(traffic.ranks.size(), report.ranks.size()));
  for (std::size_t rank = 0; rank < report.ranks.size(); ++rank) traffic.ranks[rank] += report.ranks[rank];
  traffic.running = report.running;
  traffic.waiting = report.waiting;
  traffic.kv_share = static_cast<double>(report.pages.used) / std::max(1.0, static_cast<double>(report.pages.total));
}

void AccessLog::run() {
  name_thread("access-log");
  auto begin = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  for (bool ending = false; !ending;) {
    ending = wake_.wait_for(lock, period_, [this] { return stopping_; });
    const auto now = std::chrono::steady_clock::now();
    write_traffic(std::max(1e-3, milliseconds_between(begin, now) / 1e3));
    begin = now;
  }
}

void AccessLog::write_traffic(double seconds) {
  for (auto& [model, traffic] : traffic_) {
    if (!traffic.any || log::level() > log::Level::kInfo) continue;
    const auto rate = [&](std::int64_t n) { return fmt::format("{:.1f}", static_cast<double>(n) / seconds); };
    std::vector<LogField> fields = {text_field("model", model),
                                    {"prompt_tokens_per_s", rate(traffic.prompt_tokens), true},
                                    {"cached_tokens_per_s", rate(traffic.cached_tokens), true},
                                    {"output_tokens_per_s", rate(traffic.output_tokens), true},
                                    count_field("running", traffic.running),
                                    count_field("waiting", traffic.waiting),
                                    {"kv_percent", fmt::format("{:.1f}", traffic.kv_share * 100.0), true},
                                    count_field("requests", traffic.requests),
                                    count_field("failed", traffic.failed),
                                    count_field("preemptions", traffic.preemptions)};
    if (!traffic.ranks.empty()) fields.push_back(text_field("rank_wait_percent", wait_percents(traffic.ranks)));
    writer_.write(log::Level::kInfo, "traffic", fields);
    traffic = {};
  }
}

}  // namespace millrace::server::observe
