// SPDX-License-Identifier: MIT
#include "daemon/client.h"

#include <stddef.h>
#include <string.h>

void ft_client_read(const struct sockaddr_un *address_untrusted, socklen_t bytes, struct ft_client *out)
{
    struct ft_client_name name;
    *out = (struct ft_client){0};
    if (bytes != offsetof(struct sockaddr_un, sun_path) + sizeof(name))
        return;
    memcpy(&name, address_untrusted->sun_path, sizeof(name));
    if (memcmp(name.magic, FT_CLIENT_MAGIC, sizeof(name.magic)) != 0)
        return;
    out->is_program = true;
    out->image = name.image;
    memcpy(out->exe, name.exe, sizeof(name.exe));
}
