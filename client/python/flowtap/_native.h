// SPDX-License-Identifier: MIT
/*
 * What flowtap/__init__.py stands on, as an extension: a span costs it some hundred nanoseconds. _pure.py does the same by
 * ctypes. proto/annotate.h tells of the table; nothing is recorded, and nothing else happens, where the process has none.
 */
#ifndef FT_PYTHON_NATIVE_H
#define FT_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "proto/annotate.h"

extern const struct ft_annotate_table *ft_native_table; /* NULL: the process is not traced */

static inline int ft_native_is_on(void)
{
    return ft_native_table != NULL && !*ft_native_table->is_off;
}

/* Texts that an event points to, kept until it is recorded. */
struct ft_native_texts {
    PyObject *kept[2 * FT_EVENT_ARGS_MAX + 4];
    int count;
};

/* _native_event.c. Bytes of str(value), UTF-8; what cannot be encoded stands as it came. Never fails: "?" then. */
const char *ft_native_text_of(struct ft_native_texts *texts, PyObject *value);
void ft_native_texts_fini(struct ft_native_texts *texts);
/* How many there are; FT_EVENT_ARGS_MAX + 1 says that some are missing. `dict` NULL: none. */
uint32_t ft_native_put_args(struct ft_native_texts *texts, struct ft_annotate_arg *args, PyObject *dict);
/* `category`, `dict`, `mark`: NULL where there is none. */
void ft_native_record(uint32_t kind, PyObject *category, PyObject *name, PyObject *dict, int64_t value,
                      const struct ft_annotate_mark *mark);

/* _native_span.c. Before all else: 0, or -1 with an exception. */
int ft_native_names_init(void);
extern PyTypeObject ft_native_span_type;
/*
 * name, category="app", **rest, as a vectorcall has them: `count` without their names, then the values of `keywords` (NULL:
 * none). What is found is borrowed, but *rest: a new dict or NULL. 0, or -1 with an exception.
 */
int ft_native_take_names(PyObject *const *args, Py_ssize_t count, PyObject *keywords, PyObject **name,
                         PyObject **category, PyObject **rest);

#endif
