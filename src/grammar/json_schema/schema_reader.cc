#include "grammar/json_schema/schema_reader.h"

#include <algorithm>

#include "grammar/json_schema/json_values.h"
#include "grammar/regex/character_classes.h"

namespace millrace::grammar::json_schema {
namespace {

constexpr std::size_t kMaxCompared = 256;  // alternatives, of which each is compared with each

void drop_repeated(Alternatives& all) {
  if (all.size() > kMaxCompared) return;
  Alternatives kept;
  for (Facts& facts : all) {
    if (std::find(kept.begin(), kept.end(), facts) == kept.end()) kept.push_back(std::move(facts));
  }
  all = std::move(kept);
}

}  // namespace

SchemaReader::SchemaReader(const Document& document, bool ignore_unsupported, WorkMeter& meter,
                           std::vector<std::string>& ignored)
    : document_(document),
      ignore_unsupported_(ignore_unsupported),
      meter_(meter),
      ignored_(ignored),
      patterns_(meter) {}

Result<void> SchemaReader::left_out(const Json& schema, std::string_view keyword, std::string_view why) {
  if (!ignore_unsupported_) {
    if (why.starts_with("JSON schema:")) return make_error(ErrorCode::kUnsupported, "grammar", "{}", why);
    return document_.unsupported(schema, keyword, why);
  }
  std::string path = document_.path(schema, keyword);
  if (std::find(ignored_.begin(), ignored_.end(), path) == ignored_.end()) ignored_.push_back(std::move(path));
  return {};
}

Result<const Alternatives*> SchemaReader::alternatives(const Goal& goal) {
  Goal sorted = goal;
  std::sort(sorted.begin(), sorted.end());
  if (const auto found = goals_.find(sorted); found != goals_.end()) return found->second.get();
  const int before = approximations_;
  const int annotating = std::exchange(annotating_, 0), depth = std::exchange(depth_, 0);
  Result<Alternatives> made = Alternatives(1);
  for (std::size_t i = 0; made && i < goal.size(); ++i) {
    const auto one = expand(goal[i]);
    made = one ? conjunction(*made, **one) : Result<Alternatives>(one.error());
  }
  annotating_ = annotating;
  depth_ = depth;
  if (!made) return made.error();
  for (Facts& facts : *made) {
    facts.array.evaluated = 0;
    facts.array.all_evaluated = false;
    facts.array.evaluates_some = false;
  }
  drop_repeated(*made);
  auto shared = std::make_shared<const Alternatives>(*std::move(made));
  const Alternatives* pointer = shared.get();
  if (before == approximations_) {
    goals_.emplace(std::move(sorted), std::move(shared));
  } else {
    passing_.push_back(std::move(shared));
  }
  return pointer;
}

Result<CharAutomaton> SchemaReader::strings(const StringFacts& facts) {
  Result<CharAutomaton> made = CharAutomaton::any();
  if (facts.least > 0 || facts.most != kUnlimited) {
    if (facts.most != kUnlimited && facts.least > facts.most) return CharAutomaton();
    const std::int64_t longest = std::max(facts.least, facts.most);
    if (longest > meter_.limits().repeat) {
      return make_error(ErrorCode::kResourceExhausted, "grammar", "a length of {} is above the limit of {}", longest,
                        meter_.limits().repeat);
    }
    if (auto fine = meter_.spend(longest); !fine) return fine.error();
    made = CharAutomaton::length(facts.least, facts.most);
  }
  for (std::size_t i = 0; made && i < facts.patterns.size(); ++i) {
    const auto pattern = patterns_.find(facts.patterns[i].regex);
    if (!pattern) return pattern.error();
    made = facts.patterns[i].holds ? made->intersect(**pattern, meter_) : made->minus(**pattern, meter_);
  }
  if (!made || facts.excluded.empty()) return made;
  std::vector<std::u32string> words;
  for (const std::string& word : facts.excluded) words.push_back(characters_of(word));
  return made->minus(CharAutomaton::words(words), meter_);
}

}  // namespace millrace::grammar::json_schema
