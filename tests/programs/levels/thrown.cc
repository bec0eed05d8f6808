// SPDX-License-Identifier: MIT
// Exceptions that pass through calls of the library, from its callbacks; and what a thread's end unwinds.
extern "C" {
long lib_sorted(long (*call)(void *), void *data);
int lib_recursive(int depth, int (*next)(int));
}

#include <cstdio>
#include <execinfo.h>
#include <pthread.h>
#include <stdexcept>

static int destroyed;

struct Guard {
    ~Guard()
    {
        destroyed++;
    }
};

static long thrower(void *data)
{
    Guard guard;
    if (*static_cast<int *>(data) >= 0)
        throw std::runtime_error("out of it");
    return 1;
}

static int deeper(int depth)
{
    Guard guard;
    if (depth == 1)
        throw depth;
    return lib_recursive(depth, deeper);
}

static long catcher(void *data)
{
    try {
        return lib_sorted(thrower, data);
    } catch (const std::exception &e) {
        return e.what()[0];
    }
}

static void *ending(void *)
{
    Guard guard;
    lib_sorted([](void *) -> long { pthread_exit(nullptr); }, nullptr);
    return nullptr;
}

static long traced_back(void *data)
{
    void *frames[64];
    *static_cast<int *>(data) = backtrace(frames, 64);
    return 0;
}

int main()
{
    long sum = 0;
    int none = -1, depth = 0, frames;
    for (int i = 0; i < 300; i++) {
        sum += lib_sorted(catcher, &i);
        try {
            lib_recursive(5 + i % 50, deeper);
        } catch (int found) {
            depth += found;
        }
    }
    sum += lib_sorted(thrower, &none);
    for (int i = 0; i < 20; i++) {
        pthread_t id;
        pthread_create(&id, nullptr, ending, nullptr);
        pthread_join(id, nullptr);
    }
    lib_sorted(traced_back, &frames);
    std::printf("%ld %d %d %d\n", sum, depth, destroyed, frames > 4);
    std::fflush(stdout);
    std::fprintf(stderr, "%d\n", 300 + 1 + 1);
}
