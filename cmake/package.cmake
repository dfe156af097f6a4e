# The library for programs that embed (docs/runtime.md): one shared object of all that src/runtime/api/ reaches, whose only symbols are
# those of include/millrace/, so that a program's own fmt or simdjson never meets the ones in it; and what find_package(millrace) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(millrace_shared SHARED)
# Nothing in the shared object names the functions of the headers: they are all taken. Of the folders below, what is reached.
target_link_libraries(millrace_shared PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,millrace_runtime>")
set(headers ${PROJECT_SOURCE_DIR}/include/millrace/config.h ${PROJECT_SOURCE_DIR}/include/millrace/millrace.h
            ${PROJECT_SOURCE_DIR}/include/millrace/result.h ${PROJECT_BINARY_DIR}/src/runtime/include/millrace/version.h)
target_sources(millrace_shared PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/src/runtime/include
                                      FILES ${headers})
target_compile_features(millrace_shared INTERFACE cxx_std_20)
set(symbols ${PROJECT_SOURCE_DIR}/cmake/millrace.map)
target_link_options(millrace_shared PRIVATE -Wl,--version-script=${symbols})
set_target_properties(millrace_shared PROPERTIES
  OUTPUT_NAME millrace EXPORT_NAME millrace LINKER_LANGUAGE CXX LINK_DEPENDS ${symbols}
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/millrace)
install(TARGETS millrace_shared EXPORT millraceTargets FILE_SET HEADERS)
install(EXPORT millraceTargets NAMESPACE millrace:: DESTINATION ${package})
configure_package_config_file(cmake/millraceConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/millraceConfig.cmake INSTALL_DESTINATION ${package})
# 0.2 may change what 0.1 has; from 1.0 on, minor versions only add.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/millraceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/millraceConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/millraceConfigVersion.cmake DESTINATION ${package})
mr_install_stripped(${CMAKE_INSTALL_LIBDIR}/libmillrace.so.${PROJECT_VERSION} --strip-unneeded)
