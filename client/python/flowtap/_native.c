// SPDX-License-Identifier: MIT
/* The module: its functions. */
#define _GNU_SOURCE
#include "client/python/flowtap/_native.h"

#include <dlfcn.h>

const struct ft_annotate_table *ft_native_table;

static PyObject *recording(PyObject *self, PyObject *unused)
{
    struct ft_annotate_mark mark = {0};
    (void)self;
    (void)unused;
    if (ft_native_is_on())
        ft_native_table->mark(&mark);
    return PyBool_FromLong(mark.ticks != 0);
}

static PyObject *instant(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    PyObject *name, *category, *rest;
    (void)self;
    if (ft_native_take_names(args, count, keywords, &name, &category, &rest) < 0)
        return NULL;
    if (ft_native_is_on())
        ft_native_record(FT_ANNOTATE_INSTANT, category, name, rest, 0, NULL);
    Py_XDECREF(rest);
    Py_RETURN_NONE;
}

static PyObject *counter(PyObject *self, PyObject *args)
{
    PyObject *category, *name, *value;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOO:counter", &category, &name, &value))
        return NULL;
    if (!ft_native_is_on())
        Py_RETURN_NONE;
    int overflow = 1;
    long long integer = PyLong_Check(value) ? PyLong_AsLongLongAndOverflow(value, &overflow) : 0;
    if (!overflow) {
        ft_native_record(FT_ANNOTATE_COUNTER, category, name, NULL, integer, NULL);
        Py_RETURN_NONE;
    }
    double number = PyFloat_AsDouble(value);
    int64_t bits;
    if (number == -1.0 && PyErr_Occurred())
        return NULL;
    memcpy(&bits, &number, sizeof(bits));
    ft_native_record(FT_ANNOTATE_COUNTER_DOUBLE, category, name, NULL, bits, NULL);
    Py_RETURN_NONE;
}

static PyObject *set_tag(PyObject *self, PyObject *args)
{
    unsigned int scope;
    PyObject *key, *value;
    struct ft_native_texts texts = {.count = 0};
    (void)self;
    if (!PyArg_ParseTuple(args, "IOO:set_tag", &scope, &key, &value))
        return NULL;
    if (ft_native_is_on())
        ft_native_table->set_tag(scope, ft_native_text_of(&texts, key),
                                 value != Py_None ? ft_native_text_of(&texts, value) : NULL);
    ft_native_texts_fini(&texts);
    Py_RETURN_NONE;
}

static PyObject *get_tag(PyObject *self, PyObject *args)
{
    unsigned int scope;
    PyObject *key;
    char value[256];
    struct ft_native_texts texts = {.count = 0};
    (void)self;
    if (!PyArg_ParseTuple(args, "IO:get_tag", &scope, &key))
        return NULL;
    int length =
        ft_native_is_on() ? ft_native_table->get_tag(scope, ft_native_text_of(&texts, key), value, sizeof(value)) : -1;
    ft_native_texts_fini(&texts);
    if (length < 0)
        Py_RETURN_NONE;
    length = length < (int)sizeof(value) ? length : (int)sizeof(value) - 1;
    return PyUnicode_DecodeUTF8(value, length, "surrogateescape");
}

static PyObject *begin_async(PyObject *self, PyObject *args)
{
    unsigned long long id;
    PyObject *category, *name;
    struct ft_native_texts texts = {.count = 0};
    (void)self;
    if (!PyArg_ParseTuple(args, "KOO:begin_async", &id, &category, &name))
        return NULL;
    if (ft_native_is_on())
        ft_native_table->begin_async(id, ft_native_text_of(&texts, category), ft_native_text_of(&texts, name));
    ft_native_texts_fini(&texts);
    Py_RETURN_NONE;
}

static PyObject *end_async(PyObject *self, PyObject *args, PyObject *kwargs)
{
    unsigned long long id;
    struct ft_annotate_arg list[FT_EVENT_ARGS_MAX];
    struct ft_native_texts texts = {.count = 0};
    (void)self;
    if (!PyArg_ParseTuple(args, "K:end_async", &id))
        return NULL;
    if (ft_native_is_on()) {
        uint32_t count = ft_native_put_args(&texts, list, kwargs);
        ft_native_table->end_async(id, list, count);
    }
    ft_native_texts_fini(&texts);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"recording", recording, METH_NOARGS, "Whether what is called now is recorded."},
    {"instant", (PyCFunction)(void *)instant, METH_FASTCALL | METH_KEYWORDS, "instant(name, category='app', **args)"},
    {"counter", counter, METH_VARARGS, NULL},
    {"set_tag", set_tag, METH_VARARGS, NULL},
    {"get_tag", get_tag, METH_VARARGS, NULL},
    {"begin_async", begin_async, METH_VARARGS, NULL},
    {"end_async", (PyCFunction)(void *)end_async, METH_VARARGS | METH_KEYWORDS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "flowtap._native", .m_size = -1,
                                    .m_methods = functions};

/* Python 3.8 does not say by itself that it is to be seen. */
__attribute__((visibility("default"))) PyMODINIT_FUNC PyInit__native(void)
{
    ft_native_table = dlsym(RTLD_DEFAULT, "flowtap_annotate_1");
    if (ft_native_names_init() < 0 || PyType_Ready(&ft_native_span_type) < 0)
        return NULL;
    PyObject *made = PyModule_Create(&module);
    if (made == NULL)
        return NULL;
    Py_INCREF(&ft_native_span_type);
    if (PyModule_AddObject(made, "span", (PyObject *)&ft_native_span_type) < 0) {
        Py_DECREF(&ft_native_span_type);
        Py_DECREF(made);
        return NULL;
    }
    return made;
}
