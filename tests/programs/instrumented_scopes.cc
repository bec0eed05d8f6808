// SPDX-License-Identifier: MIT
// C++ functions as spans: members, templates, overloads, exceptions that leave several of them.
// CFLAGS: -O0 -fPIE -finstrument-functions
// LDFLAGS: -pie -lflowtap-functions -Wl,--build-id=sha1
#include <cstdio>
#include <stdexcept>

namespace shapes
{

struct circle {
    int radius;
    int area() const
    {
        return 3 * radius * radius;
    }
};

template <typename number> number twice(number x)
{
    return x + x;
}

static void thrower(int depth)
{
    if (depth == 0)
        throw std::runtime_error("out of four functions");
    thrower(depth - 1);
}

} // namespace shapes

int main()
{
    int sum = shapes::circle{2}.area() + shapes::twice(3) + static_cast<int>(shapes::twice(1.5));
    try {
        shapes::thrower(3);
    } catch (const std::runtime_error &) {
        sum++;
    }
    std::printf("%d\n", sum);
    return 0;
}
