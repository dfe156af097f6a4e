#include "model/ranks/answer_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace millrace::model {

AnswerQueue::Ticket AnswerQueue::expect(int rank, std::int64_t messages) {
  of_rank_[static_cast<std::size_t>(rank)].push_back({.number = ++numbers_, .left = messages});
  return {rank, numbers_};
}

std::vector<std::byte> AnswerQueue::collect(Expected& expected, int rank, comm::Communicator::Timeout timeout) {
  auto message = communicator_.collect(rank, timeout).or_throw();
  --expected.left;
  return message;
}

std::vector<std::byte> AnswerQueue::next(const Ticket& ticket, comm::Communicator::Timeout timeout) {
  std::deque<Expected>& all = of_rank_[static_cast<std::size_t>(ticket.rank)];
  const auto own = std::ranges::find(all, ticket.number, &Expected::number);
  CHECK(own != all.end() && (own->left > 0 || !own->come.empty()));
  for (auto earlier = all.begin(); earlier != own; ++earlier) {
    while (earlier->left > 0) earlier->come.push_back(collect(*earlier, ticket.rank, timeout));
  }
  std::vector<std::byte> message;
  if (own->come.empty()) {
    message = collect(*own, ticket.rank, timeout);
  } else {
    message = std::move(own->come.front());
    own->come.pop_front();
  }
  if (own->left == 0 && own->come.empty()) all.erase(own);
  return message;
}

void AnswerQueue::forget() {
  for (std::deque<Expected>& of_rank : of_rank_) of_rank.clear();
}

}  // namespace millrace::model
