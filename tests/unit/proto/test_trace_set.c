// SPDX-License-Identifier: MIT
#include "cmocka_all.h"
#include "proto/trace_set_impl.h"
#include "trace_make.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/test_trace_set.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static int remove_folder(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static char *path_of(const char *name)
{
    static char paths[8][256];
    static unsigned next;
    char *path = paths[next++ % 8];

    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const void *data, size_t len)
{
    FILE *file = fopen(path_of(name), "w");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, len, file), len);
    fclose(file);
}

struct part {
    const char *name, *host;
    uint32_t part;
    uint64_t segment;
    uint64_t emitted;
    int64_t offset_ns;
    uint64_t inode;
};

// A file with a parent process, a child, a thread of it, one file and one event.
static void write_part(const struct part *part)
{
    struct ft_trace_header header = full_header();
    struct ft_trace_writer *writer;
    struct ft_trace_process parent = {.pid = 10, .start_ns = 1000, .segment = 99};
    struct ft_trace_process child = {
        .pid = 11, .start_ns = 2000, .parent = 1, .segment = part->segment, .emitted = part->emitted};
    struct ft_trace_file file = {.kind = FT_FILE_KIND_REGULAR, .dev = 1, .inode = part->inode};
    struct ft_event event = {.thread = 1, .file = 1, .fd = 3, .start_ns = 5000 + part->part, .dur_ns = 10};
    struct made made;
    char path[64];

    header.host = FT_BYTES(part->host);
    header.part = part->part;
    header.realtime_offset_ns = part->offset_ns;
    assert_int_equal(ft_trace_writer_create(&header, NULL, &writer), 0);
    assert_int_equal(ft_trace_writer_new_process(writer, &parent), 1);
    assert_int_equal(ft_trace_writer_new_process(writer, &child), 2);
    assert_int_equal(ft_trace_writer_new_thread(writer, &(struct ft_trace_thread){.process = 2, .tid = 11}), 1);
    snprintf(path, sizeof(path), "/data/%u", part->part);
    file.path = (uint32_t)ft_trace_writer_name(writer, FT_BYTES(path));
    assert_int_equal(ft_trace_writer_file(writer, &file), 1);
    assert_int_equal(ft_trace_writer_add(writer, &event), 0);
    assert_int_equal(ft_trace_writer_end_block(writer, NULL, 0), 0);
    assert_int_equal(ft_trace_writer_finish(writer), 0);
    made = take(writer);
    ft_trace_writer_destroy(writer);
    write_file(part->name, made.data, made.len);
    free(made.data);
}

static struct ft_trace_set *open_folder(void)
{
    const char *paths[] = {folder};
    struct ft_trace_set *set;

    assert_int_equal(ft_trace_set_open(paths, 1, NULL, &set, NULL), 0);
    return set;
}

