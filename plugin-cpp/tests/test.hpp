// A test is a sentence and a body. The runner says which sentences do not hold; an argument picks those that contain it.
#ifndef MENISCUS_PLUGIN_TEST_HPP
#define MENISCUS_PLUGIN_TEST_HPP

#include <chrono>
#include <cstdio>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace test {

struct Test {
    const char *name;
    void (*body)();
};
inline std::vector<Test> &all() {
    static std::vector<Test> tests;
    return tests;
}
struct Add {
    Add(const char *name, void (*body)()) { all().push_back({name, body}); }
};

[[noreturn]] inline void fail(const char *file, int line, const std::string &what) {
    throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

inline int run(int argc, char **argv) {
    int failed = 0, ran = 0;
    for (const Test &t : all()) {
        if (argc > 1 && std::string(t.name).find(argv[1]) == std::string::npos) continue;
        const auto begin = std::chrono::steady_clock::now();
        std::string fault;
        try {
            t.body();
        } catch (const std::exception &e) {
            fault = e.what();
        }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        std::printf("%s %s (%.2f s)%s%s\n", fault.empty() ? "ok    " : "FAILED", t.name, took.count(),
                    fault.empty() ? "" : "\n       ", fault.c_str());
        std::fflush(stdout);
        ++ran;
        failed += !fault.empty();
    }
    std::printf("%d passed, %d failed\n", ran - failed, failed);
    return failed || ran == 0;
}

} // namespace test

#define TEST(name)                                                                                                                 \
    static void name();                                                                                                            \
    static const test::Add add_##name(#name, name);                                                                                \
    static void name()
#define CHECK(condition)                                                                                                           \
    do {                                                                                                                           \
        if (!(condition)) test::fail(__FILE__, __LINE__, #condition);                                                              \
    } while (false)
#define CHECK_EQ(a, b)                                                                                                             \
    do {                                                                                                                           \
        std::ostringstream said;                                                                                                   \
        said << #a " is " << (a) << ", expected " << (b);                                                                          \
        if (!((a) == (b))) test::fail(__FILE__, __LINE__, said.str());                                                             \
    } while (false)

#endif
