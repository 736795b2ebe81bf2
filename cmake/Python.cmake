# The Python package is in the folder syncline/python beside the library. The library
# (runtime/base/home.h) and `syncline run` look for the package there. In the build tree,
# syncline/python is a link to the sources.
set(sl_python_dir ${CMAKE_BINARY_DIR}/runtime/syncline/python)
file(MAKE_DIRECTORY ${sl_python_dir})
foreach(folder syncline early)
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/python_hook/${folder} ${sl_python_dir}/${folder} SYMBOLIC)
endforeach()

include(GNUInstallDirs)
install(DIRECTORY python_hook/syncline python_hook/early
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/syncline/python FILES_MATCHING PATTERN "*.py")

# The folder of the observers of PyTorch's operators, if python_hook/build_observers.sh has built
# any.
set(sl_observers_dir ${CMAKE_SOURCE_DIR}/build/observers)
file(MAKE_DIRECTORY ${sl_observers_dir})
file(CREATE_LINK ${sl_observers_dir} ${CMAKE_BINARY_DIR}/runtime/syncline/observers SYMBOLIC)
install(DIRECTORY ${sl_observers_dir} DESTINATION ${CMAKE_INSTALL_LIBDIR}/syncline
  FILES_MATCHING PATTERN "torch-*.so")
