#include "base/thread_name.h"

#include <sys/prctl.h>

namespace millrace {

void name_thread(const std::string& name) noexcept { prctl(PR_SET_NAME, name.c_str()); }

}  // namespace millrace
