#include "draft/task_bytes.h"

#include <algorithm>
#include <string>

#include "decode/sampling_fields.h"

namespace millrace::decode {

template <typename Archive>
void visit_fields(Archive& a, TokenProbability& v) {
  a(v.token, v.probability);
}

}  // namespace millrace::decode

namespace millrace::draft {

template <typename Archive>
void visit_fields(Archive& a, Token& v) {
  a(v.token, v.confidence);
}
template <typename Archive>
void visit_fields(Archive& a, Branch& v) {
  a(v.from, v.tokens);
}

namespace {

template <typename... Args>
Error unreadable(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(ErrorCode::kInvalidArgument, "tasks", format, std::forward<Args>(args)...);
}

struct Drafted {
  std::vector<Token> drafts;
  std::vector<std::vector<decode::TokenProbability>> distributions;
  std::vector<Branch> branches;
};

bool known(std::span<const Token> tokens, std::int64_t vocab_size) {
  return std::ranges::all_of(tokens, [&](const Token& one) { return one.token >= 0 && one.token < vocab_size; });
}

Result<void> check(const Drafted& drafted, const Task& task, std::int64_t vocab_size) {
  const auto n = std::ssize(drafted.drafts);
  if (n > task.most || !known(drafted.drafts, vocab_size)) {
    return unreadable("{} tokens were drafted, or one that is none: the limit is {}", n, task.most);
  }
  if (!drafted.distributions.empty() && drafted.distributions.size() != drafted.drafts.size()) {
    return unreadable("{} tokens were drafted from {} distributions", n, drafted.distributions.size());
  }
  for (const auto& distribution : drafted.distributions) {
    for (const decode::TokenProbability& one : distribution) {
      if (one.token < 0 || one.token >= vocab_size) return unreadable("token {} of a distribution is none", one.token);
    }
  }
  if (std::ssize(drafted.branches) > task.further_branches) {
    return unreadable("{} branches were drafted: the limit is {}", drafted.branches.size(), task.further_branches);
  }
  for (const Branch& branch : drafted.branches) {
    if (branch.from < 0 || branch.from > n || branch.tokens.empty() ||
        branch.from + std::ssize(branch.tokens) > task.most || !known(branch.tokens, vocab_size)) {
      return unreadable("a branch from token {} of {} has {} tokens", branch.from, n, branch.tokens.size());
    }
  }
  return {};
}

template <typename Archive>
void visit_fields(Archive& a, Drafted& v) {
  a(v.drafts, v.distributions, v.branches);
}

// All of a task but its results, as values.
struct SentTask {
  std::uint64_t sequence = 0;
  std::string scope;
  std::vector<std::int32_t> tokens;
  std::int64_t prompt_tokens = 0, most = 0;
  decode::SamplingParams params;
  double mirostat_mu = 0.0;
  std::vector<kv::BlockId> pages, window_pages;
  bool wants_distributions = false;
  std::int64_t further_branches = 0;
  std::optional<decode::LogitsPipeline> pipeline;  // does not travel

  Result<void> check(const ReceivedTasks::Limits& limits) const;
  void rebuild(std::int64_t vocab_size, std::span<const std::int32_t> end_of_generation);
};

template <typename Archive>
void visit_fields(Archive& a, SentTask& v) {
  a(v.sequence, v.scope, v.tokens, v.prompt_tokens, v.most, v.params, v.mirostat_mu, v.pages, v.window_pages,
    v.wants_distributions, v.further_branches);
}

Result<void> SentTask::check(const ReceivedTasks::Limits& limits) const {
  const auto length = std::ssize(tokens);
  if (length < 1 || prompt_tokens < 0 || prompt_tokens > length) {
    return unreadable("a task has {} tokens, {} of them the prompt's", length, prompt_tokens);
  }
  if (most < 1 || most > kMaxTokens || further_branches < 0 || further_branches >= kMaxBranches) {
    return unreadable("a task wants {} tokens in {} branches: the limits are {} and {}", most, further_branches + 1,
                      kMaxTokens, kMaxBranches);
  }
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= limits.vocab_size) {
      return unreadable("token {} is out of range: the vocabulary has {}", token, limits.vocab_size);
    }
  }
  for (const kv::BlockId page : pages) {
    if (page < 0 || page >= limits.pages)
      return unreadable("page {} is out of range: there are {}", page, limits.pages);
  }
  for (const kv::BlockId page : window_pages) {
    if (page < 0 || page >= limits.window_pages)
      return unreadable("window page {} is out of range: there are {}", page, limits.window_pages);
  }
  if (!window_pages.empty() && window_pages.size() != pages.size()) {
    return unreadable("a task has {} pages and {} window pages", pages.size(), window_pages.size());
  }
  if (!pages.empty() && std::ssize(pages) * limits.block_tokens < length + most - 1) {
    return unreadable("{} pages do not hold {} tokens", pages.size(), length + most - 1);
  }
  return params.validate(limits.vocab_size);
}

