// SPDX-License-Identifier: MIT
//
// cmocka.h and what it needs before it.
#ifndef FT_TEST_CMOCKA_ALL_H
#define FT_TEST_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
