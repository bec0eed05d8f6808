// SPDX-License-Identifier: MIT
// LDFLAGS: -lflowtap
// Spans and tags of a C++ program, ended by scopes, returns and exceptions. Its account: annotated.h.
#include "annotated.h"

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{

logged account(int64_t parent, const std::string &tags, const std::string &args = "")
{
    logged one = {};
    one.seq = log_seq();
    one.parent = parent;
    snprintf(one.tags, sizeof(one.tags), "%s", tags.c_str());
    snprintf(one.args, sizeof(one.args), "\"seq\":%lld%s", static_cast<long long>(one.seq), args.c_str());
    one.before = record_now();
    return one;
}

void told(const logged &one, const char *category, const char *name)
{
    log_event("span", category, name, &one, record_now() - one.before, 0);
}

void thrower(int64_t parent)
{
    logged one = account(parent, "\"epoch\":\"1\"");
    try {
        flowtap::span span("cxx", "thrown");
        span.arg("seq", one.seq);
        flowtap::tag step("step", "of no matter");
        throw std::runtime_error("out of it");
    } catch (const std::runtime_error &) {
        /* The tag's object went before the span's. */
    }
    told(one, "cxx", "thrown");
}

int returner(int64_t parent, int n)
{
    logged one = account(parent, "\"epoch\":\"1\"", ",\"n\":" + std::to_string(n));
    {
        flowtap::span span("cxx", "returned");
        span.arg("seq", one.seq).arg("n", n);
        if (n % 2 == 0)
            span.end();
    }
    told(one, "cxx", "returned");
    return n > 0 ? returner(parent, n - 1) : 0;
}

void types()
{
    logged one = account(0, "\"epoch\":\"1\"", ",\"f\":0.5,\"d\":0.25,\"u\":4294967295,\"b\":1,\"s\":\"text\"");
    {
        flowtap::span span("cxx", "types");
        span.arg("seq", one.seq).arg("f", 0.5f).arg("d", 0.25).arg("u", 4294967295u).arg("b", true).arg("s", "text");
    }
    told(one, "cxx", "types");
}

} // namespace

int main()
{
    log_open();
    flowtap_tag("epoch", "1");
    thrower(0);
    logged one = account(0, "\"epoch\":\"1\"");
    {
        flowtap::span outer("cxx", "outer");
        outer.arg("seq", one.seq);
        returner(one.seq, 5);
        FLOWTAP_SCOPE("cxx", "by macro");
    }
    told(one, "cxx", "outer");
    types();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([i] {
            std::string name = "w" + std::to_string(i), tags = "\"worker\":\"" + name + "\"";
            flowtap::tag worker("worker", name.c_str());
            logged own = account(0, tags);
            {
                flowtap::span span("cxx", "worker");
                span.arg("seq", own.seq);
            }
            told(own, "cxx", "worker");
        });
    for (auto &thread : threads)
        thread.join();
    printf("%d\n", flowtap_recording());
    return 0;
}
