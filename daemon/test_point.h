// SPDX-License-Identifier: MIT
//
// Test points: places in the daemon at which a test stops or ends it, to see that each event is in the trace once
// whatever the instruction was. They exist in VARIANT=points alone; elsewhere they are nothing.
//
//   FLOWTAPD_TEST_POINT=FILE    where there is such a file: "NAME:COUNT:SIGNAL", the COUNT-th time from now on that a
//                               thread reaches NAME, it raises SIGNAL
//
// NAME is a row of test_points.def. The file is looked for at every point until it is there, and removed when it is
// read: so a test can choose when to begin with counting, and, where the daemon goes on, wish for another point.
#ifndef FT_DAEMON_TEST_POINT_H
#define FT_DAEMON_TEST_POINT_H

#ifdef FT_TEST_POINTS

enum ft_test_point {
#define FT_POINT(name, what) FT_TEST_POINT_##name,
#include "daemon/test_points.def"
#undef FT_POINT
};

void ft_test_point_reach(enum ft_test_point point);

#define FT_TEST_POINT(name) ft_test_point_reach(FT_TEST_POINT_##name)
// How much to write at once of so many bytes, so that there is a moment in the middle of a frame.
#define FT_TEST_POINT_PART(bytes) (((bytes) + 1) / 2)

#else

#define FT_TEST_POINT(name) ((void)0)
#define FT_TEST_POINT_PART(bytes) (bytes)

#endif
#endif
