// The little JSON that a node needs: build a scene by paths, read a report. Numbers are written so that they are read
// back to the same bits.
#ifndef MENISCUS_NODE_JSON_HPP
#define MENISCUS_NODE_JSON_HPP

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace meniscus::node {

class Json {
public:
    enum class Kind { Null, Bool, Number, Text, List, Object };

    Json() = default;
    Json(double number) : kind_(Kind::Number), number_(number) {}
    Json(bool on) : kind_(Kind::Bool), number_(on) {}
    Json(const char *text) : kind_(Kind::Text), text_(text) {}
    Json(const std::string &text) : kind_(Kind::Text), text_(text) {}
    static Json list(std::vector<Json> items = {}) {
        Json json;
        json.kind_ = Kind::List;
        json.items_ = std::move(items);
        return json;
    }

    Kind kind() const { return kind_; }
    double number() const { return number_; }
    const std::string &text() const { return text_; }
    const std::vector<Json> &items() const { return items_; }
    void push(Json item) {
        kind_ = Kind::List;
        items_.push_back(std::move(item));
    }
    /// A member, made if it is not there.
    Json &operator[](const std::string &key) {
        kind_ = Kind::Object;
        for (std::size_t i = 0; i < keys_.size(); ++i)
            if (keys_[i] == key) return items_[i];
        keys_.push_back(key);
        items_.emplace_back();
        return items_.back();
    }
    /// A member, or null.
    const Json &get(const std::string &key) const {
        static const Json none;
        for (std::size_t i = 0; i < keys_.size(); ++i)
            if (keys_[i] == key) return items_[i];
        return none;
    }
    /// The place of a path as liquids[0].viscosity; objects and lists on the way are made.
    Json &at(const std::string &path) {
        Json *here = this;
        for (std::size_t begin = 0; begin <= path.size();) {
            std::size_t end = path.find('.', begin);
            if (end == std::string::npos) end = path.size();
            const std::string part = path.substr(begin, end - begin);
            const std::size_t bracket = part.find('[');
            here = &(*here)[part.substr(0, bracket)];
            if (bracket != std::string::npos) {
                const std::size_t index = std::strtoul(part.c_str() + bracket + 1, nullptr, 10);
                here->kind_ = Kind::List;
                if (here->items_.size() <= index) here->items_.resize(index + 1);
                here = &here->items_[index];
            }
            begin = end + 1;
        }
        return *here;
    }

    std::string dump() const {
        std::string out;
        write(out, 0);
        return out + "\n";
    }

    /// Read a text; throws std::runtime_error if it is not JSON.
    static Json parse(const std::string &text) {
        const char *at = text.c_str();
        Json json = read(at, 0);
        skip(at);
        if (*at) throw std::runtime_error("text after the end of the JSON");
        return json;
    }

private:
    void write(std::string &out, int depth) const {
        char number[40];
        switch (kind_) {
        case Kind::Null: out += "null"; break;
        case Kind::Bool: out += number_ != 0 ? "true" : "false"; break;
        case Kind::Number:
            std::snprintf(number, sizeof number, "%.17g", number_);
            out += number;
            break;
        case Kind::Text: quote(out, text_); break;
        default: write_items(out, depth);
        }
    }
    void write_items(std::string &out, int depth) const {
        const bool object = kind_ == Kind::Object;
        // What holds only numbers and words stays on its line.
        bool wide = false;
        for (const Json &item : items_) wide = wide || item.kind_ == Kind::Object || item.kind_ == Kind::List;
        const std::string line = wide ? "\n" + std::string(2 * static_cast<std::size_t>(depth + 1), ' ') : "";
        out += object ? '{' : '[';
        for (std::size_t i = 0; i < items_.size(); ++i) {
            out += i ? (wide ? "," : ", ") : "";
            out += line;
            if (object) {
                quote(out, keys_[i]);
                out += ": ";
            }
            items_[i].write(out, depth + 1);
        }
        if (wide) out += "\n" + std::string(2 * static_cast<std::size_t>(depth), ' ');
        out += object ? '}' : ']';
    }
    static void quote(std::string &out, const std::string &text) {
        out += '"';
        for (char c : text) {
            char escape[8];
            if (c == '"' || c == '\\') {
                out += '\\';
                out += c;
            } else if (static_cast<unsigned char>(c) < 0x20) {
                std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
                out += escape;
            } else {
                out += c;
            }
        }
        out += '"';
    }

    static void skip(const char *&at) {
        while (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r') ++at;
    }
    static void expect(const char *&at, char wanted) {
        skip(at);
        if (*at != wanted) throw std::runtime_error(std::string("expected ") + wanted + " in the JSON");
        ++at;
    }
    static Json read(const char *&at, int depth) {
        if (depth > 64) throw std::runtime_error("the JSON is nested too deep");
        skip(at);
        Json json;
        if (*at == '{' || *at == '[') return read_items(at, depth);
        if (*at == '"') return Json(read_text(at));
        for (const char *word : {"true", "false", "null"}) {
            const std::string w(word);
            if (std::string(at, std::char_traits<char>::length(at) < w.size() ? 0 : w.size()) == w) {
                at += w.size();
                return w == "null" ? Json() : Json(w == "true");
            }
        }
        char *end = nullptr;
        const double number = std::strtod(at, &end);
        if (end == at) throw std::runtime_error("a value is missing in the JSON");
        at = end;
        return Json(number);
    }
    static Json read_items(const char *&at, int depth) {
        Json json;
        const bool object = *at++ == '{';
        json.kind_ = object ? Kind::Object : Kind::List;
        const char close = object ? '}' : ']';
        skip(at);
        while (*at != close) {
            if (object) {
                skip(at);
                json.keys_.push_back(read_text(at));
                expect(at, ':');
            }
            json.items_.push_back(read(at, depth + 1));
            skip(at);
            if (*at != close) expect(at, ',');
        }
        ++at;
        return json;
    }
    static std::string read_text(const char *&at) {
        if (*at != '"') throw std::runtime_error("a word is missing in the JSON");
        std::string text;
        for (++at; *at && *at != '"'; ++at) {
            if (*at != '\\') {
                text += *at;
                continue;
            }
            switch (*++at) {
            case 'n': text += '\n'; break;
            case 't': text += '\t'; break;
            case 'u': // Messages are read for people: what is not ASCII came as UTF-8 already.
                text += '?';
                for (int i = 0; i < 4 && at[1]; ++i) ++at;
                break;
            case 0: throw std::runtime_error("the JSON ends in a word");
            default: text += *at;
            }
        }
        if (*at != '"') throw std::runtime_error("the JSON ends in a word");
        ++at;
        return text;
    }

    Kind kind_ = Kind::Null;
    double number_ = 0;
    std::string text_;
    std::vector<Json> items_;
    std::vector<std::string> keys_;
};

} // namespace meniscus::node

#endif
