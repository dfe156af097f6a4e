# Language level, warnings, hardening, sanitizers, ccache: everything that concerns the compiler.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# No -ffast-math anywhere, and no contraction: a fused multiply-add happens where the code says std::fma, so that a row's bits do
# not depend on which loop the compiler chose to fuse (law 3).
add_compile_options(-Wall -Wextra -Wpedantic -Werror -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers -ffp-contract=off -fno-math-errno)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # libstdc++ 12's own std::stable_sort calls std::get_temporary_buffer, which it marks as deprecated.
  add_compile_options(-Wno-deprecated-declarations)
endif()
# DEBUG keeps assertions of the standard library; RELEASE is -O2 with line tables, so that a profile or a crash names its place.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g -D_GLIBCXX_ASSERTIONS")

if(NOT MILLRACE_SCALAR_ONLY AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(MILLRACE_X86 ON)
  add_compile_options(-march=x86-64-v2)
  add_compile_definitions(MILLRACE_X86=1)
else()
  set(MILLRACE_X86 OFF)
endif()

if(MILLRACE_SANITIZE)
  # -g1: a report needs names and lines only, and full debug information doubles the time and size of these builds.
  add_compile_options(-g1 -fsanitize=${MILLRACE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${MILLRACE_SANITIZE})
  # g++ 12 takes variants and optionals for uninitialized once they are instrumented; its manual says that it may.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
else()
  add_compile_options(-fstack-protector-strong)
  add_link_options(-Wl,-z,relro,-z,now)
endif()
