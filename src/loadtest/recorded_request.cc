#include "loadtest/recorded_request.h"

#include <algorithm>
#include <charconv>

#include "loadtest/prompt_source.h"

namespace millrace::loadtest {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{2} << 30;

class Replay final : public Workload {
 public:
  Replay(const WorkloadOptions& options, std::vector<RecordedRequest> recorded)
      : prompts_(options), speed_(options.trace_speed), recorded_(std::move(recorded)) {}

  std::optional<std::uint64_t> sessions() const override { return recorded_.size(); }
  std::optional<double> start_s(std::uint64_t index) const override {
    return recorded_[index % recorded_.size()].at_s / speed_;
  }

  Session session(std::uint64_t index) const override {
    const RecordedRequest& request = recorded_[index % recorded_.size()];
    Session session;
    Turn& turn = session.turns.emplace_back();
    std::int64_t left = request.input_tokens;
    for (std::size_t i = 0; i < request.blocks.size() && left > 0; ++i) {
      const std::int64_t tokens = std::min(left, kTraceBlock);
      prompts_.append(turn, tokens, stream_of(Purpose::kBlock, request.blocks[i]));
      left -= tokens;
    }
    prompts_.append(turn, left, stream_of(Purpose::kOwn, index));
    turn.output_tokens = request.output_tokens;
    return session;
  }

 private:
  PromptSource prompts_;
  double speed_;
  std::vector<RecordedRequest> recorded_;
};

// The fields of the line that begins at `at`, which moves past its end.
std::vector<std::string> fields_of_line(std::string_view text, std::size_t& at) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted && c == '"' && at + 1 < text.size() && text[at + 1] == '"') {
      fields.back() += text[++at];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      fields.emplace_back();
    } else if (!quoted && c == '\n') {
      ++at;
      break;
    } else if (c != '\r' || quoted) {
      fields.back() += c;
    }
  }
  return fields;
}

// The columns of `names` of a CSV text with a header, a row a line (RFC 4180 quoting); kBadFile naming the line and the
// column that is missing.
Result<std::vector<std::vector<std::string>>> read_columns(std::string_view path, std::string_view text,
                                                           const std::vector<std::string_view>& names) {
  std::size_t at = 0;
  const std::vector<std::string> header = fields_of_line(text, at);
  std::vector<std::size_t> columns;
  for (const std::string_view name : names) {
    const auto it = std::ranges::find(header, name);
    if (it == header.end()) {
      return make_error(ErrorCode::kBadFile, "dataset-path", "{}: line 1 has no column '{}'", path, name);
    }
    columns.push_back(static_cast<std::size_t>(it - header.begin()));
  }
  std::vector<std::vector<std::string>> rows;
  for (std::int64_t line = 2; at < text.size(); ++line) {
    const std::vector<std::string> fields = fields_of_line(text, at);
    if (fields.size() == 1 && fields.front().empty()) continue;
    std::vector<std::string>& row = rows.emplace_back();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] >= fields.size()) {
        return make_error(ErrorCode::kBadFile, "dataset-path", "{}: line {} has no column '{}'", path, line, names[i]);
      }
      row.push_back(fields[columns[i]]);
    }
  }
  return rows;
}

}  // namespace

MadeWorkload replay_file(const WorkloadOptions& options, std::string_view dataset, TraceReader& read) {
  const auto text = read_dataset(options, dataset);
  if (!text) return text.error();
  auto recorded = read(options.path, *text);
  if (!recorded) return recorded.error();
  if (recorded->empty()) {
    return make_error(ErrorCode::kInvalidArgument, "dataset-path", "{}: no request is in it", options.path);
  }
  std::ranges::stable_sort(*recorded, {}, &RecordedRequest::at_s);
  const double first = recorded->front().at_s;
  for (RecordedRequest& request : *recorded) {
    request.at_s -= first;
    request.input_tokens = std::clamp<std::int64_t>(request.input_tokens, 1, metrics::kMaxTokens);
    request.output_tokens = std::clamp<std::int64_t>(request.output_tokens, 1, metrics::kMaxTokens);
  }
  return MadeWorkload(std::make_unique<Replay>(options, *std::move(recorded)));
}

Result<double> trace_number(std::string_view path, std::string_view field, std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0.0) || value > 1e15) {
    return make_error(ErrorCode::kBadFile, "dataset-path", "{}: {} is '{}': expected a number from 0 to 1e15", path,
                      field, text.substr(0, 60));
  }
  return value;
}

Result<std::string> read_dataset(const WorkloadOptions& options, std::string_view dataset) {
  if (options.path.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "dataset-path", "dataset-path: '{}' needs the path of its file",
                      dataset);
  }
  return read_file(Env::system(), options.path, kMaxBytes);
}

Result<std::vector<RecordedRequest>> read_csv_trace(const CsvTrace& trace, std::string_view path,
                                                    std::string_view text) {
  const auto rows = read_columns(path, text, {trace.time, trace.input, trace.output});
  if (!rows) return rows.error();
  std::vector<RecordedRequest> recorded;
  for (const auto& row : *rows) {
    const auto at = trace.seconds(path, trace.time, row[0]);
    const auto input = trace_number(path, trace.input, row[1]);
    const auto output = trace_number(path, trace.output, row[2]);
    for (const auto* number : {&at, &input, &output}) {
      if (!*number) return number->error();
    }
    if (*input < 1.0 || *output < 1.0) continue;
    recorded.push_back({.at_s = *at,
                        .input_tokens = static_cast<std::int64_t>(*input),
                        .output_tokens = static_cast<std::int64_t>(*output),
                        .blocks = {}});
  }
  return recorded;
}

}  // namespace millrace::loadtest
