#include "link_speed.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "comm/transports/join_mpi.h"
#include "comm/transports/load_mpi.h"
#include "number_file.h"

namespace millrace::app {
namespace {

std::optional<comm::LinkSpeed> measure_over_mpi() {
  constexpr std::chrono::seconds kTimeout{60};
  const auto job = comm::join_mpi(*comm::load_mpi().or_throw(), 1, kTimeout).or_throw();
  if (job->ranks() < 2) {
    throw_load_error(ErrorCode::kInvalidArgument, "link-speed",
                     "link-speed is mpi, and this process is alone: start it by mpirun -np 2");
  }
  job->group(1).allocate(comm::kLinkSpeedMemory).or_throw();
  const comm::LinkSpeed speed = comm::measure_link_speed(job->group(1)).or_throw();
  job->leave(kTimeout).or_throw();
  if (job->rank() > 0) return std::nullopt;
  return speed;
}

}  // namespace

std::optional<comm::LinkSpeed> measure_link_speed(const std::string& backend) {
  return backend == "mpi" ? measure_over_mpi() : comm::measure_shm_link_speed().or_throw();
}

nlohmann::ordered_json json_of(const comm::LinkSpeed& speed, const std::string& backend) {
  return {{"backend", backend},
          {"latency_us", speed.latency_us},
          {"gb_per_s", speed.gb_per_s},
          {"exchange_8k_us", speed.exchange_8k_us}};
}

comm::LinkSpeed read_link_speed(const std::string& path) {
  const nlohmann::json object = read_number_file(path);
  const auto number = [&](const char* name) {
    return number_in(object, path, name, "a number above 0, below 1e9",
                     [](double value) { return value > 0.0 && value < 1e9; });
  };
  return {.latency_us = number("latency_us"), .gb_per_s = number("gb_per_s")};
}

}  // namespace millrace::app
