#include "top/top_screen.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "printable.h"

namespace millrace::app {
namespace {

using server::observe::ModelView;

constexpr std::size_t kHistory = 300;  // values kept of a model
constexpr std::size_t kNarrow = 60;    // columns from which on a line has room for several figures

// Text with the columns that it takes; a style takes none.
class Line {
 public:
  explicit Line(const TopLook& look) : look_(look) {}
  // Adds text of one column a character; what does not fit is left out.
  Line& add(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
      std::size_t end = i + 1;
      while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
      if (used_ == look_.columns) break;
      text_ += text.substr(i, end - i);
      ++used_;
      i = end;
    }
    return *this;
  }
  Line& styled(std::string_view style, std::string_view text) {
    if (!look_.colour) return add(text);
    text_ += fmt::format("\033[{}m", style);
    add(text);
    text_ += "\033[0m";
    return *this;
  }
  const std::string& text() const noexcept { return text_; }

 private:
  const TopLook& look_;
  std::string text_;
  std::size_t used_ = 0;
};

constexpr std::string_view kBold = "1", kDim = "2", kRed = "31", kGreen = "32", kYellow = "33", kReverse = "7";

std::string bar(double share) {
  constexpr int kWidth = 20;
  const int full = std::isnan(share) ? 0 : static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kWidth));
  return fmt::format("[{}{}] ", std::string(static_cast<std::size_t>(full), '#'),
                     std::string(static_cast<std::size_t>(kWidth - full), '.'));
}

std::string_view load_style(double share) { return share > 0.95 ? kRed : share > 0.8 ? kYellow : kGreen; }

std::string rate(double value) { return fmt::format("{:.1f}", value); }

void add_figures(std::vector<std::string>& out, const ModelView& v, const TopHistory& history, const TopLook& look) {
  const auto row = [&](std::string_view name, const std::string& text) {
    out.push_back(Line(look).add("  ").styled(kDim, fmt::format("{:<12}", name)).add(text).text());
  };
  const auto share_row = [&](std::string_view name, double share, std::string_view note) {
    Line line(look);
    line.add("  ").styled(kDim, fmt::format("{:<12}", name));
    const bool known = std::isfinite(share) && share <= 1.0;
    if (known) line.styled(load_style(share), bar(share));
    out.push_back(line.add(share_text(share)).add(note).text());
  };
  row("tokens/s", fmt::format("in {:>10}   cached {:>10}   out {:>10}", rate(v.prompt_tokens_s),
                              rate(v.cached_tokens_s), rate(v.output_tokens_s)));
  if (look.interactive) {
    row("out, lately", history.sparkline(v.model, look.columns - 16, look.unicode));
  }
  row("requests", fmt::format("running {:>5.0f}   waiting {:>5.0f}   paused {:>5.0f}   done {:.2f}/s   failed {:.0f}",
                              v.running, v.waiting, v.paused, v.requests_s, v.failed));
  share_row("KV cache", v.kv_share, fmt::format("   preemptions {:.0f}", v.preemptions));
  share_row("bandwidth", v.mbu, "   (MBU)");
  share_row("arithmetic", v.mfu, "   (MFU)");
  share_row("engine", v.busy, "   (busy)");
  row("TTFT",
      fmt::format("p50 {:>12}   p95 {:>12}", milliseconds_text(v.ttft_p50, 1), milliseconds_text(v.ttft_p95, 1)));
  row("token gap",
      fmt::format("p50 {:>12}   p95 {:>12}", milliseconds_text(v.itl_p50, 2), milliseconds_text(v.itl_p95, 2)));
  row("a step", fmt::format("{:.1f} sequences; schedule {:.1f} %  prepare {:.1f} %  forward {:.1f} %  commit {:.1f} %",
                            v.step_sequences, v.schedule_share * 100.0, v.prepare_share * 100.0,
                            v.forward_share * 100.0, v.commit_share * 100.0));
  if (v.rank_waits.empty()) return;
  std::string waits;
  for (std::size_t rank = 0; rank < v.rank_waits.size(); ++rank) {
    waits += fmt::format("{}: {:.1f} %   ", rank, v.rank_waits[rank] * 100.0);
  }
  row("ranks wait", waits);
}

// Where there is no room for two figures in a line.
void add_narrow_figures(std::vector<std::string>& out, const ModelView& v, const TopLook& look) {
  const auto row = [&](std::string_view name, const std::string& text) {
    out.push_back(Line(look).styled(kDim, fmt::format(" {:<9}", name)).add(fmt::format("{:>10}", text)).text());
  };
  const auto share = [](double value) {
    return std::isfinite(value) && value <= 1.0 ? fmt::format("{:.0f} %", value * 100.0) : "unknown";
  };
  row("out/s", rate(v.output_tokens_s));
  row("running", fmt::format("{:.0f}", v.running));
  row("waiting", fmt::format("{:.0f}", v.waiting));
  row("KV cache", share(v.kv_share));
  row("TTFT p50", milliseconds_text(v.ttft_p50, 0));
  row("gap p50", milliseconds_text(v.itl_p50, 1));
  row("MBU", share(v.mbu));
  row("in/s", rate(v.prompt_tokens_s));
  row("failed", fmt::format("{:.0f}", v.failed));
}

