// SPDX-License-Identifier: MIT
/* Values of Python as events have them. */
#include "client/python/flowtap/_native.h"

void ft_native_texts_fini(struct ft_native_texts *texts)
{
    while (texts->count > 0)
        Py_DECREF(texts->kept[--texts->count]);
}

const char *ft_native_text_of(struct ft_native_texts *texts, PyObject *value)
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

static void put_arg(struct ft_native_texts *texts, struct ft_annotate_arg *arg, PyObject *key, PyObject *value)
{
    arg->key = ft_native_text_of(texts, key);
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
    arg->value.text = ft_native_text_of(texts, value);
}

uint32_t ft_native_put_args(struct ft_native_texts *texts, struct ft_annotate_arg *args, PyObject *dict)
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

void ft_native_record(uint32_t kind, PyObject *category, PyObject *name, PyObject *dict, int64_t value,
                      const struct ft_annotate_mark *mark)
{
    struct ft_annotate_arg args[FT_EVENT_ARGS_MAX];
    struct ft_native_texts texts = {.count = 0};
    struct ft_annotate_event event = {.kind = kind, .args = args, .value = value};
    event.category = category != NULL ? ft_native_text_of(&texts, category) : "app";
    event.name = ft_native_text_of(&texts, name);
    event.arg_count = ft_native_put_args(&texts, args, dict);
    if (mark != NULL)
        event.mark = *mark;
    ft_native_table->event(&event);
    ft_native_texts_fini(&texts);
}