static void parts_and_hosts_become_one_job(void **state)
{
    static const struct part parts[] = {
        {"b-2.flow", "b", 2, 7, 200, 5000000000, 50}, // written first, read after b-1
        {"b-1.flow", "b", 1, 7, 100, 5000000000, 50},
        {"deep/er/a-1.flow", "a", 1, 7, 1, 6000000000, 50},
    };
    const struct ft_trace_set_process *process;
    struct ft_trace_set *set;
    int64_t start, end;
    uint32_t index;
    size_t count;

    (void)state;
    assert_int_equal(mkdir(path_of("deep"), 0700), 0);
    assert_int_equal(mkdir(path_of("deep/er"), 0700), 0);
    for (size_t i = 0; i < 3; i++)
        write_part(&parts[i]);
    write_file("notes.txt", "no trace", 8);
    assert_int_equal(symlink("/", path_of("loop")), 0);
    set = open_folder();
    assert_false(ft_trace_set_is_partial(set));
    assert_int_equal(ft_trace_set_reader_count(set), 3);
    assert_int_equal(ft_trace_set_events(set), 3);
    assert_int_equal(ft_trace_set_host_count(set), 2);
    assert_int_equal(ft_trace_set_host_name(set, 0).len, 1);
    assert_memory_equal(ft_trace_set_host_name(set, ft_trace_set_reader_host(set, 1)).data, "b", 1);
    // Parent and child on each host.
    assert_int_equal(ft_trace_set_process_count(set), 4);
    index = ft_trace_set_process_of(set, 1, 2);
    assert_int_equal(index, ft_trace_set_process_of(set, 2, 2));
    assert_int_equal(index, ft_trace_set_process_of_thread(set, 1, 1));
    process = ft_trace_set_process(set, index);
    assert_int_equal(process->record->emitted, 200);
    assert_int_equal(process->host, 1);
    assert_int_equal(process->parent, ft_trace_set_process_of(set, 1, 1));
    assert_int_equal(ft_trace_set_process(set, process->parent)->parent, FT_TRACE_SET_NONE);
    assert_int_equal(ft_trace_set_process_of(set, 1, 3), FT_TRACE_SET_NONE);
    assert_int_equal(ft_trace_set_thread_count(set), 2);
    assert_int_equal(ft_trace_set_thread(set, 1, 1), ft_trace_set_thread(set, 2, 1));
    // One inode on each host; the first path is the name.
    assert_int_equal(ft_trace_set_file_count(set), 2);
    index = ft_trace_set_file_of(set, 2, 1);
    assert_string_equal(ft_trace_set_file(set, index)->path.data, "/data/1");
    assert_int_equal(ft_trace_set_realtime_ns(set, 0, 5), 6000000005);
    assert_true(ft_trace_set_span(set, &start, &end));
    assert_int_equal(start, 5000001000);
    assert_int_equal(end, 6000005011);
    ft_trace_set_blocks(set, &count);
    assert_int_equal(count, 3);
    ft_trace_set_close(set);
}

static void the_same_file_twice_is_read_once(void **state)
{
    const char *paths[] = {path_of("b-1.flow"), folder, path_of("b-1.flow")};
    struct ft_trace_set *set;

    (void)state;
    assert_int_equal(ft_trace_set_open(paths, 3, NULL, &set, NULL), 0);
    assert_int_equal(ft_trace_set_reader_count(set), 3);
    ft_trace_set_close(set);
}

static void what_cannot_be_opened_is_named(void **state)
{
    const char *missing[] = {path_of("b-1.flow"), path_of("missing.flow")};
    const char *text[] = {path_of("notes.txt")};
    const char *empty[] = {path_of("empty")};
    const char *fakes[] = {path_of("fakes")};
    struct ft_trace_set_error error;
    struct ft_trace_set *set;

    (void)state;
    assert_int_equal(ft_trace_set_open(missing, 2, NULL, &set, &error), -ENOENT);
    assert_string_equal(error.path, missing[1]);
    assert_int_equal(error.error, -ENOENT);
    free(error.path);
    assert_int_equal(ft_trace_set_open(text, 1, NULL, &set, &error), -EBADMSG);
    assert_string_equal(error.path, text[0]);
    free(error.path);
    assert_int_equal(mkdir(empty[0], 0700), 0);
    assert_int_equal(ft_trace_set_open(empty, 1, NULL, &set, &error), -ENODATA);
    free(error.path);
    assert_int_equal(mkdir(fakes[0], 0700), 0);
    write_file("fakes/a.flow", "this is not one", 15);
    assert_int_equal(ft_trace_set_open(fakes, 1, NULL, &set, &error), -EBADMSG);
    assert_string_equal(error.path, path_of("fakes/a.flow"));
    free(error.path);
    assert_int_equal(remove(path_of("fakes/a.flow")), 0);
    assert_int_equal(ft_trace_set_open(text, 1, NULL, &set, NULL), -EBADMSG);
}

static void a_folder_with_something_else_is_partial(void **state)
{
    const struct ft_trace_set_unreadable *unreadable;
    size_t unreadable_count;
    struct ft_trace_set *set;

    (void)state;
    write_file("fake.flow", "this is not one", 15);
    write_file("zero.flow", "", 0);
    set = open_folder();
    assert_true(ft_trace_set_is_partial(set));
    unreadable = ft_trace_set_unreadable(set, &unreadable_count);
    assert_int_equal(unreadable_count, 1);
    assert_string_equal(unreadable[0].path, path_of("fake.flow"));
    assert_int_equal(unreadable[0].error, -EBADMSG);
    assert_int_equal(ft_trace_set_reader_count(set), 4);
    assert_int_equal(ft_trace_set_events(set), 3);
    ft_trace_set_close(set);
}

