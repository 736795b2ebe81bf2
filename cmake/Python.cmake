# The Python package lies beside the library, in syncline/python: the library finds it there
# (runtime/base/home.h), `syncline run` too. In the build tree it is the sources themselves.
set(sl_python_dir ${CMAKE_BINARY_DIR}/runtime/syncline/python)
file(MAKE_DIRECTORY ${sl_python_dir})
foreach(folder syncline early)
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/python_hook/${folder} ${sl_python_dir}/${folder} SYMBOLIC)
endforeach()

include(GNUInstallDirs)
install(DIRECTORY python_hook/syncline python_hook/early
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/syncline/python FILES_MATCHING PATTERN "*.py")

# Observers of PyTorch's operators, where python_hook/build_observers.sh has made some.
set(sl_observers_dir ${CMAKE_SOURCE_DIR}/build/observers)
file(MAKE_DIRECTORY ${sl_observers_dir})
file(CREATE_LINK ${sl_observers_dir} ${CMAKE_BINARY_DIR}/runtime/syncline/observers SYMBOLIC)
install(DIRECTORY ${sl_observers_dir} DESTINATION ${CMAKE_INSTALL_LIBDIR}/syncline
  FILES_MATCHING PATTERN "torch-*.so")
