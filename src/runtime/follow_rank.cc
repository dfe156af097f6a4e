#include "runtime/follow_rank.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "comm/transports/shm.h"
#include "model/ranks/rank_follower.h"
#include "runtime/loaded_model.h"
#include "runtime/model_config_fields.h"

namespace millrace::runtime {

void follow_rank(int descriptor, int rank) {
  constexpr std::chrono::seconds kStart{60};
  for (const int of_terminal : {SIGINT, SIGTERM, SIGHUP}) std::signal(of_terminal, SIG_IGN);  // rank 0 ends it
  const std::shared_ptr<comm::Communicator> group = comm::join_shm(descriptor, rank, kStart).or_throw();
  close(descriptor);
  const std::vector<std::byte> bytes = group->receive(kStart).or_throw();
  ModelConfig config;
  log::Level level = log::Level::kInfo;
  ByteReader reader(bytes);
  reader(level, config);
  if (!reader.ok() || reader.left() > 0) {
    throw_load_error(ErrorCode::kBadFile, "", "rank 0 is of another version of millrace");
  }
  follow_model(level, config, group);
}

void follow_model(log::Level level, const ModelConfig& config, const std::shared_ptr<comm::Communicator>& group) {
  log::set_level(std::max(level, level == log::Level::kDebug ? level : log::Level::kWarn));  // rank 0 says the rest
  const LoadedModel loaded = load_rank(config, group);
  model::RankFollower(*group, *loaded.backend, *loaded.transformer).run();
}

}  // namespace millrace::runtime
