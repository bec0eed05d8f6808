// SPDX-License-Identifier: MIT
/*
 * flowtap.h: what an application can ask of Flowtap. Link with -lflowtap (pkg-config: flowtap).
 *
 * Everything here may be called from any thread, in a traced and in an untraced process.
 */
#ifndef FLOWTAP_H
#define FLOWTAP_H

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this library, "MAJOR.MINOR.PATCH"; static storage. */
const char *flowtap_version(void);

/* 1 where the recording library (libflowtap-preload.so) is loaded into this process, otherwise 0. */
int flowtap_active(void);

#ifdef __cplusplus
}
#endif

#endif