static void blocks_are_read_from_files_that_are_opened_again(void **state)
{
    struct ft_trace_decoder *decoder;
    struct ft_trace_set *set;
    const struct ft_trace_set_block *blocks;
    size_t count;

    (void)state;
    set = open_folder();
    blocks = ft_trace_set_blocks(set, &count);
    assert_int_equal(ft_trace_decoder_create(&decoder), 0);
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < count; i++) {
            const struct ft_trace_reader *reader = ft_trace_set_reader(set, blocks[i].reader);
            struct ft_rows rows;
            int rc = ft_trace_decoder_rows(decoder, reader, blocks[i].block, FT_COL_ALL, &rows);

            if (round == 0 || strstr(ft_trace_reader_path(reader), "a-1"))
                assert_int_equal(rc, 0);
            else
                assert_int_equal(rc, strstr(ft_trace_reader_path(reader), "b-1") ? -ENOENT : -ESTALE);
        }
        // Another file in the place of one.
        assert_int_equal(rename(path_of("b-1.flow"), path_of("b-2.flow")), round ? -1 : 0);
    }
    ft_trace_decoder_destroy(decoder);
    ft_trace_set_close(set);
}

enum { LIKES = 3000, LIKE_HOSTS = 60 };

// A host's files, alike but for one thing; every host has the same.
static void write_likes(const char *name, const char *host)
{
    struct ft_trace_header header = full_header();
    struct ft_trace_writer *writer;
    struct made made;
    char text[64];

    header.host = FT_BYTES(host);
    header.part = 1;
    assert_int_equal(ft_trace_writer_create(&header, NULL, &writer), 0);
    for (uint32_t i = 0; i < 3 * (LIKES / LIKE_HOSTS); i++) {
        struct ft_trace_file file = {.kind = FT_FILE_KIND_REGULAR};

        snprintf(text, sizeof(text), "/mnt/%u", i);
        file.path = (uint32_t)ft_trace_writer_name(writer, FT_BYTES(text));
        if (i % 3 == 0) { // one inode below many mounts
            file.dev = file.inode = 1;
            file.mount = file.path;
        } else if (i % 3 == 1) { // many inodes below one
            file.dev = 1;
            file.inode = 2 + i;
        } // else many paths
        assert_int_equal(ft_trace_writer_file(writer, &file), i + 1);
    }
    assert_int_equal(ft_trace_writer_finish(writer), 0);
    made = take(writer);
    ft_trace_writer_destroy(writer);
    write_file(name, made.data, made.len);
    free(made.data);
}

static void work_goes_with_the_files_whatever_they_differ_in(void **state)
{
    const char *paths[1];
    struct ft_trace_set *set;
    char name[32], host[32];

    (void)state;
    assert_int_equal(mkdir(path_of("likes"), 0700), 0);
    for (uint32_t i = 0; i < LIKE_HOSTS; i++) {
        snprintf(name, sizeof(name), "likes/%u.flow", i);
        snprintf(host, sizeof(host), "host%u", i);
        write_likes(name, host);
    }
    paths[0] = path_of("likes");
    assert_int_equal(ft_trace_set_open(paths, 1, NULL, &set, NULL), 0);
    assert_int_equal(ft_trace_set_file_count(set), 3 * LIKES);
    // At most half full, a table passes by less than one for each.
    assert_in_range(set->file_probes, 1, 2 * 3 * LIKES);
    ft_trace_set_close(set);
}

