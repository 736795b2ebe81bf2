# Fetches sources: compressors, the JSON parser, and NVIDIA's headers if the machine has no CUDA
# toolkit.
#
# zstd and zlib are compiled here with hidden symbols: a distribution's static libraries are not
# position independent, and visible symbols could replace the symbols of a zstd or zlib that the
# host process has loaded.
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

# sl_archive(NAME LANGUAGE SOURCE... FLAGS FLAG...): defines the target sl_NAME, a static archive of
# the package NAME. Builds with the same SYNCLINE_DEPS share the archive, because compiling the
# packages takes a third of the time of a first build (48 of 164 CPU seconds). Sanitizer and
# coverage builds share the archive too. These packages are never instrumented, because instrumented
# compressors would slow syncline down. So their objects are the same in every build.
function(sl_archive name language)
  cmake_parse_arguments(arg "" "" "SOURCES;FLAGS" ${ARGN})
  sl_fetch(${name})
  set(compiler ${CMAKE_${language}_COMPILER_LAUNCHER} ${CMAKE_${language}_COMPILER})
  separate_arguments(flags UNIX_COMMAND "${CMAKE_${language}_FLAGS}")
  list(APPEND flags ${arg_FLAGS} -O3 -DNDEBUG -w -fPIC -fvisibility=hidden)
  file(READ "${SYNCLINE_DEPS}/${name}/.sha256" content)
  file(SHA256 ${CMAKE_SOURCE_DIR}/cmake/build_archive.py script)
  string(SHA256 key "${content} ${script} ${CMAKE_SYSTEM_PROCESSOR} ${flags} ${arg_SOURCES} \
${CMAKE_${language}_COMPILER} ${CMAKE_${language}_COMPILER_ID} ${CMAKE_${language}_COMPILER_VERSION}")
  string(SUBSTRING ${key} 0 16 key)
  set(archive "${SYNCLINE_DEPS}/built/${name}-${key}.a")
  list(TRANSFORM arg_SOURCES PREPEND "${SYNCLINE_DEPS}/${name}/")
  add_custom_command(OUTPUT ${archive}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/build_archive.py ${archive} ${CMAKE_AR}
      ${compiler} ${flags} -- ${arg_SOURCES}
    COMMENT "Building ${name}-${key}.a, once for all builds" VERBATIM)
  add_custom_target(sl_${name}_archive DEPENDS ${archive})
  add_library(sl_${name} STATIC IMPORTED GLOBAL)
  add_dependencies(sl_${name} sl_${name}_archive)
  set_target_properties(sl_${name} PROPERTIES IMPORTED_LOCATION ${archive}
    INTERFACE_INCLUDE_DIRECTORIES "${SYNCLINE_DEPS}/${name}")
endfunction()

set(sl_zstd_definitions ZSTDLIB_VISIBLE= ZSTDERRORLIB_VISIBLE= ZSTD_STATIC_LINKING_ONLY)
list(TRANSFORM sl_zstd_definitions PREPEND -D OUTPUT_VARIABLE sl_zstd_flags)
sl_archive(zstd C SOURCES zstd.c FLAGS ${sl_zstd_flags})
set_target_properties(sl_zstd PROPERTIES INTERFACE_COMPILE_DEFINITIONS "${sl_zstd_definitions}")

sl_archive(zlib C
  SOURCES adler32.c crc32.c deflate.c inffast.c inflate.c inftrees.c trees.c zutil.c)

# Only the tool uses simdjson. The library has no C++ code.
sl_archive(simdjson CXX SOURCES simdjson.cpp FLAGS -std=c++17)

# Only the tool uses SQLite, to read exports of nsys. Two threads never use one database at a time.
# The package adds a function to SQLite, which loads extensions that are not compiled here. Nothing
# calls it; the last two definitions let it link.
sl_archive(sqlite C SOURCES sqlite3.c
  FLAGS -DSQLITE_THREADSAFE=2 -DSQLITE_DEFAULT_MEMSTATUS=0 -DSQLITE_DQS=0 -DSQLITE_LIKE_DOESNT_MATCH_BLOBS
    -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_OMIT_DEPRECATED -DSQLITE_OMIT_SHARED_CACHE
    -DINIT_H -Dsqlite3_sqlean_init=sqlite3_initialize)

# The tool writes uPlot into the page of a report.
sl_fetch(uplot)

# Only CUDA's headers are used. No CUDA library is linked. They include the headers of NVTX.
option(SYNCLINE_CUDA_FROM_PYPI "Take CUDA's headers from PyPI even where there is a toolkit" OFF)
add_library(sl_cuda_headers INTERFACE)
if(NOT SYNCLINE_CUDA_FROM_PYPI)
  find_path(SYNCLINE_CUDA_INCLUDE cupti_activity.h
    HINTS ENV CUDA_HOME ENV CUDA_PATH
    PATHS /usr/local/cuda /opt/cuda
    PATH_SUFFIXES include extras/CUPTI/include)
endif()
if(SYNCLINE_CUDA_INCLUDE AND NOT SYNCLINE_CUDA_FROM_PYPI)
  # In some toolkits, the headers of CUPTI and of the CUDA runtime are in different folders.
  find_path(SYNCLINE_CUDA_RUNTIME_INCLUDE cuda_runtime_api.h
    HINTS ${SYNCLINE_CUDA_INCLUDE} ${SYNCLINE_CUDA_INCLUDE}/../../../include ENV CUDA_HOME ENV CUDA_PATH
    PATHS /usr/local/cuda /opt/cuda
    PATH_SUFFIXES include)
  target_include_directories(sl_cuda_headers SYSTEM INTERFACE
    "${SYNCLINE_CUDA_INCLUDE}" "${SYNCLINE_CUDA_RUNTIME_INCLUDE}")
  # Some toolkits have no NVTX, or an NVTX without the payload extension.
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
