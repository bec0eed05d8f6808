// SPDX-License-Identifier: MIT
/*
 * Test points: places in the shim at which a test stops or ends the process, to see that the trace is whole whatever the
 * instruction was. They exist in VARIANT=points alone; elsewhere they are nothing.
 *
 *   FLOWTAP_TEST_POINT=NAME:COUNT:SIGNAL[:EVERY]   the COUNT-th time that a thread of an image reaches NAME, raise SIGNAL,
 *                                                  and again each EVERY times; two such wishes with a comma between them
 *
 * NAME is a row of test_points.def. The variable is read once per image; a forked child goes on counting where its
 * parent was, so that a point before a child's attach can be told from its parent's.
 */
#ifndef FT_SHIM_TEST_POINT_H
#define FT_SHIM_TEST_POINT_H

#ifdef FT_TEST_POINTS

enum ft_test_point {
#define FT_POINT(name, what) FT_TEST_POINT_##name,
#include "client/shim/test_points.def"
#undef FT_POINT
};

void ft_test_point_reach(enum ft_test_point point);

#define FT_TEST_POINT(name) ft_test_point_reach(FT_TEST_POINT_##name)

#else

#define FT_TEST_POINT(name) ((void)0)

#endif
#endif