static void one_inode_below_many_mounts_of_one_host(void **state)
{
    const char *paths[] = {path_of("mounts.flow")};
    struct ft_trace_header header = full_header();
    struct ft_trace_file file = {.kind = FT_FILE_KIND_REGULAR, .dev = 1, .inode = 1};
    struct ft_trace_writer *writer;
    struct ft_trace_set *set;
    struct made made;
    char text[64];

    (void)state;
    assert_int_equal(ft_trace_writer_create(&header, NULL, &writer), 0);
    for (uint32_t i = 0; i < LIKES; i++) {
        snprintf(text, sizeof(text), "/mnt/%u", i);
        file.path = file.mount = (uint32_t)ft_trace_writer_name(writer, FT_BYTES(text));
        assert_int_equal(ft_trace_writer_file(writer, &file), i + 1);
    }
    assert_int_equal(ft_trace_writer_finish(writer), 0);
    made = take(writer);
    ft_trace_writer_destroy(writer);
    write_file("mounts.flow", made.data, made.len);
    free(made.data);
    assert_int_equal(ft_trace_set_open(paths, 1, NULL, &set, NULL), 0);
    assert_int_equal(ft_trace_set_file_count(set), LIKES);
    assert_in_range(set->file_probes, 1, 2 * LIKES);
    ft_trace_set_close(set);
}

static void one_inode_of_files_born_one_after_the_other(void **state)
{
    const char *paths[] = {path_of("births.flow")};
    const uint64_t time_ns = UINT64_C(5) << 32;
    const struct {
        uint64_t inode, birth;
        uint32_t same_as; // the first id of that file
    } files[] = {{1, 0, 1},
                 {1, 7, 1},
                 {1, 8, 3},
                 {1, 7, 1},
                 {2, 0, 5},
                 {3, 9, 6},
                 {1, 0, 1},
                 {3, 0, 6},
                 {4, ft_birth_of_time(time_ns + 7), 9}, // of a process that did not know more
                 {4, ft_birth_of_generation(time_ns, 3), 9},
                 {4, ft_birth_of_generation(time_ns, 4), 11},
                 {4, ft_birth_of_time(time_ns), 9},
                 {4, ft_birth_of_time(time_ns * 2), 13},
                 {4, 0, 9},
                 {4, ft_birth_of_generation(time_ns, 3), 9}};
    const uint32_t count = sizeof(files) / sizeof(files[0]);
    struct ft_trace_header header = full_header();
    struct ft_trace_file file = {.kind = FT_FILE_KIND_REGULAR, .dev = 1};
    char text[64];
    struct ft_trace_writer *writer;
    struct ft_trace_set *set;
    struct made made;

    (void)state;
    assert_int_equal(ft_trace_writer_create(&header, NULL, &writer), 0);
    for (uint32_t i = 0; i < count; i++) {
        snprintf(text, sizeof(text), "/name%u", i + 1);
        file.path = (uint32_t)ft_trace_writer_name(writer, FT_BYTES(text));
        file.inode = files[i].inode;
        file.birth = files[i].birth;
        assert_int_equal(ft_trace_writer_file(writer, &file), i + 1);
    }
    assert_int_equal(ft_trace_writer_finish(writer), 0);
    made = take(writer);
    ft_trace_writer_destroy(writer);
    write_file("births.flow", made.data, made.len);
    free(made.data);
    assert_int_equal(ft_trace_set_open(paths, 1, NULL, &set, NULL), 0);
    assert_int_equal(ft_trace_set_file_count(set), 7);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < count; k++)
            assert_int_equal(ft_trace_set_file_of(set, 0, i + 1) == ft_trace_set_file_of(set, 0, k + 1),
                             files[i].same_as == files[k].same_as);
    assert_true(ft_trace_set_file(set, ft_trace_set_file_of(set, 0, 1))->record.birth == 7);
    ft_trace_set_close(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_and_hosts_become_one_job),
        cmocka_unit_test(the_same_file_twice_is_read_once),
        cmocka_unit_test(what_cannot_be_opened_is_named),
        cmocka_unit_test(a_folder_with_something_else_is_partial),
        cmocka_unit_test(blocks_are_read_from_files_that_are_opened_again),
        cmocka_unit_test(work_goes_with_the_files_whatever_they_differ_in),
        cmocka_unit_test(one_inode_below_many_mounts_of_one_host),
        cmocka_unit_test(one_inode_of_files_born_one_after_the_other),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
