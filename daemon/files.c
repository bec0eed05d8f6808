// SPDX-License-Identifier: MIT
#include "daemon/files.h"

#include <sys/sysmacros.h>

#include "daemon/job.h"
#include "proto/calls.h"

static const uint8_t kind_of_wire[] = {
    [FT_FILE_WIRE_UNKNOWN] = FT_FILE_KIND_UNKNOWN,     [FT_FILE_WIRE_REGULAR] = FT_FILE_KIND_REGULAR,
    [FT_FILE_WIRE_DIRECTORY] = FT_FILE_KIND_DIRECTORY, [FT_FILE_WIRE_BLOCK] = FT_FILE_KIND_BLOCK,
    [FT_FILE_WIRE_CHAR] = FT_FILE_KIND_CHAR,           [FT_FILE_WIRE_TTY] = FT_FILE_KIND_TTY,
    [FT_FILE_WIRE_PIPE] = FT_FILE_KIND_PIPE,           [FT_FILE_WIRE_SOCKET] = FT_FILE_KIND_SOCKET,
    [FT_FILE_WIRE_MEMFD] = FT_FILE_KIND_MEMFD,         [FT_FILE_WIRE_MEMORY] = FT_FILE_KIND_MEMORY,
    [FT_FILE_WIRE_OTHER] = FT_FILE_KIND_OTHER,
};

static uint32_t id_or_none(int64_t id)
{
    return id > 0 ? (uint32_t)id : 0;
}

static void find_place(struct ft_drain *drain, uint64_t dev)
{
    struct ft_mount mount;
    if (!ft_mounts_find(drain->mounts, dev, &mount))
        return;
    drain->place.dev = dev;
    drain->place.mount = id_or_none(ft_trace_writer_name(drain->writer, FT_BYTES(mount.point)));
    drain->place.fstype = id_or_none(ft_trace_writer_name(drain->writer, FT_BYTES(mount.fstype)));
    drain->place.block_size = mount.block_size;
    drain->place.is_known = true;
    ft_mount_fini(&mount);
}

static void add_place(struct ft_drain *drain, const struct ft_name *name, struct ft_trace_file *file)
{
    file->dev = makedev((unsigned)(name->device >> 32), (unsigned)name->device);
    file->inode = name->inode;
    if (!drain->place.is_known || drain->place.dev != file->dev) {
        drain->place.is_known = false;
        find_place(drain, file->dev);
    }
    if (!drain->place.is_known)
        return;
    file->mount = drain->place.mount;
    file->fstype = drain->place.fstype;
    file->block_size = drain->place.block_size;
}

uint32_t ft_files_id(struct ft_drain *drain, struct ft_process *process, struct ft_name *name)
{
    if (name->trace_id && name->trace_part == drain->part)
        return name->trace_id;
    ft_names_join(&process->names, name);
    struct ft_bytes path = {.data = name->text, .len = name->bytes_got};
    struct ft_trace_file file = {
        .path = id_or_none(ft_trace_writer_name(drain->writer, path)),
        .kind = name->kind < sizeof(kind_of_wire) ? kind_of_wire[name->kind] : FT_FILE_KIND_UNKNOWN,
        .source = name->define == FT_DEFINE_PATH ? FT_PATH_SOURCE_LEXICAL : FT_PATH_SOURCE_KERNEL,
        .is_cut = name->is_cut,
    };
    if (name->has_inode)
        add_place(drain, name, &file);
    name->trace_id = id_or_none(ft_trace_writer_file(drain->writer, &file));
    name->trace_part = drain->part;
    return name->trace_id;
}

void ft_files_learn_kind(struct ft_drain *drain, struct ft_process *process, const struct ft_record_event *record)
{
    struct ft_name *name = ft_names_find(&process->names, record->file);
    if (!name)
        return;
    name->is_kept = true;
    name->kind = record->file_kind;
    if (record->has_inode) {
        name->has_inode = true;
        name->device = record->device;
        name->inode = record->inode;
    }
    name->trace_id = 0;
    drain->cached_id = 0;
    if (name->is_told)
        ft_names_note_fresh(&process->names, name->id);
}

static void note_close(struct ft_drain *drain, struct ft_process *process, uint32_t id)
{
    struct ft_name *name = ft_names_find(&process->names, id);
    if (!name)
        return;
    name->closed_in = drain->block;
    if (name->is_told)
        ft_names_note_fresh(&process->names, id);
}

void ft_files_learn(struct ft_drain *drain, struct ft_process *process, const struct ft_record_event *record)
{
    if (record->call == FT_CALL_ID_close && record->file)
        note_close(drain, process, record->file);
}
