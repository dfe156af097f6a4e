#pragma once

namespace millrace::runtime {

// What main() does in a process that RankGroup has started: loads its part of the model, and follows rank 0 to the end.
// `descriptor` is of the group's shared memory. Throws LoadError.
void follow_rank(int descriptor, int rank);

}  // namespace millrace::runtime
