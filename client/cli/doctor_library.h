// SPDX-License-Identifier: MIT
/* What checks of installed and preloaded libraries share. */
#ifndef FT_CLI_DOCTOR_LIBRARY_H
#define FT_CLI_DOCTOR_LIBRARY_H

#include "client/cli/doctor.h"

/* Whether a program could load it and it is the recorder of this version; tells why not, or that it is so. */
bool ft_doctor_inspect_library(struct ft_doctor *doctor, const char *path);

#endif
