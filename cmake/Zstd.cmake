# zstd, compiled by us with hidden symbols: a distribution's libzstd.a is not position independent,
# and a visible zstd could disturb the one that the host process brings.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(sl_zstd_dir "${SYNCLINE_DEPS}/zstd")
if(NOT EXISTS "${sl_zstd_dir}/.sha256")
  message(STATUS "Fetching zstd from PyPI (pinned)")
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/fetch_deps.py zstd ${SYNCLINE_DEPS}
                  RESULT_VARIABLE result)
  if(result)
    message(FATAL_ERROR "Could not fetch zstd. Without a network, put the folder 'zstd' of another "
                        "build's deps into ${SYNCLINE_DEPS}")
  endif()
endif()
add_library(sl_zstd STATIC "${sl_zstd_dir}/zstd.c")
target_include_directories(sl_zstd SYSTEM PUBLIC "${sl_zstd_dir}")
target_compile_definitions(sl_zstd PUBLIC ZSTDLIB_VISIBLE= ZSTDERRORLIB_VISIBLE= ZSTD_STATIC_LINKING_ONLY)
# Its speed decides ours: always optimised, never instrumented.
target_compile_options(sl_zstd PRIVATE -O3 -w)
