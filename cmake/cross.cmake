# Compiles for another machine with Debian's cross compilers. In the environment GNOMON_TRIPLE is what
# they call it, as in aarch64-linux-gnu, and GNOMON_HEADERS is where the headers of its Python are, laid
# out as in Debian's libpython3-dev.
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR "$ENV{GNOMON_TRIPLE}")
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_CXX_COMPILER "$ENV{GNOMON_TRIPLE}-g++")
set(CMAKE_STRIP "$ENV{GNOMON_TRIPLE}-strip")
file(GLOB Python_INCLUDE_DIR "$ENV{GNOMON_HEADERS}/usr/include/python3.*")
# pyconfig.h is found from here, by the name of the machine.
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES "$ENV{GNOMON_HEADERS}/usr/include")
