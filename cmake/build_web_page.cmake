# cmake -DWEB=web -DPAGE=report -DHTML=out/index.html -DNPM=npm -DNODE=node -P build_web_page.cmake: fetches the packages of the lock
# file where that was not done yet, and builds the page. Without the packages HTML is left empty; a page that does not build is an error.
get_filename_component(out ${HTML} DIRECTORY)
set(lock ${WEB}/package-lock.json)
set(stamp ${WEB}/node_modules/lock.stamp)  # ./dev setup writes it too

# Two builds of one checkout share node_modules.
file(LOCK ${WEB}/node_modules.lock GUARD PROCESS TIMEOUT 600)
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${lock} ${stamp} RESULT_VARIABLE changed OUTPUT_QUIET ERROR_QUIET)
if(changed)
  execute_process(COMMAND ${NPM} ci --silent --no-audit --no-fund --fetch-retries=1 WORKING_DIRECTORY ${WEB}
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed)
    message("web: `npm ci` in web failed (is there a network?), so this build has no web pages; to try again: npm ci in web, then cmake")
    file(WRITE ${HTML} "")
    return()
  endif()
  configure_file(${lock} ${stamp} COPYONLY)
endif()

execute_process(COMMAND ${CMAKE_COMMAND} -E env MILLRACE_PAGE=${PAGE} MILLRACE_WEB_OUT=${out}
    ${NODE} node_modules/vite/bin/vite.js build --logLevel warn
  WORKING_DIRECTORY ${WEB} RESULT_VARIABLE failed)
if(failed)
  file(REMOVE ${HTML})
  message(FATAL_ERROR "web/${PAGE} does not build")
endif()
