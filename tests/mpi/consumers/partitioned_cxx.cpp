// The C program is a C++ program, too.
#include "partitioned.c"
