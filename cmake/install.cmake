# mr_install_stripped(FILE OPTION): what is installed as FILE, relative to the prefix, is stripped by objcopy's OPTION; its line tables lie
# beside it as FILE.debug, where gdb and perf look for them. After the install() of the file.
function(mr_install_stripped file option)
  install(CODE "set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${file}\")
execute_process(COMMAND ${CMAKE_OBJCOPY} --only-keep-debug \"\${file}\" \"\${file}.debug\" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_OBJCOPY} ${option} \"--add-gnu-debuglink=\${file}.debug\" \"\${file}\" COMMAND_ERROR_IS_FATAL ANY)")
endfunction()