std::string request_line(const RequestRow& row, bool marked, const TopLook& look) {
  const std::string text =
      fmt::format("{} {:<20} {:<12} {:>9} {:>7.1f} s {:>7} in {:>7} out", marked ? '>' : ' ', printable(row.id),
                  printable(row.model), printable(row.state), row.age_ms / 1e3, row.prompt_tokens, row.output_tokens);
  return Line(look).styled(marked ? kReverse : "0", text).text();
}

void add_requests(std::vector<std::string>& out, const std::vector<RequestRow>& rows, std::size_t first_line,
                  const TopLook& look) {
  out.push_back(Line(look)
                    .styled(kBold, fmt::format("{} running requests", rows.size()))
                    .styled(kDim, look.interactive ? fmt::format(", by {}", to_string(look.order)) : "")
                    .text());
  // Those around the mark, where not all fit.
  const std::size_t room = look.rows == 0 ? rows.size() : look.rows - std::min(look.rows, out.size() + 2);
  const std::size_t mark = look.selected >= first_line ? look.selected - first_line : 0;
  const std::size_t begin = mark < room ? 0 : mark - room + 1;
  for (std::size_t i = begin; i < std::min(rows.size(), begin + room); ++i) {
    out.push_back(request_line(rows[i], look.interactive && first_line + i == look.selected, look));
  }
}

}  // namespace

std::string_view to_string(TopOrder order) noexcept {
  switch (order) {
    case TopOrder::kAge: return "age";
    case TopOrder::kTokens: return "output tokens";
    case TopOrder::kModel: return "model";
  }
  return "";
}

std::string milliseconds_text(double seconds, int decimals) {
  return seconds > 0.0 ? fmt::format("{:.{}f} ms", seconds * 1e3, decimals) : "-";
}

std::string share_text(double share) {
  if (!std::isfinite(share) || share > 1.0) return "limit not known (measured under load)";
  return fmt::format("{:5.1f} %", share * 100.0);
}

void TopHistory::add(const std::vector<ModelView>& views) {
  for (const ModelView& view : views) {
    std::deque<double>& rates = rates_[view.model];
    rates.push_back(view.output_tokens_s);
    if (rates.size() > kHistory) rates.pop_front();
  }
}

std::string TopHistory::sparkline(const std::string& model, std::size_t width, bool unicode) const {
  static constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr std::array<std::string_view, 8> kPlain = {"_", ".", ":", "-", "=", "+", "*", "#"};
  const auto it = rates_.find(model);
  if (it == rates_.end()) return {};
  const auto& rates = it->second;
  const auto begin = rates.end() - static_cast<std::ptrdiff_t>(std::min(width, rates.size()));
  const double most = *std::max_element(begin, rates.end());
  std::string out;
  for (auto value = begin; value != rates.end(); ++value) {
    const auto level = most > 0.0 ? static_cast<std::size_t>(std::lround(*value / most * 7.0)) : 0;
    out += (unicode ? kBlocks : kPlain)[std::min<std::size_t>(level, 7)];
  }
  return out;
}

std::vector<RequestRow> ordered(std::vector<RequestRow> rows, TopOrder order) {
  std::ranges::stable_sort(rows, [&](const RequestRow& a, const RequestRow& b) {
    if (order == TopOrder::kTokens && a.output_tokens != b.output_tokens) return a.output_tokens > b.output_tokens;
    if (order == TopOrder::kModel && a.model != b.model) return a.model < b.model;
    return a.age_ms > b.age_ms;
  });
  return rows;
}

std::vector<std::string> screen_lines(const std::vector<ModelView>& views,
                                      const std::optional<std::vector<RequestRow>>& requests, const TopHistory& history,
                                      const TopLook& look) {
  std::vector<std::string> out;
  if (views.empty()) out.push_back(Line(look).add("no model has been loaded").text());
  const std::size_t open = look.selected < views.size() ? look.selected : 0;
  for (std::size_t i = 0; i < views.size(); ++i) {
    const bool marked = look.interactive && i == look.selected;
    Line line(look);
    if (look.interactive) line.add(marked ? "> " : "  ");
    line.styled(marked ? kReverse : kBold, printable(views[i].model));
    if (!views[i].up) line.styled(kRed, "  ENGINE FAILED");
    const bool whole = i == open || !look.interactive;
    if (!whole) {
      line.add(fmt::format("   out {}/s   running {:.0f}   ", rate(views[i].output_tokens_s), views[i].running));
      line.add(history.sparkline(views[i].model, 20, look.unicode));
    }
    out.push_back(line.text());
    if (!whole) continue;
    look.columns < kNarrow ? add_narrow_figures(out, views[i], look) : add_figures(out, views[i], history, look);
  }
  if (requests) {
    out.emplace_back();
    add_requests(out, ordered(*requests, look.order), views.size(), look);
  }
  if (look.interactive) {
    if (look.rows > 0) out.resize(std::min(out.size(), look.rows - 1));
    out.push_back(Line(look).styled(kDim, "q quit   arrows choose   s sort").text());
  }
  return out;
}

}  // namespace millrace::app
