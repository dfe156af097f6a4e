#include "loadtest/report/csv.h"

#include <fmt/core.h>

#include <vector>

namespace millrace::loadtest::report {
namespace {

std::string escaped(const std::string& field) {
  if (field.find_first_of("\",\r\n") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

// A scalar, or the entries of a list with spaces between them.
std::string field_of(const Json& value) {
  if (value.is_null() || value.is_object()) return "";
  if (value.is_string()) return escaped(value.get<std::string>());
  if (!value.is_array()) return value.dump();
  std::string out;
  for (const Json& entry : value)
    out += (out.empty() ? "" : " ") + entry.dump(-1, ' ', false, Json::error_handler_t::replace);
  return escaped(out);
}

class Rows {
 public:
  explicit Rows(const std::vector<std::string>& header) { line(header); }
  // Fields that are quoted already.
  void line(const std::vector<std::string>& fields) {
    for (std::size_t i = 0; i < fields.size(); ++i) text_ += (i == 0 ? "" : ",") + fields[i];
    text_ += '\n';
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

std::string milliseconds(std::optional<double> from, std::optional<double> to) {
  return from && to ? fmt::format("{:.3f}", (*to - *from) * 1000) : std::string();
}

std::string serve_csv(const Json& report) {
  const std::vector<std::string> members = {
      "index",       "session", "turn",          "warmup",        "due",           "sent",    "first_byte",
      "first_token", "ended",   "prompt_tokens", "cached_tokens", "output_tokens", "outcome", "status",
      "error",       "id",      "finish_reason", "good"};
  std::vector<std::string> header = members;
  header.insert(header.end(), {"send_lag_ms", "ttft_ms", "due_to_end_ms"});
  Rows rows(header);
  for (const Json& request : member(report, "requests")) {
    std::vector<std::string> fields;
    for (const std::string& name : members) fields.push_back(field_of(member(request, name)));
    const auto due = number(request, "due");
    fields.push_back(milliseconds(due, number(request, "sent")));
    fields.push_back(milliseconds(due, number(request, "first_token")));
    fields.push_back(milliseconds(due, number(request, "ended")));
    rows.line(fields);
  }
  return std::move(rows).text();
}

std::string sweep_csv(const Json& report) {
  Rows rows({"series", "x", "runs", "stopped", "noise", "metric", "value", "low", "high"});
  for (const Json& series : member(report, "series")) {
    for (const Json& point : member(series, "points")) {
      for (const auto& [metric, estimate] : member(point, "metrics").items()) {
        rows.line({field_of(member(series, "label")), field_of(member(point, "x")), field_of(member(point, "runs")),
                   field_of(member(point, "stopped")), field_of(member(point, "noise")), escaped(metric),
                   field_of(member(estimate, "value")), field_of(member(estimate, "low")),
                   field_of(member(estimate, "high"))});
      }
    }
  }
  return std::move(rows).text();
}

std::string compare_csv(const Json& report) {
  Rows rows({"round", "order", "noise", "metric", "a", "b"});
  std::size_t number_of_round = 0;
  for (const Json& round : member(report, "rounds")) {
    ++number_of_round;
    const Json& noise = member(round, "noise");
    for (const auto& [metric, a] : member(round, "a").items()) {
      rows.line({std::to_string(number_of_round), field_of(member(round, "order")),
                 field_of(noise.is_object() ? member(noise, "verdict") : noise), escaped(metric), field_of(a),
                 field_of(member(member(round, "b"), metric))});
    }
  }
  return std::move(rows).text();
}

std::string peers_csv(const Json& report) {
  Rows rows({"peer", "workload", "round", "metric", "millrace", "of_peer"});
  for (const Json& result : member(report, "results")) {
    std::size_t number_of_round = 0;
    for (const Json& round : member(result, "rounds")) {
      ++number_of_round;
      for (const auto& [metric, ours] : member(round, "millrace").items()) {
        rows.line({field_of(member(result, "peer")), field_of(member(result, "workload")),
                   std::to_string(number_of_round), escaped(metric), field_of(ours),
                   field_of(member(member(round, "peer"), metric))});
      }
    }
  }
  return std::move(rows).text();
}

}  // namespace

std::string csv_of(const Json& report) {
  const std::string schema = text(report, "schema");
  if (schema == "millrace.bench.serve") return serve_csv(report);
  if (schema == "millrace.bench.sweep") return sweep_csv(report);
  if (schema == "millrace.bench.compare") return compare_csv(report);
  if (schema == "millrace.bench.peers") return peers_csv(report);
  return "";
}

}  // namespace millrace::loadtest::report
