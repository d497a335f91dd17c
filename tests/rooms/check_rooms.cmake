# Who may include whom. Arguments: SOURCE, the root of the tree; ROOMS, a file that sets `rooms`, in the order they
# were declared, and `knows_ROOM` for each.
# * An include "room/..." in src/ROOM names ROOM itself or a room that it KNOWS. Knowing is not inherited: a room that
#   includes a header says so, whoever else brings it along.
# * A room knows only rooms declared before it.
# * Libraries with a home of their own stay there (see `homes`).
# * Beside those, the engine includes nothing but the standard library, the system's headers and nlohmann/json.
cmake_policy(VERSION 3.25)
include(${ROOMS})

# What an include in <> or "" begins with, and the folders that may have it.
set(homes
  "opencv2/=src/media src/plot"
  "CLI/=tools benchmarks"
  "(cuda|cublas|cudnn|nccl|nvtx|flashinfer|cutlass|cute/|cub/|thrust/)=src/backend src/attention tests/backend tests/attention")

set(faults "")
set(includes 0)

foreach(room ${rooms})
  foreach(known ${knows_${room}})
    list(FIND rooms ${room} place)
    list(FIND rooms ${known} known_place)
    if(known_place EQUAL -1 OR NOT known_place LESS place)
      list(APPEND faults "room ${room} knows ${known}, which does not stand above it")
    endif()
  endforeach()
endforeach()

file(GLOB_RECURSE files RELATIVE ${SOURCE}
  ${SOURCE}/src/*.[ch]pp ${SOURCE}/src/*.cu ${SOURCE}/src/*.cuh ${SOURCE}/include/*.hpp ${SOURCE}/include/*.h
  ${SOURCE}/tools/*.[ch]pp ${SOURCE}/examples/*.[ch]pp ${SOURCE}/benchmarks/*.[ch]pp)
foreach(file ${files})
  file(STRINGS ${SOURCE}/${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
  foreach(line ${lines})
    math(EXPR includes "${includes} + 1")
    string(REGEX REPLACE "^[^<\"]*([<\"])([^>\"]+).*" "\\2" header "${line}")

    set(has_home FALSE)
    foreach(home ${homes})
      string(REGEX MATCH "^(.*)=(.*)$" ignored "${home}")
      set(pattern "${CMAKE_MATCH_1}")
      string(REPLACE " " ";" folders "${CMAKE_MATCH_2}")
      if(header MATCHES "^${pattern}")
        set(has_home TRUE)
        set(at_home FALSE)
        foreach(folder ${folders})
          if(file MATCHES "^${folder}/")
            set(at_home TRUE)
          endif()
        endforeach()
        if(NOT at_home)
          list(JOIN folders " or " folders)
          list(APPEND faults "${file} includes ${header}, which belongs in ${folders} alone")
        endif()
      endif()
    endforeach()

    if(file MATCHES "^(src|include)/" AND line MATCHES "include[ \t]*<" AND header MATCHES "/" AND NOT has_home
       AND NOT header MATCHES "^(sys|nlohmann)/")
      list(APPEND faults "${file} includes <${header}>; the engine uses the standard library and nlohmann/json alone")
    endif()

    if(file MATCHES "^src/[^/]+/" AND line MATCHES "include[ \t]*\"")
      string(REGEX MATCH "^src/([^/]+)/" ignored "${file}")
      set(room ${CMAKE_MATCH_1})
      string(REGEX MATCH "^[^/]+" named "${header}")
      if(room IN_LIST rooms AND NOT named STREQUAL room AND NOT named STREQUAL "lingbot_map"
         AND NOT named IN_LIST knows_${room})
        list(APPEND faults "${file} includes \"${header}\", but room ${room} does not say that it knows ${named}")
      endif()
    endif()
  endforeach()
endforeach()

if(includes EQUAL 0)
  list(APPEND faults "no include found below ${SOURCE}: is it the root of the tree?")
endif()
if(faults)
  list(JOIN faults "\n" faults)
  message(FATAL_ERROR "The rooms do not hold:\n${faults}")
endif()
message(STATUS "${includes} includes, all where they belong")
