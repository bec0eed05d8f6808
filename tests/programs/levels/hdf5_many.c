// SPDX-License-Identifier: MIT
// hdf5_many FOLDER: reads and writes of several datasets in one call, of one file and, which fails, of two. For HDF5 1.14 and later, whose
// headers need not be there.
#include <stdint.h>
#include <stdio.h>

typedef int64_t hid_t;
typedef uint64_t hsize_t;

extern hid_t H5T_NATIVE_INT_g, H5T_NATIVE_DOUBLE_g;
int H5open(void);
hid_t H5Fcreate(const char *path, unsigned flags, hid_t create, hid_t access);
int H5Fclose(hid_t file);
hid_t H5Screate_simple(int rank, const hsize_t *dims, const hsize_t *most);
int H5Sselect_hyperslab(hid_t space, int op, const hsize_t *start, const hsize_t *stride, const hsize_t *count,
                        const hsize_t *block);
hid_t H5Dcreate2(hid_t where, const char *name, hid_t type, hid_t space, hid_t link, hid_t create, hid_t access);
int H5Dclose(hid_t dataset);
int H5Dwrite_multi(size_t count, hid_t data[], hid_t types[], hid_t in_memory[], hid_t in_file[], hid_t how,
                   const void *from[]);
int H5Dread_multi(size_t count, hid_t data[], hid_t types[], hid_t in_memory[], hid_t in_file[], hid_t how, void *to[]);
int H5Eset_auto2(hid_t stack, void *function, void *data);

enum { TRUNCATE = 2, SET = 0, ALL = 0, ROWS = 100 };

static hid_t create(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return H5Fcreate(path, TRUNCATE, 0, 0);
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : ".";
    static int values[ROWS];
    static double numbers[ROWS];
    hsize_t rows = ROWS, start = 10, count = 5;
    H5open();
    H5Eset_auto2(0, NULL, NULL);
    hid_t first = create(folder, "first.h5"), second = create(folder, "second.h5"),
          space = H5Screate_simple(1, &rows, NULL), part = H5Screate_simple(1, &rows, NULL);
    H5Sselect_hyperslab(part, SET, &start, NULL, &count, NULL);
    hid_t a = H5Dcreate2(first, "a", H5T_NATIVE_INT_g, space, 0, 0, 0),
          b = H5Dcreate2(first, "b", H5T_NATIVE_DOUBLE_g, space, 0, 0, 0),
          c = H5Dcreate2(second, "c", H5T_NATIVE_INT_g, space, 0, 0, 0);
    hid_t types[] = {H5T_NATIVE_INT_g, H5T_NATIVE_DOUBLE_g, H5T_NATIVE_INT_g}, all[] = {ALL, ALL, ALL},
          parts[] = {ALL, part, ALL};
    hid_t of_one[] = {a, b}, of_two[] = {a, b, c}, wrong[] = {a, space};
    const void *from[] = {values, numbers, values};
    void *to[] = {values, numbers, values};
    printf("%d\n", H5Dwrite_multi(2, of_one, types, all, all, 0, from));
    printf("%d\n", H5Dread_multi(2, of_one, types, all, parts, 0, to));
    printf("%d\n", H5Dwrite_multi(3, of_two, types, all, all, 0, from));
    printf("%d\n", H5Dread_multi(2, wrong, types, all, all, 0, to));
    printf("%d\n", H5Dread_multi(0, of_one, types, all, all, 0, to));
    H5Dclose(a);
    H5Dclose(b);
    H5Dclose(c);
    printf("%d %d\n", H5Fclose(first), H5Fclose(second));
    return 0;
}
