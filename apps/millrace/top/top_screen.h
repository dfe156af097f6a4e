#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "server/observe/dashboard.h"
#include "top/top_reader.h"

namespace millrace::app {

// How running requests are ordered.
enum class TopOrder { kAge, kTokens, kModel };
std::string_view to_string(TopOrder order) noexcept;

// What the user has chosen, and what the terminal can.
struct TopLook {
  std::size_t columns = 80, rows = 0;  // rows: 0 = as many as it takes
  bool colour = false, unicode = false;
  bool interactive = false;  // says which keys there are
  std::size_t selected = 0;  // line of the list of models and requests that has the mark
  TopOrder order = TopOrder::kAge;
};

// Output tokens per second of each model, the latest last.
class TopHistory {
 public:
  void add(const std::vector<server::observe::ModelView>& views);
  // The last `width` values as that many characters, scaled to the greatest of them.
  std::string sparkline(const std::string& model, std::size_t width, bool unicode) const;

 private:
  std::map<std::string, std::deque<double>> rates_;
};

// The requests in that order; of equal ones the oldest first.
std::vector<RequestRow> ordered(std::vector<RequestRow> rows, TopOrder order);

// Lines of the screen, none wider than the terminal nor more than it has. All of a model's figures where it is selected
// or there is one model, else a line.
std::vector<std::string> screen_lines(const std::vector<server::observe::ModelView>& views,
                                      const std::optional<std::vector<RequestRow>>& requests, const TopHistory& history,
                                      const TopLook& look);
// "12.3 ms", or "-" where nothing was measured.
std::string milliseconds_text(double seconds, int decimals);
// "12.3 %", or that the limit is not known: a share above 1, or not a number.
std::string share_text(double share);

}  // namespace millrace::app
