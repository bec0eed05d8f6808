// SPDX-License-Identifier: MIT
/* What events of the application have beside names and times: a value, an id, arguments. */
#ifndef FT_CLI_EVENT_ARGS_H
#define FT_CLI_EVENT_ARGS_H

#include "client/cli/event_print.h"

/* Members of the event's object; none where there is nothing. */
void ft_event_args_json(struct ft_json *json, const struct ft_event_facts *facts);
/* For a person. */
void ft_event_args_text(FILE *out, const struct ft_event_facts *facts);

/* value, id, begin_tid, args: new strings, empty where there is none. */
enum { FT_EVENT_ARGS_PARTS = 4 };
void ft_event_args_texts(const struct ft_event_facts *facts, char *parts[FT_EVENT_ARGS_PARTS]);

#endif
