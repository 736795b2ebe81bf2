# Defines what `cmake --install` installs: the library, the tool, the public header, and the files
# by which other builds find these (CMake package `syncline`, pkg-config `syncline`).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# syncline::syncline is only the header. Its functions find the loaded library at run time, so
# nothing is linked.
add_library(syncline_header INTERFACE)
set_target_properties(syncline_header PROPERTIES EXPORT_NAME syncline)
target_include_directories(syncline_header INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(syncline_header INTERFACE ${CMAKE_DL_LIBS})
# syncline::library is the file that CUDA_INJECTION64_PATH names.
set_target_properties(syncline PROPERTIES EXPORT_NAME library)

install(TARGETS syncline_header syncline EXPORT syncline
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET syncline_tool)
  install(TARGETS syncline_tool)
endif()
install(DIRECTORY include/syncline DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(sl_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/syncline)
install(EXPORT syncline NAMESPACE syncline:: FILE syncline-targets.cmake
  DESTINATION ${sl_package_dir})
configure_package_config_file(cmake/syncline-config.cmake.in
  ${CMAKE_BINARY_DIR}/syncline-config.cmake INSTALL_DESTINATION ${sl_package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/syncline-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/syncline-config.cmake
  ${CMAKE_BINARY_DIR}/syncline-config-version.cmake DESTINATION ${sl_package_dir})
file(RELATIVE_PATH SYNCLINE_PC_TO_PREFIX
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/syncline.pc.in ${CMAKE_BINARY_DIR}/syncline.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/syncline.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
