# Writes OUT, a header that names the commit of the source tree SOURCE_DIR, when that changed. Run at each build (cmake -P), so that a
# figure in a report names the code it was measured with. "+" marks files that differ from the commit; empty without git.
execute_process(COMMAND git --no-optional-locks describe --always --abbrev=10 --match= --dirty=+ WORKING_DIRECTORY ${SOURCE_DIR} OUTPUT_VARIABLE commit
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "")
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#pragma once\n#define MILLRACE_COMMIT \"${commit}\"\n" @ONLY)
