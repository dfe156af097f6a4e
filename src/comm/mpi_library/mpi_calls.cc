// libmillrace_mpi.so: see mpi_calls.h. Stands alone, so that it can be compiled for another library of MPI:
//   mpicxx -std=c++20 -O2 -fPIC -shared -I src src/comm/mpi_library/mpi_calls.cc -o libmillrace_mpi.so
#include "comm/mpi_library/mpi_calls.h"

// Not the C++ bindings of old, which want a library of their own.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <type_traits>

// Of Open MPI 5 and MPICH 4: there, or null.
extern "C" {
[[gnu::weak]] int MPIX_Comm_failure_ack(MPI_Comm comm);
[[gnu::weak]] int MPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group* failed);
}

namespace millrace::comm {
namespace {

MPI_Comm messages = MPI_COMM_NULL;  // the way is the tag
MPI_Comm stages_of[kMpiGroups];     // this rank's stage, for the exchanges of each group

// Handles are pointers in one library, numbers in another.
template <typename T>
T load(const MpiHandle& handle) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(static_cast<std::uintptr_t>(handle.bits));
  } else {
    return static_cast<T>(handle.bits);
  }
}
template <typename T>
void store(MpiHandle& handle, T value) {
  if constexpr (std::is_pointer_v<T>) {
    handle.bits = reinterpret_cast<std::uintptr_t>(value);
  } else {
    handle.bits = static_cast<std::uint64_t>(value);
  }
}

const char* library() {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  text[std::strcspn(text, ",\n")] = '\0';
  return text;
}

// Parts of exchanges of decoding go at once, not when the other one has asked for them: 8 KB took 1.9 us instead
// of 3.4. What the user has set stays.
void prefer_eager_messages() {
  for (const char* variable : {"OMPI_MCA_btl_vader_eager_limit", "OMPI_MCA_btl_sm_eager_limit"}) {  // Open MPI 4 and 5
    setenv(variable, "32768", 0);
  }
}

int start(int stages, int* rank, int* ranks) {
  prefer_eager_messages();
  int threads = 0;
  if (const int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &threads)) return error;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (threads < MPI_THREAD_SERIALIZED) return MpiCalls::kFewThreads;
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  MPI_Comm_size(MPI_COMM_WORLD, ranks);
  if (const int error = MPI_Comm_dup(MPI_COMM_WORLD, &messages)) return error;  // with its handler of errors
  const bool divides = stages > 0 && *ranks % stages == 0;
  const int stage = divides ? *rank / (*ranks / stages) : 0;
  if (const int error = MPI_Comm_split(MPI_COMM_WORLD, stage, *rank, &stages_of[0])) return error;
  for (int group = 1; group < kMpiGroups; ++group) {
    if (const int error = MPI_Comm_dup(stages_of[0], &stages_of[group])) return error;
  }
  return 0;
}

int finish() { return MPI_Finalize(); }

void describe(int error, char* text, std::size_t bytes) {
  char own[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (error == MpiCalls::kFewThreads) {
    std::snprintf(own, sizeof(own), "the library was built without support for threads");
  } else if (MPI_Error_string(error, own, &length) != MPI_SUCCESS) {
    std::snprintf(own, sizeof(own), "error %d", error);
  }
  std::snprintf(text, bytes, "%s", own);
}

int failed_rank() {
  if (MPIX_Comm_failure_ack == nullptr || MPIX_Comm_failure_get_acked == nullptr) return -1;
  const MPI_Comm comm = messages;
  MPI_Group failed = MPI_GROUP_NULL, all = MPI_GROUP_NULL;
  int size = 0, first = 0, rank = -1;
  if (MPIX_Comm_failure_ack(comm) != MPI_SUCCESS || MPIX_Comm_failure_get_acked(comm, &failed) != MPI_SUCCESS) {
    return -1;
  }
  MPI_Group_size(failed, &size);
  if (size > 0 && MPI_Comm_group(comm, &all) == MPI_SUCCESS) {
    MPI_Group_translate_ranks(failed, 1, &first, all, &rank);
    MPI_Group_free(&all);
  }
  MPI_Group_free(&failed);
  return rank;
}

int send(int way, int to, const void* data, int bytes, MpiHandle* request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int error = MPI_Isend(data, bytes, MPI_BYTE, to, way, messages, &made);
  store(*request, made);
  return error;
}

int probe(int way, int from, int* found, int* bytes, MpiHandle* message) {
  MPI_Message matched = MPI_MESSAGE_NULL;
  MPI_Status status;
  if (const int error = MPI_Improbe(from, way, messages, found, &matched, &status)) return error;
  if (*found == 0) return 0;
  store(*message, matched);
  return MPI_Get_count(&status, MPI_BYTE, bytes);
}

int receive(MpiHandle* message, void* data, int bytes, MpiHandle* request) {
  auto matched = load<MPI_Message>(*message);
  MPI_Request made = MPI_REQUEST_NULL;
  const int error = MPI_Imrecv(data, bytes, MPI_BYTE, &matched, &made);
  store(*request, made);
  return error;
}

int gather(int group, void* base, const int* bytes, const int* at, int first_only, MpiHandle* request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const MPI_Comm stage = stages_of[group];
  int place = 0, error = 0;
  MPI_Comm_rank(stage, &place);
  if (first_only == 0) {
    error = MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, base, bytes, at, MPI_BYTE, stage, &made);
  } else if (place == 0) {
    error = MPI_Igatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, base, bytes, at, MPI_BYTE, 0, stage, &made);
  } else {
    error = MPI_Igatherv(static_cast<char*>(base) + at[place], bytes[place], MPI_BYTE, nullptr, nullptr, nullptr,
                         MPI_BYTE, 0, stage, &made);
  }
  store(*request, made);
  return error;
}

int barrier(int group, MpiHandle* request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int error = MPI_Ibarrier(stages_of[group], &made);
  store(*request, made);
  return error;
}

int test(MpiHandle* request, int* done) {
  auto made = load<MPI_Request>(*request);
  const int error = MPI_Test(&made, done, MPI_STATUS_IGNORE);
  store(*request, made);
  return error;
}

constexpr MpiCalls kCalls = {.version = MpiCalls::kVersion,
                             .library = library,
                             .start = start,
                             .finish = finish,
                             .describe = describe,
                             .failed_rank = failed_rank,
                             .send = send,
                             .probe = probe,
                             .receive = receive,
                             .gather = gather,
                             .barrier = barrier,
                             .test = test};

}  // namespace
}  // namespace millrace::comm

extern "C" const millrace::comm::MpiCalls* millrace_mpi_calls() { return &millrace::comm::kCalls; }
