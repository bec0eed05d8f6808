// SPDX-License-Identifier: MIT
#include "daemon/files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/sysmacros.h>

#include "daemon/job.h"
#include "proto/birth.h"
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
    file->birth = name->birth;
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

static uint8_t kind_of(uint8_t wire)
{
    return wire < sizeof(kind_of_wire) ? kind_of_wire[wire] : FT_FILE_KIND_UNKNOWN;
}

// A path that a call named: the file that lay there then, where that is known.
static void add_known(struct ft_drain *drain, const struct ft_name *name, struct ft_trace_file *file)
{
    const struct ft_lives_file *known = ft_lives_find(drain->lives, file->path, drain->asked_ns);
    if (!known)
        return;
    struct ft_name there = *name;
    there.device = known->device;
    there.inode = known->inode;
    there.birth = known->birth;
    file->kind = kind_of(known->kind);
    add_place(drain, &there, file);
}

static uint32_t make_file(struct ft_drain *drain, struct ft_process *process, struct ft_name *name,
                          struct ft_trace_file *file)
{
    ft_names_join(&process->names, name);
    struct ft_bytes path = {.data = name->text, .len = name->bytes_got};
    *file = (struct ft_trace_file){
        .path = id_or_none(ft_trace_writer_name(drain->writer, path)),
        .kind = kind_of(name->kind),
        .source = name->define == FT_DEFINE_PATH ? FT_PATH_SOURCE_LEXICAL : FT_PATH_SOURCE_KERNEL,
        .is_cut = name->is_cut,
    };
    if (name->has_inode && !name->has_birth) {
        name->birth = ft_lives_birth(drain->lives, name->device, name->inode, name->birth, drain->asked_ns);
        name->has_birth = true;
    }
    if (name->has_inode)
        add_place(drain, name, file);
    else if (name->define == FT_DEFINE_PATH && !name->is_kept && !name->is_cut)
        add_known(drain, name, file);
    name->trace_id = id_or_none(ft_trace_writer_file(drain->writer, file));
    name->trace_part = drain->part;
    return name->trace_id;
}

uint32_t ft_files_id(struct ft_drain *drain, struct ft_process *process, struct ft_name *name)
{
    if (name->trace_id && name->trace_part == drain->part)
        return name->trace_id;
    struct ft_trace_file file;
    return make_file(drain, process, name, &file);
}

// Whether the call cannot have opened a file that was there before.
static bool is_new_file(const struct ft_record_event *record)
{
    const uint64_t exclusive = O_CREAT | O_EXCL;
    if (record->call >= FT_CALL_ID_mkstemp && record->call <= FT_CALL_ID_mkostemps64)
        return true;
    return record->call >= FT_CALL_ID_open && record->call <= FT_CALL_ID_openat64 && record->has_arg &&
           (record->arg & exclusive) == exclusive;
}

void ft_files_learn_opened(struct ft_drain *drain, struct ft_process *process, const struct ft_record_event *record,
                           const struct ft_event *event)
{
    struct ft_name *name = ft_names_find(&process->names, record->file);
    if (!name)
        return;
    name->is_kept = true;
    name->kind = record->file_kind;
    if (record->has_inode) {
        name->has_inode = name->has_birth = true;
        name->device = record->device;
        name->inode = record->inode;
        uint64_t birth =
            record->flags & FT_CALL_EXACT ? record->birth | FT_BIRTH_EXACT : ft_birth_of_time(record->birth);
        name->birth =
            ft_lives_opened(drain->lives, record->device, record->inode, birth, is_new_file(record), event->start_ns);
    }
    struct ft_trace_file file;
    make_file(drain, process, name, &file);
    if (name->has_inode && name->define == FT_DEFINE_PATH && !name->is_cut) {
        struct ft_lives_file opened = {
            .device = name->device, .inode = name->inode, .birth = name->birth, .kind = name->kind};
        ft_lives_set(drain->lives, file.path, &opened, event->start_ns + event->dur_ns);
    }
    drain->cached_id = 0;
    if (name->is_told)
        ft_names_note_fresh(&process->names, name->id);
}

static uint32_t path_of(struct ft_drain *drain, struct ft_process *process, struct ft_name *name)
{
    ft_names_join(&process->names, name);
    struct ft_bytes path = {.data = name->text, .len = name->bytes_got};
    return name->is_cut ? 0 : id_or_none(ft_trace_writer_name(drain->writer, path));
}

void ft_files_learn_naming(struct ft_drain *drain, struct ft_process *process, const struct ft_record_event *record,
                           const struct ft_event *event)
{
    struct ft_name *name = ft_names_find(&process->names, record->file);
    struct ft_name *name2 = ft_names_find(&process->names, record->file2);
    bool has_two = record->call >= FT_CALL_ID_rename && record->call <= FT_CALL_ID_linkat;
    if (!name || event->err || (has_two && !name2))
        return;
    int64_t end_ns = event->start_ns + event->dur_ns;
    uint32_t path = path_of(drain, process, name);
    if (!has_two) {
        ft_lives_unlink(drain->lives, path, end_ns);
        return;
    }
    const struct ft_lives_file *known = ft_lives_find(drain->lives, path, drain->asked_ns);
    struct ft_lives_file file = known ? *known
                                      : (struct ft_lives_file){.device = name->device,
                                                               .inode = name->has_inode ? name->inode : 0,
                                                               .birth = name->birth,
                                                               .kind = name->kind};
    uint32_t to = path_of(drain, process, name2);
    drain->asked_ns = INT64_MAX; // the second path is what it became
    if (record->call == FT_CALL_ID_link || record->call == FT_CALL_ID_linkat)
        ft_lives_link(drain->lives, file.inode ? &file : NULL, to, end_ns);
    else
        ft_lives_rename(drain->lives, file.inode ? &file : NULL, path, to,
                        record->call == FT_CALL_ID_renameat2 && record->arg & RENAME_EXCHANGE, end_ns);
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
