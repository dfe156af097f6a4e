# Ranks over MPI (docs/parallel.md): a shared object of one file, which the program loads when it is asked for them. Nothing else is compiled
# or linked with MPI.
set(MILLRACE_MPI AUTO CACHE STRING "Build libmillrace_mpi.so: AUTO (where there is an MPI library), ON, OFF")
set_property(CACHE MILLRACE_MPI PROPERTY STRINGS AUTO ON OFF)

if(NOT MILLRACE_MPI STREQUAL "OFF")
  find_package(MPI QUIET COMPONENTS C)
  if(MPI_C_FOUND)
    add_library(millrace_mpi MODULE ${PROJECT_SOURCE_DIR}/src/comm/mpi_library/mpi_calls.cc)
    target_include_directories(millrace_mpi PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(millrace_mpi PRIVATE MPI::MPI_C)
    set(mpi_symbols ${PROJECT_SOURCE_DIR}/cmake/millrace_mpi.map)
    target_link_options(millrace_mpi PRIVATE -Wl,--version-script=${mpi_symbols})
    set_target_properties(millrace_mpi PROPERTIES LINK_DEPENDS ${mpi_symbols} INSTALL_RPATH_USE_LINK_PATH ON
                                                  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/millrace)
    add_dependencies(millrace millrace_mpi)
    install(TARGETS millrace_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/millrace)
    mr_install_stripped(${CMAKE_INSTALL_LIBDIR}/millrace/libmillrace_mpi.so --strip-unneeded)
  elseif(MILLRACE_MPI STREQUAL "ON")
    message(FATAL_ERROR "MILLRACE_MPI is ON, but there is no MPI library: install libopenmpi-dev, or name its compiler by -DMPI_C_COMPILER=")
  endif()
endif()
