// SPDX-License-Identifier: MIT
/*
 * What flowtap/__init__.py stands on, as an extension: a span costs it some hundred nanoseconds. _pure.py does the same by
 * ctypes. proto/annotate.h tells of the table; nothing is recorded, and nothing else happens, where the process has none.
 */
#define PY_SSIZE_T_CLEAN
#define _GNU_SOURCE
#include <Python.h>
#include <dlfcn.h>

#include "proto/annotate.h"

static const struct ft_annotate_table *table;

static int is_on(void)
{
    return table != NULL && !*table->is_off;
}

/* Texts that an event points to, kept until it is recorded. */
struct texts {
    PyObject *kept[2 * FT_EVENT_ARGS_MAX + 4];
    int count;
};

static void texts_fini(struct texts *texts)
{
    while (texts->count > 0)
        Py_DECREF(texts->kept[--texts->count]);
}

/* Bytes of str(value), UTF-8; what cannot be encoded stands as it came. Never fails: "?" then. */
static const char *text_of(struct texts *texts, PyObject *value)
{
    PyObject *text = PyUnicode_Check(value) ? (Py_INCREF(value), value) : PyObject_Str(value);
    const char *utf8 = text != NULL ? PyUnicode_AsUTF8(text) : NULL;
    if (utf8 != NULL) {
        texts->kept[texts->count++] = text;
        return utf8;
    }
    PyErr_Clear();
    PyObject *bytes = text != NULL ? PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape") : NULL;
    Py_XDECREF(text);
    if (bytes == NULL) {
        PyErr_Clear();
        return "?";
    }
    texts->kept[texts->count++] = bytes;
    return PyBytes_AS_STRING(bytes);
}

static void put_arg(struct texts *texts, struct ft_annotate_arg *arg, PyObject *key, PyObject *value)
{
    arg->key = text_of(texts, key);
    if (PyLong_Check(value)) {
        int overflow;
        long long integer = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (!overflow) {
            arg->type = FT_ARG_INTEGER;
            arg->value.integer = integer;
            return;
        }
    } else if (PyFloat_Check(value)) {
        arg->type = FT_ARG_DOUBLE;
        arg->value.number = PyFloat_AS_DOUBLE(value);
        return;
    }
    arg->type = FT_ARG_TEXT;
    arg->value.text = text_of(texts, value);
}

/* How many there are; FT_EVENT_ARGS_MAX + 1 says that some are missing. */
static uint32_t put_args(struct texts *texts, struct ft_annotate_arg *args, PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    uint32_t count = 0;
    while (dict != NULL && PyDict_Next(dict, &at, &key, &value)) {
        if (count == FT_EVENT_ARGS_MAX)
            return FT_EVENT_ARGS_MAX + 1;
        put_arg(texts, &args[count++], key, value);
    }
    return count;
}

static void record(uint32_t kind, PyObject *category, PyObject *name, PyObject *dict, int64_t value,
                   const struct ft_annotate_mark *mark)
{
    struct ft_annotate_arg args[FT_EVENT_ARGS_MAX];
    struct texts texts = {.count = 0};
    struct ft_annotate_event event = {.kind = kind, .args = args, .value = value};
    event.category = category != NULL ? text_of(&texts, category) : "app";
    event.name = text_of(&texts, name);
    event.arg_count = put_args(&texts, args, dict);
    if (mark != NULL)
        event.mark = *mark;
    table->event(&event);
    texts_fini(&texts);
}

