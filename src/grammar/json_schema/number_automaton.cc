#include "grammar/json_schema/number_automaton.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace millrace::grammar::json_schema {
namespace {

using Bound = NumberFacts::Bound;

// What the automaton has to know of the multiples: the number times 10^places, modulo `modulus`.
struct Divisors {
  struct One {
    std::int64_t of;  // times 10^places
    bool holds;
  };
  std::size_t places = 0;
  std::int64_t modulus = 1;
  std::vector<One> all;

  // `beyond`: there are more places than these, and not all are 0.
  bool fit(std::int64_t rest, bool beyond) const {
    return std::all_of(all.begin(), all.end(),
                       [&](const One& one) { return (!beyond && rest % one.of == 0) == one.holds; });
  }
};

constexpr std::int64_t kMaxModulus = 1'000'000;

Result<Divisors> divisors(const NumberFacts& facts, bool no_integers) {
  Divisors made;
  std::vector<NumberFacts::Multiple> multiples = facts.multiples;
  if (no_integers) multiples.push_back({Decimal{false, "1", ""}, false});
  for (const auto& multiple : multiples) made.places = std::max(made.places, multiple.of.fraction.size());
  for (const auto& multiple : multiples) {
    const auto scaled = multiple.of.scaled(made.places, kMaxModulus);
    if (scaled) made.modulus = std::lcm(made.modulus, *scaled);
    if (!scaled || made.modulus > kMaxModulus) {
      return make_error(ErrorCode::kResourceExhausted, "grammar", "multipleOf needs to count to more than {}",
                        kMaxModulus);
    }
    made.all.push_back({*scaled, multiple.holds});
  }
  return made;
}

// Numbers of one sign by their size: from `low` to `high`, neither below 0.
struct Stretch {
  std::optional<Bound> low, high;
};

// How far a number has been read.
struct Place {
  enum Phase : std::uint8_t { kStart, kSigned, kZero, kWhole, kPoint, kFraction };
  Phase phase = kStart;
  bool negative = false;
  std::size_t digits = 0;  // of the part before or after the point; counted as far as it matters
  int low = 0, high = 0;   // the digits so far beside those of the bound: -1 less, 0 equal, 1 more
  std::int64_t rest = 0;
  bool beyond = false;
  auto key() const { return std::tie(phase, negative, digits, low, high, rest, beyond); }
  bool operator<(const Place& other) const { return key() < other.key(); }
};

class NumberScan {
 public:
  NumberScan(Stretch positive, Stretch negative, Divisors divisors, bool fractions)
      : stretches_{std::move(positive), std::move(negative)}, divisors_(std::move(divisors)), fractions_(fractions) {
    max_fraction_ = divisors_.places;
    for (const Stretch& stretch : stretches_) {
      for (const auto& bound : {stretch.low, stretch.high}) {
        if (!bound) continue;
        max_whole_ = std::max(max_whole_, bound->at.whole.size());
        max_fraction_ = std::max(max_fraction_, bound->at.fraction.size());
      }
    }
    limit_digits();
  }

  Result<CharAutomaton> automaton(WorkMeter& meter) {
    number_of(Place{});
    for (std::size_t at = 0; at < places_.size(); ++at) {
      if (auto fine = meter.spend(); !fine) return fine.error();
      const Place place = places_[at];
      CharAutomaton::State state;
      state.accepts = accepts(place);
      for (const char c : std::string_view("-.0123456789")) {
        Place next = place;
        if (!step(next, c)) continue;
        const auto target = static_cast<std::int32_t>(number_of(next));
        if (!state.edges.empty() && state.edges.back().target == target &&
            state.edges.back().last + 1 == static_cast<char32_t>(c)) {
          state.edges.back().last = static_cast<char32_t>(c);
        } else {
          state.edges.push_back({static_cast<char32_t>(c), static_cast<char32_t>(c), target});
        }
      }
      states_.push_back(std::move(state));
    }
    return CharAutomaton(std::move(states_));
  }

