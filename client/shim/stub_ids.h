// SPDX-License-Identifier: MIT
/* Ids that assembly needs; asserted equal to the call table's in wrap_process.c. */
#ifndef FT_SHIM_STUB_IDS_H
#define FT_SHIM_STUB_IDS_H

#define FT_STUB_VFORK 602

#endif
