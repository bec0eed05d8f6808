// SPDX-License-Identifier: MIT
// netcdf FOLDER: a netCDF-4 file (which is HDF5 inside) and a classic one; prints what it read.
#include <netcdf.h>

#include <stdio.h>

enum { N = 500 };

static int one(const char *path, int mode)
{
    int id, dimension, variable, values[N], back[N], sum = 0, error = 0;
    for (int i = 0; i < N; i++)
        values[i] = i * 3;
    error |= nc_create(path, NC_CLOBBER | mode, &id);
    error |= nc_def_dim(id, "x", N, &dimension);
    error |= nc_def_var(id, "v", NC_INT, 1, &dimension, &variable);
    error |= nc_enddef(id);
    error |= nc_put_var_int(id, variable, values);
    error |= nc_close(id);
    error |= nc_open(path, NC_NOWRITE, &id);
    error |= nc_inq_varid(id, "v", &variable);
    error |= nc_get_var_int(id, variable, back);
    error |= nc_close(id);
    for (int i = 0; i < N; i++)
        sum += back[i];
    return error != 0 ? error : sum;
}

int main(int argc, char **argv)
{
    char path[4096];
    const char *folder = argc > 1 ? argv[1] : ".";
    snprintf(path, sizeof(path), "%s/new.nc", folder);
    int new_format = one(path, NC_NETCDF4);
    snprintf(path, sizeof(path), "%s/old.nc", folder);
    printf("%d %d\n", new_format, one(path, 0));
    printf("%d\n", nc_open("/nonexistent/file.nc", NC_NOWRITE, &(int){0}) != NC_NOERR);
    return 0;
}
