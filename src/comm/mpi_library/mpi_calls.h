#pragma once

#include <cstddef>
#include <cstdint>

// What millrace calls of an MPI library, as plain C functions: libraries of MPI differ in their types, so only
// mpi_calls.cc, which is a shared object of its own, is compiled with one. Functions return 0 or an error of the
// library, and none waits, but for start() and finish(). One thread at a time.

namespace millrace::comm {

// Groups of all ranks, whose messages and exchanges never meet.
inline constexpr int kMpiGroups = 17;
// Ways of a group's messages that never meet.
enum class MpiChannel : int { kCommands, kAnswers, kPassed, kLife };
inline constexpr int kMpiChannels = 4;
inline constexpr int mpi_way(int group, MpiChannel channel) { return group * kMpiChannels + static_cast<int>(channel); }

struct MpiHandle {  // an MPI_Request or an MPI_Message
  std::uint64_t bits = 0;
};

struct MpiCalls {
  static constexpr std::uint32_t kVersion = 2;  // of this struct
  static constexpr int kFewThreads = -1;        // an error of start(): the library is not for calls by several threads

  std::uint32_t version;
  const char* (*library)();  // its name and version, one line
  // Once in a process. Exchanges are among `stages` groups of equally many ranks, neighbours.
  int (*start)(int stages, int* rank, int* ranks);
  int (*finish)();
  void (*describe)(int error, char* text, std::size_t bytes);
  // The first rank that the library knows to have failed; -1: none, or it does not know such things.
  int (*failed_rank)();

  // `way`: a mpi_way().
  int (*send)(int way, int to, const void* data, int bytes, MpiHandle* request);
  // Whether there is a message: its length, and what receive() wants.
  int (*probe)(int way, int from, int* found, int* bytes, MpiHandle* message);
  int (*receive)(MpiHandle* message, void* data, int bytes, MpiHandle* request);
  // Among the ranks of a stage, each of which has bytes[place] bytes at base + at[place]: all get those of the others,
  // or only the first place does. `bytes` and `at` must stay until it is done.
  int (*gather)(int group, void* base, const int* bytes, const int* at, int first_only, MpiHandle* request);
  int (*barrier)(int group, MpiHandle* request);
  int (*test)(MpiHandle* request, int* done);
};

// The one function of the shared object.
using MpiCallsFunction = const MpiCalls*();
inline constexpr const char* kMpiCallsFunction = "millrace_mpi_calls";

}  // namespace millrace::comm
