// SPDX-License-Identifier: MIT
/* What the instrumented programs and their library share: functions whose calls a test counts. */
#ifndef INSTRUMENTED_H
#define INSTRUMENTED_H

#ifdef __cplusplus
extern "C" {
#endif

#define PLAIN __attribute__((no_instrument_function))

/* Of instrumented_library.so.c: calls library_inner(), which is static, `n` times. */
int library_outer(int n);

#ifdef __cplusplus
}
#endif

#endif
