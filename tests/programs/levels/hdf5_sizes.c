// SPDX-License-Identifier: MIT
// hdf5_sizes FOLDER: reads and writes whose size lies in selections and in the dataset's own extent, and some that fail; prints
// what a program can see of the library: results, errors kept, objects open.
#include <hdf5.h>

#include <stdio.h>

enum { ROWS = 6, COLUMNS = 50 };

static hid_t file;

static void say(const char *what, long result)
{
    long errors = (long)H5Eget_num(H5E_DEFAULT); /* before the next call begins with none */
    printf("%s %ld: %ld errors, %ld open\n", what, result, errors, (long)H5Fget_obj_count(file, H5F_OBJ_ALL));
}

int main(int argc, char **argv)
{
    char path[4096];
    static int values[ROWS][COLUMNS];
    static double back[ROWS][COLUMNS];
    hsize_t dims[2] = {ROWS, COLUMNS}, none[2] = {0, COLUMNS}, most[2] = {H5S_UNLIMITED, COLUMNS}, chunk[2] = {2, 10};
    hsize_t start[2] = {1, 0}, count[2] = {2, COLUMNS};
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    snprintf(path, sizeof(path), "%s/sizes.h5", argc > 1 ? argv[1] : ".");
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, none, most), chunked = H5Pcreate(H5P_DATASET_CREATE),
          scalar = H5Screate(H5S_SCALAR);
    H5Pset_chunk(chunked, 2, chunk);
    hid_t data = H5Dcreate2(file, "data", H5T_NATIVE_INT, space, H5P_DEFAULT, chunked, H5P_DEFAULT);
    hid_t one = H5Dcreate2(file, "one", H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    say("empty", H5Dread(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    H5Dset_extent(data, dims);
    say("all", H5Dwrite(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    say("converted", H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, back));
    hid_t part = H5Screate_simple(2, dims, NULL);
    H5Sselect_hyperslab(part, H5S_SELECT_SET, start, NULL, count, NULL);
    say("part in both", H5Dread(data, H5T_NATIVE_INT, H5S_ALL, part, H5P_DEFAULT, values));
    say("scalar", H5Dwrite(one, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    say("no dataset", H5Dread(space, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    say("no type", H5Dread(data, space, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    say("no space", H5Dwrite(data, H5T_NATIVE_INT, data, H5S_ALL, H5P_DEFAULT, values));
    say("again", H5Dread(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    hid_t row = H5Acreate2(data, "row", H5T_NATIVE_INT, part, H5P_DEFAULT, H5P_DEFAULT);
    hid_t number = H5Acreate2(file, "number", H5T_NATIVE_DOUBLE, scalar, H5P_DEFAULT, H5P_DEFAULT);
    say("attribute", H5Awrite(row, H5T_NATIVE_INT, values));
    say("converted", H5Aread(row, H5T_NATIVE_DOUBLE, back));
    say("scalar", H5Awrite(number, H5T_NATIVE_DOUBLE, back));
    say("no attribute", H5Aread(data, H5T_NATIVE_INT, values));
    say("no type", H5Aread(number, space, values));
    H5Aclose(row);
    H5Aclose(number);
    H5Dclose(data);
    H5Dclose(one);
    say("closed", H5Fclose(file));
    return 0;
}