void SentTask::rebuild(std::int64_t vocab_size, std::span<const std::int32_t> end_of_generation) {
  pipeline.emplace(params, vocab_size, end_of_generation);
  const auto prompt = std::span(tokens).first(static_cast<std::size_t>(prompt_tokens));
  pipeline->observe(prompt);
  for (const std::int32_t token : std::span(tokens).subspan(prompt.size())) pipeline->accept(token);
  pipeline->set_mirostat_mu(mirostat_mu);
}

}  // namespace

std::vector<std::byte> to_bytes(std::span<const Task> tasks) {
  std::vector<SentTask> all;
  for (const Task& task : tasks) {
    all.push_back({.sequence = task.sequence,
                   .scope = std::string(task.scope),
                   .tokens = {task.tokens.begin(), task.tokens.end()},
                   .prompt_tokens = task.prompt_tokens,
                   .most = task.most,
                   .params = task.pipeline->params(),
                   .mirostat_mu = task.pipeline->mirostat_mu(),
                   .pages = {task.pages.begin(), task.pages.end()},
                   .window_pages = {task.window_pages.begin(), task.window_pages.end()},
                   .wants_distributions = task.wants_distributions,
                   .further_branches = task.further_branches,
                   .pipeline = std::nullopt});
  }
  ByteWriter writer;
  writer(all);
  return writer.take();
}

Result<ReceivedTasks> ReceivedTasks::read(std::span<const std::byte> bytes, const Limits& limits,
                                          std::span<const std::int32_t> end_of_generation) {
  ByteReader reader(bytes);
  std::vector<SentTask> all;
  reader(all);
  if (!reader.ok() || reader.left() > 0) return unreadable("{} bytes are no tasks", bytes.size());
  ReceivedTasks out;
  for (SentTask& one : all) {
    if (auto valid = one.check(limits); !valid) return valid.error();
    auto kept = std::make_shared<SentTask>(std::move(one));
    kept->rebuild(limits.vocab_size, end_of_generation);
    out.tasks_.push_back({.sequence = kept->sequence,
                          .scope = kept->scope,
                          .tokens = kept->tokens,
                          .prompt_tokens = kept->prompt_tokens,
                          .most = kept->most,
                          .pipeline = &*kept->pipeline,
                          .pages = kept->pages,
                          .window_pages = kept->window_pages,
                          .wants_distributions = kept->wants_distributions,
                          .further_branches = kept->further_branches,
                          .drafts = {},
                          .distributions = {},
                          .branches = {}});
    out.memory_.push_back(std::move(kept));
  }
  return out;
}

std::vector<std::byte> drafts_to_bytes(std::span<const Task> tasks) {
  std::vector<Drafted> all;
  for (const Task& task : tasks) all.push_back({task.drafts, task.distributions, task.branches});
  ByteWriter writer;
  writer(all);
  return writer.take();
}

Result<void> read_drafts(std::span<const std::byte> bytes, std::int64_t vocab_size, std::span<Task> tasks) {
  ByteReader reader(bytes);
  std::vector<Drafted> all;
  reader(all);
  if (!reader.ok() || reader.left() > 0 || all.size() != tasks.size()) {
    return unreadable("{} bytes are no drafts of {} tasks", bytes.size(), tasks.size());
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (auto valid = check(all[i], tasks[i], vocab_size); !valid) return valid;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    tasks[i].drafts = std::move(all[i].drafts);
    tasks[i].distributions = std::move(all[i].distributions);
    tasks[i].branches = std::move(all[i].branches);
  }
  return {};
}

}  // namespace millrace::draft
