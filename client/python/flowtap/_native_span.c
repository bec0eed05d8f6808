// SPDX-License-Identifier: MIT
/* flowtap.span, and how a name, a category and arguments are given. */
#include "client/python/flowtap/_native.h"

static PyObject *keys[2]; /* "name", "category": interned */

int ft_native_names_init(void)
{
    keys[0] = PyUnicode_InternFromString("name");
    keys[1] = PyUnicode_InternFromString("category");
    return keys[0] != NULL && keys[1] != NULL ? 0 : -1;
}

/* Which of them a keyword is; 2: another. Names of keywords are interned but where a caller makes them. */
static int key_of(PyObject *keyword)
{
    for (int i = 0; i < 2; i++)
        if (keyword == keys[i])
            return i;
    for (int i = 0; i < 2; i++)
        if (PyUnicode_Compare(keyword, keys[i]) == 0)
            return i;
    return 2;
}

int ft_native_take_names(PyObject *const *args, Py_ssize_t count, PyObject *keywords, PyObject **name,
                         PyObject **category, PyObject **rest)
{
    PyObject **found[2] = {name, category};
    Py_ssize_t keyword_count = keywords != NULL ? PyTuple_GET_SIZE(keywords) : 0;
    *name = *category = *rest = NULL;
    if (count > 2) {
        PyErr_SetString(PyExc_TypeError, "only name and category may stand without their names");
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        *found[i] = args[i];
    for (Py_ssize_t i = 0; i < keyword_count; i++) {
        PyObject *keyword = PyTuple_GET_ITEM(keywords, i), *value = args[count + i];
        int key = key_of(keyword);
        if (key < 2 && *found[key] == NULL) {
            *found[key] = value;
            continue;
        }
        if (key < 2)
            PyErr_Format(PyExc_TypeError, "got multiple values for argument '%s'", key == 0 ? "name" : "category");
        if (key < 2 || (*rest == NULL && (*rest = PyDict_New()) == NULL) || PyDict_SetItem(*rest, keyword, value) < 0) {
            Py_CLEAR(*rest);
            return -1;
        }
    }
    if (*name == NULL) {
        PyErr_SetString(PyExc_TypeError, "a name is missing");
        Py_CLEAR(*rest);
        return -1;
    }
    return 0;
}

typedef struct {
    PyObject_HEAD PyObject *name, *category, *args; /* category, args: NULL none */
    struct ft_annotate_mark mark;                   /* ticks 0: not open, or not recorded */
} span_object;

/*
 * One that is free is kept, since most spans end before the next one begins. Under the interpreter's lock; without one
 * there is none.
 */
#ifndef Py_GIL_DISABLED
static span_object *kept_span;
#endif

static span_object *span_alloc(void)
{
#ifndef Py_GIL_DISABLED
    if (kept_span != NULL) {
        span_object *span = kept_span;
        kept_span = NULL;
        return (span_object *)PyObject_Init((PyObject *)span, &ft_native_span_type);
    }
#endif
    return PyObject_GC_New(span_object, &ft_native_span_type);
}

static PyObject *span_make(PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    PyObject *name, *category, *rest;
    if (ft_native_take_names(args, count, keywords, &name, &category, &rest) < 0)
        return NULL;
    span_object *span = span_alloc();
    if (span == NULL) {
        Py_XDECREF(rest);
        return NULL;
    }
    Py_INCREF(name);
    Py_XINCREF(category);
    span->name = name;
    span->category = category;
    span->args = rest;
    span->mark = (struct ft_annotate_mark){0};
    PyObject_GC_Track(span);
    return (PyObject *)span;
}

static PyObject *span_vectorcall(PyObject *type, PyObject *const *args, size_t count, PyObject *keywords)
{
    (void)type;
    return span_make(args, PyVectorcall_NARGS(count), keywords);
}

/* Python 3.8 does not know the other way; and for span.__new__(). */
static PyObject *span_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *list = PySequence_List(args), *keywords = PyTuple_New(kwargs != NULL ? PyDict_GET_SIZE(kwargs) : 0);
    PyObject *key, *value, *span = NULL;
    Py_ssize_t at = 0, count = PyTuple_GET_SIZE(args);
    int is_made = list != NULL && keywords != NULL;
    (void)type;
    for (Py_ssize_t i = 0; is_made && kwargs != NULL && PyDict_Next(kwargs, &at, &key, &value); i++) {
        Py_INCREF(key);
        PyTuple_SET_ITEM(keywords, i, key);
        is_made = PyList_Append(list, value) == 0;
    }
    if (is_made)
        span = span_make(((PyListObject *)list)->ob_item, count, keywords);
    Py_XDECREF(list);
    Py_XDECREF(keywords);
    return span;
}

static int span_traverse(span_object *span, visitproc visit, void *arg)
{
    Py_VISIT(span->name);
    Py_VISIT(span->category);
    Py_VISIT(span->args);
    return 0;
}

static int span_clear(span_object *span)
{
    Py_CLEAR(span->name);
    Py_CLEAR(span->category);
    Py_CLEAR(span->args);
    return 0;
}

static void span_dealloc(span_object *span)
{
    PyObject_GC_UnTrack(span);
    span_clear(span);
#ifndef Py_GIL_DISABLED
    if (kept_span == NULL) {
        kept_span = span;
        return;
    }
#endif
    PyObject_GC_Del(span);
}

static PyObject *span_enter(span_object *span, PyObject *unused)
{
    (void)unused;
    span->mark.ticks = 0;
    if (ft_native_is_on())
        ft_native_table->mark(&span->mark);
    Py_INCREF(span);
    return (PyObject *)span;
}

static PyObject *span_exit(span_object *span, PyObject *const *unused, Py_ssize_t unused_count)
{
    struct ft_annotate_mark mark = span->mark;
    (void)unused;
    (void)unused_count;
    span->mark.ticks = 0;
    if (mark.ticks != 0 && ft_native_is_on())
        ft_native_record(FT_ANNOTATE_SPAN, span->category, span->name, span->args, 0, &mark);
    Py_RETURN_NONE;
}

static PyObject *span_arg(span_object *span, PyObject *args, PyObject *kwargs)
{
    if (PyTuple_GET_SIZE(args) != 0) {
        PyErr_SetString(PyExc_TypeError, "arguments have names");
        return NULL;
    }
    if (kwargs != NULL && span->args == NULL && (span->args = PyDict_New()) == NULL)
        return NULL;
    if (kwargs != NULL && PyDict_Update(span->args, kwargs) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *span_cancel(span_object *span, PyObject *unused)
{
    (void)unused;
    span->mark.ticks = 0;
    Py_RETURN_NONE;
}

static PyMethodDef span_methods[] = {
    {"__enter__", (PyCFunction)(void *)span_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void *)span_exit, METH_FASTCALL, NULL},
    {"arg", (PyCFunction)(void *)span_arg, METH_VARARGS | METH_KEYWORDS, "Adds arguments to the span."},
    {"cancel", (PyCFunction)(void *)span_cancel, METH_NOARGS, "The span is not recorded."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject ft_native_span_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "flowtap.span",
    .tp_doc = "span(name, category='app', **args): a context manager; the time in it is a span of the trace.",
    .tp_basicsize = sizeof(span_object),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = span_new,
    .tp_vectorcall = span_vectorcall,
    .tp_dealloc = (destructor)span_dealloc,
    .tp_traverse = (traverseproc)span_traverse,
    .tp_clear = (inquiry)span_clear,
    .tp_methods = span_methods,
};
