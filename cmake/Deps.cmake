# Fetched sources: compressors, the JSON parser, and NVIDIA's headers where there is no toolkit.
#
# zstd and zlib are compiled by us with hidden symbols: a distribution's static libraries are not
# position independent, and visible ones could disturb those that the host process brings.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# Unpacks the pinned package NAME into ${SYNCLINE_DEPS}/NAME.
function(sl_fetch name)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/fetch_deps.py ${SYNCLINE_DEPS} ${name}
    RESULT_VARIABLE result)
  if(result)
    message(FATAL_ERROR "Could not fetch ${name}. Without a network, put the folder '${name}' of "
                        "another build's deps into ${SYNCLINE_DEPS}")
  endif()
endfunction()

sl_fetch(zstd)
add_library(sl_zstd STATIC "${SYNCLINE_DEPS}/zstd/zstd.c")
target_include_directories(sl_zstd SYSTEM PUBLIC "${SYNCLINE_DEPS}/zstd")
target_compile_definitions(sl_zstd PUBLIC ZSTDLIB_VISIBLE= ZSTDERRORLIB_VISIBLE= ZSTD_STATIC_LINKING_ONLY)

sl_fetch(zlib)
file(GLOB sl_zlib_sources "${SYNCLINE_DEPS}/zlib/*.c")
add_library(sl_zlib STATIC ${sl_zlib_sources})
target_include_directories(sl_zlib SYSTEM PUBLIC "${SYNCLINE_DEPS}/zlib")

# For the tool alone; nothing of C++ is in the library.
sl_fetch(simdjson)
add_library(sl_simdjson STATIC "${SYNCLINE_DEPS}/simdjson/simdjson.cpp")
target_include_directories(sl_simdjson SYSTEM PUBLIC "${SYNCLINE_DEPS}/simdjson")

foreach(fetched sl_zstd sl_zlib sl_simdjson)
  # Their speed decides ours: always optimised, never instrumented.
  target_compile_options(${fetched} PRIVATE -O3 -w)
endforeach()

# CUDA headers only; no library of CUDA is linked.
# NVTX's headers among them.
option(SYNCLINE_CUDA_FROM_PYPI "Take CUDA's headers from PyPI even where there is a toolkit" OFF)
add_library(sl_cuda_headers INTERFACE)
if(NOT SYNCLINE_CUDA_FROM_PYPI)
  find_path(SYNCLINE_CUDA_INCLUDE cupti_activity.h
    HINTS ENV CUDA_HOME ENV CUDA_PATH
    PATHS /usr/local/cuda /opt/cuda
    PATH_SUFFIXES include extras/CUPTI/include)
endif()
if(SYNCLINE_CUDA_INCLUDE AND NOT SYNCLINE_CUDA_FROM_PYPI)
  # A toolkit may keep CUPTI's headers apart from the runtime's.
  find_path(SYNCLINE_CUDA_RUNTIME_INCLUDE cuda_runtime_api.h
    HINTS ${SYNCLINE_CUDA_INCLUDE} ${SYNCLINE_CUDA_INCLUDE}/../../../include ENV CUDA_HOME ENV CUDA_PATH
    PATHS /usr/local/cuda /opt/cuda
    PATH_SUFFIXES include)
  target_include_directories(sl_cuda_headers SYSTEM INTERFACE
    "${SYNCLINE_CUDA_INCLUDE}" "${SYNCLINE_CUDA_RUNTIME_INCLUDE}")
  # A toolkit may come without NVTX, or with one from before the payload extension.
  if(NOT EXISTS "${SYNCLINE_CUDA_RUNTIME_INCLUDE}/nvtx3/nvToolsExtPayload.h")
    sl_fetch(nvtx)
    target_include_directories(sl_cuda_headers SYSTEM BEFORE INTERFACE "${SYNCLINE_DEPS}/nvtx")
  endif()
else()
  foreach(package cuda-cupti cuda-runtime cuda-crt nvtx)
    sl_fetch(${package})
    target_include_directories(sl_cuda_headers SYSTEM INTERFACE "${SYNCLINE_DEPS}/${package}")
  endforeach()
endif()
