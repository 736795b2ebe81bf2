# NVIDIA's headers: from the CUDA toolkit where there is one. Only headers; no library is linked.
find_path(SYNCLINE_CUDA_INCLUDE cupti_activity.h
  HINTS ENV CUDA_HOME ENV CUDA_PATH
  PATHS /usr/local/cuda /opt/cuda
  PATH_SUFFIXES include extras/CUPTI/include)
if(NOT SYNCLINE_CUDA_INCLUDE)
  message(FATAL_ERROR "No cupti_activity.h found: set SYNCLINE_CUDA_INCLUDE or CUDA_HOME")
endif()
add_library(sl_cuda_headers INTERFACE)
target_include_directories(sl_cuda_headers SYSTEM INTERFACE "${SYNCLINE_CUDA_INCLUDE}")