 private:
  // A double has 15 decimal digits: a number with more could be, for who reads doubles, on the other side of a bound or
  // no multiple. So a fraction that is looked at has no more digits; the whole part only where multiples are counted.
  void limit_digits() {
    constexpr std::size_t kExact = 15, kBeyondMultiples = 6;
    if (divisors_.all.empty()) {
      fraction_limit_ = std::max(max_fraction_, kExact - std::min(max_whole_, kExact - 1));
    } else {
      const bool all_hold = std::ranges::all_of(divisors_.all, &Divisors::One::holds);
      fraction_limit_ = divisors_.places + (all_hold ? 0 : kBeyondMultiples);
      if (fractions_ && fraction_limit_ > 0)
        whole_limit_ = std::max(max_whole_, kExact - std::min(fraction_limit_, kExact - 1));
    }
    max_fraction_ = std::max(max_fraction_, fraction_limit_);
    max_whole_ = std::max(max_whole_, whole_limit_);
  }

  std::size_t number_of(const Place& place) {
    const auto [at, is_new] = numbers_.emplace(place, places_.size());
    if (is_new) places_.push_back(place);
    return at->second;
  }

  const Stretch& stretch(const Place& place) const { return stretches_[place.negative ? 1 : 0]; }

  bool step(Place& place, char c) const {
    if (c == '-') {
      if (place.phase != Place::kStart) return false;
      place.phase = Place::kSigned;
      place.negative = true;
      return true;
    }
    if (c == '.') return point(place);
    return place.phase >= Place::kPoint ? fraction_digit(place, c) : whole_digit(place, c);
  }

  static int compared(char digit, char with) { return digit < with ? -1 : digit > with ? 1 : 0; }

  bool whole_digit(Place& place, char c) const {
    if (place.phase == Place::kZero) return false;
    if (place.phase != Place::kWhole && c == '0') {  // a zero is a whole part of no digits
      place.phase = Place::kZero;
      return true;
    }
    if (whole_limit_ > 0 && place.phase == Place::kWhole && place.digits >= whole_limit_) return false;
    place.phase = Place::kWhole;
    place.digits = std::min(place.digits + 1, max_whole_ + 1);
    place.low = whole_compared(stretch(place).low, place.low, place.digits, c);
    place.high = whole_compared(stretch(place).high, place.high, place.digits, c);
    place.rest = (place.rest * 10 + (c - '0')) % divisors_.modulus;
    return true;
  }

  static int whole_compared(const std::optional<Bound>& bound, int so_far, std::size_t digits, char c) {
    if (!bound) return 0;
    if (digits > bound->at.whole.size()) return 1;
    return so_far != 0 ? so_far : compared(c, bound->at.whole[digits - 1]);
  }

  // The whole part is read: fewer digits than the bound's are less.
  static int whole_done(const std::optional<Bound>& bound, int so_far, std::size_t digits) {
    return bound && digits < bound->at.whole.size() ? -1 : so_far;
  }

  void end_whole(Place& place) const {
    place.low = whole_done(stretch(place).low, place.low, place.digits);
    place.high = whole_done(stretch(place).high, place.high, place.digits);
    place.digits = 0;
  }

  bool point(Place& place) const {
    if (!fractions_ || fraction_limit_ == 0 || (place.phase != Place::kZero && place.phase != Place::kWhole))
      return false;
    end_whole(place);
    place.phase = Place::kPoint;
    return true;
  }

  bool fraction_digit(Place& place, char c) const {
    if (place.phase == Place::kFraction && place.digits >= fraction_limit_) return false;
    place.phase = Place::kFraction;
    place.digits = std::min(place.digits + 1, max_fraction_ + 1);
    place.low = fraction_compared(stretch(place).low, place.low, place.digits, c);
    place.high = fraction_compared(stretch(place).high, place.high, place.digits, c);
    if (place.digits <= divisors_.places) {
      place.rest = (place.rest * 10 + (c - '0')) % divisors_.modulus;
    } else {
      place.beyond = place.beyond || c != '0';
    }
    return true;
  }

  static int fraction_compared(const std::optional<Bound>& bound, int so_far, std::size_t digits, char c) {
    if (!bound || so_far != 0) return so_far;
    return compared(c, digits <= bound->at.fraction.size() ? bound->at.fraction[digits - 1] : '0');
  }

