// One row of the table of parameters. The rows themselves are in table.hpp, which is generated from parameters.json.
#ifndef MENISCUS_NODE_ROW_HPP
#define MENISCUS_NODE_ROW_HPP

#include <cstring>
#include <string>

namespace meniscus::node {

enum class Type { Float, Int, Bool, Menu, Vector, Text, File, Folder, Button, Label };
/// What a row belongs to: the whole scene, or each object of a kind.
enum class Of { Scene, Source, Collider, Body };
/// What a change of the value does; README.md explains the words.
enum class Effect { Simulation, Input, Export, Run, Cache, Display, Fill, Action };

struct Row {
    const char *name;
    const char *houdini;
    const char *label;
    const char *unit;
    Type type;
    Of of;
    Effect effect;
    bool animated;
    /// Place in the scene; empty if it has none.
    const char *path;
    double factor;
    bool has_absent;
    double absent;
    double number[3];
    const char *text;
    /// Words of a menu, ended by a null pointer.
    const char *const *items;
    const char *attribute;
    bool for_houdini;
    bool for_blender;

    bool is_text() const { return type == Type::Menu || type == Type::Text || type == Type::File || type == Type::Folder; }
    /// An item of a menu by its number; the default for a number that the menu does not have, as old scenes may.
    const char *item(long long index) const {
        for (long long i = 0; items && items[i]; ++i)
            if (i == index) return items[i];
        return text;
    }
    int width() const { return type == Type::Vector ? 3 : 1; }
};

/// What choosing an item of a menu sets in another parameter.
struct Fill {
    const char *menu, *item, *name;
    double value;
};

/// A value of a parameter: numbers or a word.
struct Value {
    double x[3] = {0, 0, 0};
    std::string text;

    Value() = default;
    Value(double number) : x{number, 0, 0} {}
    Value(double a, double b, double c) : x{a, b, c} {}
    Value(const char *word) : text(word) {}
    Value(const std::string &word) : text(word) {}
    static Value of_default(const Row &row) {
        Value value(row.number[0], row.number[1], row.number[2]);
        value.text = row.text;
        return value;
    }
    bool operator==(const Value &o) const {
        return std::memcmp(x, o.x, sizeof x) == 0 && text == o.text;
    }
    bool operator!=(const Value &o) const { return !(*this == o); }
};

} // namespace meniscus::node

#endif
