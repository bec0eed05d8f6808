// SPDX-License-Identifier: MIT
#ifndef FT_CLI_ANALYSIS_SPANS_H
#define FT_CLI_ANALYSIS_SPANS_H

#include "proto/trace_reader.h"

// Which times a span of this category counts for, as bits 1 << FT_SWEEP_…; 0 for the levels of libraries (MPIIO, HDF5,
// NETCDF, PNETCDF, and those with the name of a library, "libx.so"): they stand beside the application's own times.
unsigned ft_spans_sweeps(struct ft_bytes category);

#endif