/* name, category="app", **rest: *rest is a new dict or NULL. */
static int take_names(PyObject *args, PyObject *kwargs, PyObject **name, PyObject **category, PyObject **rest)
{
    static PyObject *keys[2];
    PyObject **found[2] = {name, category};
    Py_ssize_t count = PyTuple_GET_SIZE(args);
    if (keys[0] == NULL && ((keys[0] = PyUnicode_InternFromString("name")) == NULL ||
                            (keys[1] = PyUnicode_InternFromString("category")) == NULL))
        return -1;
    *name = *category = *rest = NULL;
    if (count > 2) {
        PyErr_SetString(PyExc_TypeError, "only name and category may stand without their names");
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        *found[i] = PyTuple_GET_ITEM(args, i);
    Py_ssize_t left = kwargs != NULL ? PyDict_GET_SIZE(kwargs) : 0;
    for (Py_ssize_t i = count; left > 0 && i < 2; i++)
        if ((*found[i] = PyDict_GetItem(kwargs, keys[i])) != NULL)
            left--;
    if (*name == NULL) {
        PyErr_SetString(PyExc_TypeError, "a name is missing");
        return -1;
    }
    if (left == 0)
        return 0;
    if ((*rest = PyDict_Copy(kwargs)) == NULL)
        return -1;
    for (Py_ssize_t i = count; i < 2; i++)
        if (*found[i] != NULL && PyDict_DelItem(*rest, keys[i]) < 0)
            return -1;
    return 0;
}

/* ---- span ---- */

typedef struct {
    PyObject_HEAD PyObject *name, *category, *args; /* category, args: NULL none */
    struct ft_annotate_mark mark;                   /* ticks 0: not open, or not recorded */
} span_object;

static PyObject *span_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *name, *category, *rest;
    if (take_names(args, kwargs, &name, &category, &rest) < 0)
        return NULL;
    span_object *span = (span_object *)type->tp_alloc(type, 0);
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
    return (PyObject *)span;
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
    Py_TYPE(span)->tp_free((PyObject *)span);
}

static PyObject *span_enter(span_object *span, PyObject *unused)
{
    (void)unused;
    span->mark.ticks = 0;
    if (is_on())
        table->mark(&span->mark);
    Py_INCREF(span);
    return (PyObject *)span;
}