  bool accepts(Place place) const {
    if (place.phase == Place::kStart || place.phase == Place::kSigned || place.phase == Place::kPoint) return false;
    if (place.phase != Place::kFraction) end_whole(place);
    const auto& [low, high] = stretch(place);
    // Digits that the bound has and the number has not: more of them than zeros make the number less.
    const auto whole = [&](const std::optional<Bound>& bound, int so_far) {
      return so_far == 0 && bound && place.digits < bound->at.fraction.size() ? -1 : so_far;
    };
    const int to_low = whole(low, place.low), to_high = whole(high, place.high);
    if (low && (to_low < 0 || (to_low == 0 && low->open))) return false;
    if (high && (to_high > 0 || (to_high == 0 && high->open))) return false;
    std::int64_t rest = place.rest;
    for (std::size_t i = place.digits; i < divisors_.places; ++i) rest = rest * 10 % divisors_.modulus;
    return divisors_.fit(rest, place.beyond);
  }

  Stretch stretches_[2];
  Divisors divisors_;
  const bool fractions_;
  std::size_t max_whole_ = 0, max_fraction_ = 0;      // digits that are distinguished
  std::size_t whole_limit_ = 0, fraction_limit_ = 0;  // digits that there may be; whole: 0 is any number
  std::vector<Place> places_;
  std::map<Place, std::size_t> numbers_;
  std::vector<CharAutomaton::State> states_;
};

// One sign's share of what lies between two bounds; a stretch that nothing fits where there is none.
Stretch sized(std::optional<Bound> low, const std::optional<Bound>& high) {
  if (low && low->at.negative) low.reset();
  if (high && high->at.negative) return {Bound{{}, true}, Bound{{}, true}};
  return {std::move(low), high};
}

std::optional<Bound> mirrored(const std::optional<Bound>& bound) {
  if (!bound) return bound;
  return Bound{bound->at.negated(), bound->open};
}

bool within(const std::optional<Bound>& low, const std::optional<Bound>& high, const Decimal& number) {
  if (low && (number < low->at || (number == low->at && low->open))) return false;
  return !high || number < high->at || (number == high->at && !high->open);
}

}  // namespace

Result<std::vector<CharAutomaton>> number_automata(const NumberFacts& facts, Types types, WorkMeter& meter) {
  const auto divided = divisors(facts, (types & kInteger) == 0);
  if (!divided) return divided.error();
  std::vector<Decimal> excluded;
  for (const Decimal& number : facts.excluded) {
    if (within(facts.lower, facts.upper, number)) excluded.push_back(number);
  }
  std::sort(excluded.begin(), excluded.end());
  excluded.erase(std::unique(excluded.begin(), excluded.end()), excluded.end());
  std::vector<CharAutomaton> made;
  std::optional<Bound> low = facts.lower;
  for (std::size_t i = 0; i <= excluded.size(); ++i) {
    const std::optional<Bound> high = i < excluded.size() ? Bound{excluded[i], true} : facts.upper;
    NumberScan scan(sized(low, high), sized(mirrored(high), mirrored(low)), *divided, (types & kFraction) != 0);
    auto automaton = scan.automaton(meter);
    if (!automaton) return automaton.error();
    if (!automaton->empty()) made.push_back(*std::move(automaton));
    low = high;
  }
  return made;
}

bool number_fits(const NumberFacts& facts, const Decimal& number) {
  if (!within(facts.lower, facts.upper, number)) return false;
  if (std::find(facts.excluded.begin(), facts.excluded.end(), number) != facts.excluded.end()) return false;
  return std::all_of(facts.multiples.begin(), facts.multiples.end(), [&](const NumberFacts::Multiple& multiple) {
    const std::size_t places = std::max(multiple.of.fraction.size(), number.fraction.size());
    const auto of = multiple.of.scaled(places, 100'000'000'000'000'000);
    if (!of) return false;
    std::int64_t rest = 0;
    for (const char digit : number.whole + number.fraction + std::string(places - number.fraction.size(), '0')) {
      rest = (rest * 10 + (digit - '0')) % *of;
    }
    return (rest == 0) == multiple.holds;
  });
}

}  // namespace millrace::grammar::json_schema
