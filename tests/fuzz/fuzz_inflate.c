// SPDX-License-Identifier: MIT
//
// Our inflate beside zlib's, on any bytes: both take the same streams, and give the
// same bytes of them. The input is a byte that says where it is cut in two, and two
// streams, which are inflated alone and together.
#include "proto/inflate.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OUT_MAX ((size_t)1 << 18)

// A stream in memory of its own, and what zlib makes of it.
struct case_of {
    uint8_t *bytes, *wanted, *out;
    size_t len, out_len;
    bool is_good;
};

static void require(bool is_so, const char *what)
{
    if (is_so)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

static void *copy(const void *from, size_t len)
{
    void *to = malloc(len ? len : 1);

    require(to != NULL, "memory");
    if (len)
        memcpy(to, from, len);
    return to;
}

static struct case_of begin(const uint8_t *data, size_t size)
{
    struct case_of this = {.bytes = copy(data, size), .len = size};
    static uint8_t all[OUT_MAX];
    z_stream stream = {.next_in = (Bytef *)data, .avail_in = (uInt)size, .next_out = all, .avail_out = OUT_MAX};
    int rc;

    require(inflateInit(&stream) == Z_OK, "memory");
    inflateValidate(&stream, 0);
    rc = inflate(&stream, Z_FINISH);
    // zlib gives what it has before it sees that the rest is bad.
    this.is_good = rc == Z_STREAM_END && stream.avail_in == 0;
    this.out_len = OUT_MAX - stream.avail_out;
    this.wanted = copy(all, this.out_len);
    this.out = malloc(this.out_len + 1);
    require(this.out != NULL, "memory");
    inflateEnd(&stream);
    return this;
}

static void end(struct case_of *this)
{
    free(this->bytes);
    free(this->wanted);
    free(this->out);
}

// Into memory of exactly so many bytes.
static bool is_taken(struct ft_inflater *inflater, const struct case_of *this, size_t out_len)
{
    uint8_t *out = malloc(out_len ? out_len : 1);
    struct ft_inflate_stream stream = {.bytes = this->bytes, .len = this->len, .out = out, .out_len = out_len};
    bool is_good = ft_inflate(inflater, &stream, 1) == 0;

    require(!is_good || out_len != this->out_len || memcmp(out, this->wanted, out_len) == 0, "bytes of one");
    free(out);
    return is_good;
}

static void together(struct ft_inflater *inflater, struct case_of *a, struct case_of *b)
{
    struct ft_inflate_stream streams[] = {
        {.bytes = a->bytes, .len = a->len, .out = copy(a->wanted, a->out_len), .out_len = a->out_len},
        {.bytes = b->bytes, .len = b->len, .out = copy(b->wanted, b->out_len), .out_len = b->out_len}};
    int rc;

    memset(streams[0].out, 0x5a, a->out_len);
    memset(streams[1].out, 0x5a, b->out_len);
    rc = ft_inflate(inflater, streams, 2);
    require((rc == 0) == (a->is_good && b->is_good), "both are taken");
    require(rc || memcmp(streams[0].out, a->wanted, a->out_len) == 0, "bytes of the first");
    require(rc || memcmp(streams[1].out, b->wanted, b->out_len) == 0, "bytes of the second");
    free(streams[0].out);
    free(streams[1].out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ft_inflater *inflater;
    struct case_of a, b;
    size_t cut;

    if (!inflater)
        inflater = ft_inflater_create();
    if (size < 1)
        return 0;
    cut = (size - 1) * data[0] / 255;
    a = begin(data + 1, cut);
    b = begin(data + 1 + cut, size - 1 - cut);
    require(is_taken(inflater, &a, a.out_len) == a.is_good, "one is taken");
    require(!is_taken(inflater, &a, a.out_len + 1), "too few bytes");
    require(a.out_len == 0 || !a.is_good || !is_taken(inflater, &a, a.out_len - 1), "too many bytes");
    together(inflater, &a, &b);
    together(inflater, &b, &a);
    end(&a);
    end(&b);
    return 0;
}
