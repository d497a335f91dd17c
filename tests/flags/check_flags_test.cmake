# Tries check_flags.cmake on programs and tests that it must accept or refuse. Arguments: CHECK, that script; WORK, a
# folder that may be emptied.
cmake_policy(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../expect_verdict.cmake)

# A program with a command `draw` and a command `bench ops`, whose flags are those given.
function(make_program root draw ops)
  file(WRITE ${WORK}/program "#!/bin/sh
case \"$*\" in
  '--help') printf 'Draws.\\n\\nOptions:\\n  -h,--help       This\\n${root}\\nSubcommands:\\n  draw            Draws\\n  bench           Measures\\n' ;;
  'draw --help') printf 'Draws\\n\\nOptions:\\n  -h,--help       This\\n${draw}' ;;
  'bench --help') printf 'Measures\\n\\nSubcommands:\\n  ops             Operations\\n' ;;
  'bench ops --help') printf 'Operations\\n\\nSome:\\n${ops}\\nLists have --commas\\n' ;;
  *) echo \"no command $*\" >&2; exit 2 ;;
esac
")
  file(CHMOD ${WORK}/program PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()

# try_check(accept|TEXT COMMANDS FILE CONTENT [FILE CONTENT ...]): the check must accept these tests, or name TEXT in
# what it refuses.
function(try_check expected commands)
  file(REMOVE_RECURSE ${WORK}/tests)
  file(WRITE ${WORK}/commands.cmake "set(commands ${commands})\n")
  while(ARGN)
    list(POP_FRONT ARGN file content)
    file(WRITE ${WORK}/tests/${file} "${content}\n")
  endwhile()
  execute_process(COMMAND ${CMAKE_COMMAND} -D PROGRAM=${WORK}/program -D TESTS=${WORK}/tests
                          -D COMMANDS=${WORK}/commands.cmake -P ${CHECK}
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  expect_verdict("${expected}" "${status}" "${output}" "refused tests of every flag")
endfunction()

set(all "\"lingbot-map draw=draw_*.cpp\" \"lingbot-map bench ops=ops.cpp shared.hpp\"")
set(draw "draw_test.cpp" [[run({"draw", "--size", "9", "--no-color"})]])
set(ops "ops.cpp" [[bench("ops", {"--size", "9", "--repeats", x})]])

make_program("" "  --size N:POSITIVE  Of it\\n  --no_color  Gray\\n" "  --size,--length LIST  Sizes\\n  --repeats N  Times\\n")
try_check(accept "${all}" ${draw} ${ops})
try_check(accept "${all}" ${draw} ops.cpp [[{"--size"}]] shared.hpp [[{"--repeats"}]])
try_check([[lingbot-map draw: no test in draw_*.cpp gives "--no_color"]] "${all}" draw_test.cpp [[{"--size"}]] ${ops})
try_check([[lingbot-map bench ops: no test in ops.cpp, shared.hpp gives "--repeats"]] "${all}" ${draw}
  ops.cpp [[{"--size"}  // as in --repeats]])
try_check([[gives "--size"]] "${all}" ${draw} ops.cpp [[HasSubstr("--size: found"), "--repeats", "--sizes"]])
try_check([[gives "--size"]] "${all}" ${ops} draw_test.cpp [["--no_color"]])
try_check("lingbot-map bench ops: is not among the commands whose tests are named" "\"lingbot-map draw=draw_*.cpp\""
  ${draw} ${ops})

make_program("  --version   Of it\\n" "" "")
try_check([[lingbot-map: no test in root.cpp gives "--version"]] "\"lingbot-map=root.cpp\"" root.cpp "--version")
make_program("" "" "")
try_check("its help texts list no flag" "${all}" ${draw})
file(WRITE ${WORK}/program "#!/bin/sh\nexit 3\n")
try_check("--help' ends with 3" "${all}" ${draw})
