// SPDX-License-Identifier: MIT
#include "proto/trace_event.h"

#define TEXT_CASE(value, name, text) \
    case (value):                    \
        return text;

#define NAME_FUNCTION(function, table)                   \
    const char *function(unsigned value)                 \
    {                                                    \
        switch (value) {                                 \
            table(TEXT_CASE) default : return "unknown"; \
        }                                                \
    }

NAME_FUNCTION(ft_gap_name, FT_GAPS)
NAME_FUNCTION(ft_cause_name, FT_CAUSES)
NAME_FUNCTION(ft_file_kind_name, FT_FILE_KINDS)
NAME_FUNCTION(ft_path_source_name, FT_PATH_SOURCES)
NAME_FUNCTION(ft_job_source_name, FT_JOB_SOURCES)
NAME_FUNCTION(ft_exit_name, FT_EXITS)
NAME_FUNCTION(ft_exit_source_name, FT_EXIT_SOURCES)
NAME_FUNCTION(ft_event_kind_name, FT_EVENT_KINDS)
NAME_FUNCTION(ft_file_class_name, FT_FILE_CLASSES)

unsigned ft_file_kind_class(unsigned kind)
{
    switch (kind) {
    case FT_FILE_KIND_REGULAR:
    case FT_FILE_KIND_DIRECTORY:
    case FT_FILE_KIND_BLOCK:
        return FT_FILE_CLASS_STORAGE;
    case FT_FILE_KIND_CHAR:
    case FT_FILE_KIND_TTY:
    case FT_FILE_KIND_PIPE:
    case FT_FILE_KIND_SOCKET:
    case FT_FILE_KIND_MEMFD:
    case FT_FILE_KIND_MEMORY:
    case FT_FILE_KIND_OTHER:
        return FT_FILE_CLASS_OTHER;
    default:
        return FT_FILE_CLASS_UNKNOWN;
    }
}