static PyObject *span_exit(span_object *span, PyObject *unused)
{
    struct ft_annotate_mark mark = span->mark;
    (void)unused;
    span->mark.ticks = 0;
    if (mark.ticks != 0 && is_on())
        record(FT_ANNOTATE_SPAN, span->category, span->name, span->args, 0, &mark);
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
    {"__exit__", (PyCFunction)(void *)span_exit, METH_VARARGS, NULL},
    {"arg", (PyCFunction)(void *)span_arg, METH_VARARGS | METH_KEYWORDS, "Adds arguments to the span."},
    {"cancel", (PyCFunction)(void *)span_cancel, METH_NOARGS, "The span is not recorded."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject span_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "flowtap.span",
    .tp_doc = "span(name, category='app', **args): a context manager; the time in it is a span of the trace.",
    .tp_basicsize = sizeof(span_object),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = span_new,
    .tp_dealloc = (destructor)span_dealloc,
    .tp_traverse = (traverseproc)span_traverse,
    .tp_clear = (inquiry)span_clear,
    .tp_methods = span_methods,
};

/* ---- functions ---- */

static PyObject *recording(PyObject *self, PyObject *unused)
{
    struct ft_annotate_mark mark = {0};
    (void)self;
    (void)unused;
    if (is_on())
        table->mark(&mark);
    return PyBool_FromLong(mark.ticks != 0);
}

static PyObject *instant(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *name, *category, *rest;
    (void)self;
    if (take_names(args, kwargs, &name, &category, &rest) < 0)
        return NULL;
    if (is_on())
        record(FT_ANNOTATE_INSTANT, category, name, rest, 0, NULL);
    Py_XDECREF(rest);
    Py_RETURN_NONE;
}

static PyObject *counter(PyObject *self, PyObject *args)
{
    PyObject *category, *name, *value;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOO:counter", &category, &name, &value))
        return NULL;
    if (!is_on())
        Py_RETURN_NONE;
    int overflow = 1;
    long long integer = PyLong_Check(value) ? PyLong_AsLongLongAndOverflow(value, &overflow) : 0;
    if (!overflow) {
        record(FT_ANNOTATE_COUNTER, category, name, NULL, integer, NULL);
        Py_RETURN_NONE;
    }
    double number = PyFloat_AsDouble(value);
    int64_t bits;
    if (number == -1.0 && PyErr_Occurred())
        return NULL;
    memcpy(&bits, &number, sizeof(bits));
    record(FT_ANNOTATE_COUNTER_DOUBLE, category, name, NULL, bits, NULL);
    Py_RETURN_NONE;
}

static PyObject *set_tag(PyObject *self, PyObject *args)
{
    unsigned int scope;
    PyObject *key, *value;
    struct texts texts = {.count = 0};
    (void)self;
    if (!PyArg_ParseTuple(args, "IOO:set_tag", &scope, &key, &value))
        return NULL;
    if (is_on())
        table->set_tag(scope, text_of(&texts, key), value != Py_None ? text_of(&texts, value) : NULL);
    texts_fini(&texts);
    Py_RETURN_NONE;
}

static PyObject *get_tag(PyObject *self, PyObject *args)
{
    unsigned int scope;
    PyObject *key;
    char value[256];
    struct texts texts = {.count = 0};
    (void)self;
    if (!PyArg_ParseTuple(args, "IO:get_tag", &scope, &key))
        return NULL;
    int length = is_on() ? table->get_tag(scope, text_of(&texts, key), value, sizeof(value)) : -1;
    texts_fini(&texts);
    if (length < 0)
        Py_RETURN_NONE;
    length = length < (int)sizeof(value) ? length : (int)sizeof(value) - 1;
    return PyUnicode_DecodeUTF8(value, length, "surrogateescape");
}

static PyObject *begin_async(PyObject *self, PyObject *args)
{
    unsigned long long id;
    PyObject *category, *name;
    struct texts texts = {.count = 0};
    (void)self;
    if (!PyArg_ParseTuple(args, "KOO:begin_async", &id, &category, &name))
        return NULL;
    if (is_on())
        table->begin_async(id, text_of(&texts, category), text_of(&texts, name));
    texts_fini(&texts);
    Py_RETURN_NONE;
}

static PyObject *end_async(PyObject *self, PyObject *args, PyObject *kwargs)
{
    unsigned long long id;
    struct ft_annotate_arg list[FT_EVENT_ARGS_MAX];
    struct texts texts = {.count = 0};
    (void)self;
    if (!PyArg_ParseTuple(args, "K:end_async", &id))
        return NULL;
    if (is_on()) {
        uint32_t count = put_args(&texts, list, kwargs);
        table->end_async(id, list, count);
    }
    texts_fini(&texts);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"recording", recording, METH_NOARGS, "Whether what is called now is recorded."},
    {"instant", (PyCFunction)(void *)instant, METH_VARARGS | METH_KEYWORDS, "instant(name, category='app', **args)"},
    {"counter", counter, METH_VARARGS, NULL},
    {"set_tag", set_tag, METH_VARARGS, NULL},
    {"get_tag", get_tag, METH_VARARGS, NULL},
    {"begin_async", begin_async, METH_VARARGS, NULL},
    {"end_async", (PyCFunction)(void *)end_async, METH_VARARGS | METH_KEYWORDS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "flowtap._native", .m_size = -1,
                                    .m_methods = functions};

PyMODINIT_FUNC PyInit__native(void)
{
    table = dlsym(RTLD_DEFAULT, "flowtap_annotate_1");
    if (PyType_Ready(&span_type) < 0)
        return NULL;
    PyObject *made = PyModule_Create(&module);
    if (made == NULL)
        return NULL;
    Py_INCREF(&span_type);
    if (PyModule_AddObject(made, "span", (PyObject *)&span_type) < 0) {
        Py_DECREF(&span_type);
        Py_DECREF(made);
        return NULL;
    }
    return made;
}
