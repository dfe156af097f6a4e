#include "chat/jinja/strftime.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace millrace::chat::jinja {
namespace {

constexpr std::string_view kMonths[] = {"January", "February", "March",     "April",   "May",      "June",
                                        "July",    "August",   "September", "October", "November", "December"};
constexpr std::string_view kDays[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};

struct BrokenTime {
  int year;
  unsigned month, day, hour, minute, second, week_day, year_day;  // month, day and year_day from 1; Sunday is 0
};

BrokenTime broken_down(std::int64_t seconds) {
  using namespace std::chrono;
  constexpr std::int64_t kYear9999 = 253'402'300'799, kYear1 = -62'135'596'800;
  const sys_seconds time{std::chrono::seconds(std::clamp(seconds, kYear1, kYear9999))};
  const sys_days date = floor<days>(time);
  const year_month_day ymd(date);
  const auto rest = static_cast<unsigned>((time - date).count());
  const auto year_start = sys_days(ymd.year() / January / 1);
  return {static_cast<int>(ymd.year()),
          static_cast<unsigned>(ymd.month()),
          static_cast<unsigned>(ymd.day()),
          rest / 3600,
          rest / 60 % 60,
          rest % 60,
          weekday(date).c_encoding(),
          static_cast<unsigned>((date - year_start).count()) + 1};
}

// Of the ISO 8601 calendar, whose year has the weeks that have their Thursday in it.
struct IsoWeek {
  int year;
  int week;  // from 1
};

int iso_weeks_of(int year) {
  const auto last_day = [](int y) { return (y + y / 4 - y / 100 + y / 400) % 7; };  // of the year; Sunday is 0
  return last_day(year) == 4 || last_day(year - 1) == 3 ? 53 : 52;
}

IsoWeek iso_week(const BrokenTime& t) {
  const int week_day = t.week_day == 0 ? 7 : static_cast<int>(t.week_day);
  const int week = (static_cast<int>(t.year_day) - week_day + 10) / 7;
  if (week < 1) return {t.year - 1, iso_weeks_of(t.year - 1)};
  if (week > iso_weeks_of(t.year)) return {t.year + 1, 1};
  return {t.year, week};
}

std::string directive(char c, const BrokenTime& t, std::int64_t seconds) {
  const unsigned hour12 = t.hour % 12 == 0 ? 12 : t.hour % 12;
  switch (c) {
    case 'Y': return fmt::format("{}", t.year);
    case 'y': return fmt::format("{:02}", t.year % 100);
    case 'm': return fmt::format("{:02}", t.month);
    case 'd': return fmt::format("{:02}", t.day);
    case 'e': return fmt::format("{:2}", t.day);
    case 'H': return fmt::format("{:02}", t.hour);
    case 'I': return fmt::format("{:02}", hour12);
    case 'M': return fmt::format("{:02}", t.minute);
    case 'S': return fmt::format("{:02}", t.second);
    case 'f': return "000000";
    case 'j': return fmt::format("{:03}", t.year_day);
    case 'p': return t.hour < 12 ? "AM" : "PM";
    case 'B': return std::string(kMonths[t.month - 1]);
    case 'b':
    case 'h': return std::string(kMonths[t.month - 1].substr(0, 3));
    case 'A': return std::string(kDays[t.week_day]);
    case 'a': return std::string(kDays[t.week_day].substr(0, 3));
    case 'w': return fmt::format("{}", t.week_day);
    case 'u': return fmt::format("{}", t.week_day == 0 ? 7 : t.week_day);
    case 'C': return fmt::format("{:02}", t.year / 100);
    case 'G': return fmt::format("{}", iso_week(t).year);
    case 'g': return fmt::format("{:02}", iso_week(t).year % 100);
    case 'V': return fmt::format("{:02}", iso_week(t).week);
    case 'U': return fmt::format("{:02}", (t.year_day + 6 - t.week_day) / 7);
    case 'W': return fmt::format("{:02}", (t.year_day + 6 - (t.week_day + 6) % 7) / 7);
    case 'k': return fmt::format("{:2}", t.hour);
    case 'l': return fmt::format("{:2}", hour12);
    case 'P': return t.hour < 12 ? "am" : "pm";
    case 'r': return fmt::format("{:02}:{:02}:{:02} {}", hour12, t.minute, t.second, t.hour < 12 ? "AM" : "PM");
    case 's': return fmt::format("{}", seconds);
    case 'F': return fmt::format("{}-{:02}-{:02}", t.year, t.month, t.day);
    case 'T':
    case 'X': return fmt::format("{:02}:{:02}:{:02}", t.hour, t.minute, t.second);
    case 'R': return fmt::format("{:02}:{:02}", t.hour, t.minute);
    case 'D':
    case 'x': return fmt::format("{:02}/{:02}/{:02}", t.month, t.day, t.year % 100);
    case 'c':
      return fmt::format("{} {} {:2} {:02}:{:02}:{:02} {}", kDays[t.week_day].substr(0, 3),
                         kMonths[t.month - 1].substr(0, 3), t.day, t.hour, t.minute, t.second, t.year);
    case 'z':
    case 'Z': return "";
    case 'n': return "\n";
    case 't': return "\t";
    case '%': return "%";
    default: return std::string("%") + c;
  }
}

}  // namespace

std::string format_time(std::string_view format, std::int64_t seconds) {
  const BrokenTime time = broken_down(seconds);
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    const bool unpadded = format[i + 1] == '-' && i + 2 < format.size();
    i += unpadded ? 2 : 1;
    std::string text = directive(format[i], time, seconds);
    if (unpadded)
      text.erase(0, std::min(text.find_first_not_of("0 "), text.size() - std::min<std::size_t>(text.size(), 1)));
    out += text;
  }
  return out;
}

}  // namespace millrace::chat::jinja
