#include "test.hpp"

int main(int argc, char **argv) { return test::run(argc, argv); }
