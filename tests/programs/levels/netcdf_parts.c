// SPDX-License-Identifier: MIT
// netcdf_parts FOLDER: parts of variables of several types, by both formats; prints errors and what it read.
#include <netcdf.h>

#include <stdio.h>

enum { X = 4, Y = 5 };

static int one(const char *path, int mode)
{
    int id, dimensions[2], integers, doubles, scalar, error = 0, values[X][Y], rest[X][Y], sum = 0;
    double numbers[Y] = {1, 2, 3, 4, 5};
    size_t start[2] = {1, 0}, count[2] = {2, Y}, all[2] = {X, Y}, origin[2] = {0, 0}, none[2] = {0, Y}, end[2] = {9, 9};
    ptrdiff_t stride[2] = {2, 1};
    for (int i = 0; i < X * Y; i++)
        values[i / Y][i % Y] = i;
    error |= nc_create(path, NC_CLOBBER | mode, &id);
    error |= nc_def_dim(id, "x", NC_UNLIMITED, &dimensions[0]) | nc_def_dim(id, "y", Y, &dimensions[1]);
    error |= nc_def_var(id, "integers", NC_INT, 2, dimensions, &integers);
    error |= nc_def_var(id, "doubles", NC_DOUBLE, 1, &dimensions[1], &doubles);
    error |= nc_def_var(id, "scalar", NC_SHORT, 0, NULL, &scalar) | nc_enddef(id);
    error |= nc_put_vara_int(id, integers, origin, all, &values[0][0]);
    error |= nc_put_vara(id, doubles, origin, &count[1], numbers);
    error |= nc_get_vara_double(id, doubles, origin, &count[1], numbers);
    error |= nc_get_vara_short(id, integers, start, count, (short *)values);
    error |= nc_get_vars_int(id, integers, origin, count, stride, &values[0][0]);
    error |= nc_put_var1_int(id, scalar, NULL, &values[1][1]);
    error |= nc_get_var1_double(id, doubles, start, numbers);
    error |= nc_get_vara_int(id, integers, origin, none, &values[0][0]);
    error |= nc_get_vara_int(id, scalar, NULL, NULL, &rest[0][0]);
    if (nc_get_vara_int(id, integers, origin, NULL, &rest[0][0]) != NC_NOERR) /* up to the end, by some versions */
        fprintf(stderr, "no counts\n");
    error |= nc_get_vara_int(id, integers, end, count, &values[0][0]) == NC_NOERR;
    error |= nc_close(id);
    for (int i = 0; i < 2 * Y; i++)
        sum += values[i / Y][i % Y];
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
    return 0;
}
