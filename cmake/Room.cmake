# What every target of the project is compiled with, and the one way to declare a room.

add_library(lingbot_map_options INTERFACE)
target_compile_options(lingbot_map_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Werror>
                                                     $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings -Xcompiler=-Wall>)
target_compile_features(lingbot_map_options INTERFACE cxx_std_20)
if(LINGBOT_MAP_SANITIZE)
  target_compile_options(lingbot_map_options INTERFACE -fsanitize=${LINGBOT_MAP_SANITIZE} -fno-sanitize-recover=all
                                                       -fno-omit-frame-pointer)
  target_link_options(lingbot_map_options INTERFACE -fsanitize=${LINGBOT_MAP_SANITIZE})
endif()

# lingbot_map_room(NAME SOURCES a.cpp ... [KNOWS room ...] [LINKS target ...])
# A room is a folder of src/ and a static library lingbot_map_NAME. KNOWS lists the rooms whose headers it may include;
# tests/rooms/check_rooms.cmake holds the includes against that list.
function(lingbot_map_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;KNOWS;LINKS" ${ARGN})
  add_library(lingbot_map_${name} STATIC ${ROOM_SOURCES})
  target_include_directories(lingbot_map_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(lingbot_map_${name} PRIVATE lingbot_map_options)
  foreach(room ${ROOM_KNOWS})
    target_link_libraries(lingbot_map_${name} PUBLIC lingbot_map_${room})
  endforeach()
  target_link_libraries(lingbot_map_${name} PUBLIC ${ROOM_LINKS})
  set_property(GLOBAL APPEND PROPERTY LINGBOT_MAP_ROOMS ${name})
  set_property(GLOBAL PROPERTY LINGBOT_MAP_ROOM_${name}_KNOWS "${ROOM_KNOWS}")
endfunction()
