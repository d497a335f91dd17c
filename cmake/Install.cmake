# What others link: the engine as one static library (every room but those that read pictures, make scenes, and write or
# judge results), the public headers, and the CMake package lingbot_map with the target lingbot_map::lingbot_map, which
# depends on nothing but threads, and in a GPU build on the CUDA toolkit.

include(CMakePackageConfigHelpers)

get_property(engine_rooms GLOBAL PROPERTY LINGBOT_MAP_ROOMS)
list(REMOVE_ITEM engine_rooms media sky scene evaluation plot export viewer)

add_library(lingbot_map STATIC)
add_library(lingbot_map::lingbot_map ALIAS lingbot_map)
foreach(room ${engine_rooms})
  target_sources(lingbot_map PRIVATE $<TARGET_OBJECTS:lingbot_map_${room}>)
endforeach()
set_target_properties(lingbot_map PROPERTIES LINKER_LANGUAGE CXX)
target_compile_features(lingbot_map PUBLIC cxx_std_20)
target_include_directories(lingbot_map PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(lingbot_map PUBLIC Threads::Threads)
if(LINGBOT_MAP_WITH_CUDA)
  target_link_libraries(lingbot_map PUBLIC CUDA::cudart_static CUDA::cublasLt ${CMAKE_DL_LIBS})
  if(LINGBOT_MAP_FLASHINFER)
    target_sources(lingbot_map PRIVATE $<TARGET_OBJECTS:lingbot_map_flashinfer_fa2>)
    if(LINGBOT_MAP_FLASHINFER_FA3)
      target_sources(lingbot_map PRIVATE $<TARGET_OBJECTS:lingbot_map_flashinfer_fa3>)
    endif()
  endif()
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lingbot_map)
install(TARGETS lingbot_map EXPORT lingbot_map-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lingbot_map DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(EXPORT lingbot_map-targets NAMESPACE lingbot_map:: DESTINATION ${package_dir} COMPONENT library)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/lingbot_map-config.cmake.in
                              ${PROJECT_BINARY_DIR}/lingbot_map-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lingbot_map-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lingbot_map-config.cmake ${PROJECT_BINARY_DIR}/lingbot_map-config-version.cmake
        DESTINATION ${package_dir} COMPONENT library)

if(TARGET lingbot-map)
  install(TARGETS lingbot-map RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/models/ DESTINATION ${CMAKE_INSTALL_DATADIR}/lingbot-map COMPONENT program
          OPTIONAL FILES_MATCHING PATTERN *.safetensors PATTERN *.md)
endif()
