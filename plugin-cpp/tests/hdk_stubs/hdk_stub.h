// A stand-in for the few classes of the Houdini Development Kit that the plug-in uses, written from the published class
// reference. Nothing of SideFX's headers is in it. It is just enough to compile the plug-in's source and to cook it: details
// hold points, polygons and attributes in plain vectors, nodes evaluate parameters by functions of time.
#ifndef HDK_STUB_H
#define HDK_STUB_H

#include <openvdb/openvdb.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

using int64 = int64_t;
using exint = int64_t;
using fpreal = double;
using fpreal64 = double;
using GA_Size = int64_t;
using GA_Offset = int64_t;

// ---------------------------------------------------------------- UT
class UT_StringHolder {
public:
    UT_StringHolder(const char *text = "") : myText(text ? text : "") {}
    const char *c_str() const { return myText.c_str(); }

private:
    std::string myText;
};
inline UT_StringHolder operator""_sh(const char *text, std::size_t) { return UT_StringHolder(text); }
using UT_StringRef = UT_StringHolder;
class UT_String {
public:
    const char *c_str() const { return text.c_str(); }
    std::string text;
};
class UT_Vector3 {
public:
    UT_Vector3() : UT_Vector3(0, 0, 0) {}
    UT_Vector3(float x, float y, float z) : vec{x, y, z} {}
    float x() const { return vec[0]; }
    float y() const { return vec[1]; }
    float z() const { return vec[2]; }
    float operator[](int i) const { return vec[i]; }

private:
    float vec[3];
};
class UT_Matrix3D {
public:
    UT_Matrix3D(double a, double b, double c, double d, double e, double f, double g, double h, double i)
        : m{a, b, c, d, e, f, g, h, i} {}
    double m[9];
};
class UT_BoundingBox {
public:
    UT_Vector3 minvec() const { return low; }
    UT_Vector3 maxvec() const { return high; }
    UT_Vector3 low, high;
};
class UT_Thread {
public:
    static int getNumProcessors() { return 2; }
};
class UT_Interrupt {};
class UT_AutoInterrupt {
public:
    explicit UT_AutoInterrupt(const char *) {}
    bool wasInterrupted(int percent = -1) { return stub_escape && stub_escape(percent); }
    /// For tests: whether somebody has pressed Esc.
    static inline std::function<bool(int)> stub_escape;
};

// ---------------------------------------------------------------- GA, GEO, GU
enum GA_AttributeOwner { GA_ATTRIB_VERTEX, GA_ATTRIB_POINT, GA_ATTRIB_PRIMITIVE, GA_ATTRIB_DETAIL };
enum GA_TypeInfo { GA_TYPE_VOID, GA_TYPE_POINT, GA_TYPE_VECTOR };
enum GA_Storage { GA_STORE_INVALID, GA_STORE_INT32, GA_STORE_INT64, GA_STORE_REAL32 };
enum GA_PrimitiveTypeId { GA_PRIMNONE, GA_PRIMPOLY, GA_PRIMPACKED, GA_PRIMVDB };

enum GA_AttributeScope { GA_SCOPE_INVALID, GA_SCOPE_PUBLIC };
enum GA_StorageClass { GA_STORECLASS_INT, GA_STORECLASS_FLOAT, GA_STORECLASS_STRING };

class GA_Attribute {
public:
    const UT_StringHolder &getName() const { return name; }
    int getTupleSize() const { return size; }
    GA_StorageClass getStorageClass() const { return kind; }
    UT_StringHolder name;
    GA_StorageClass kind = GA_STORECLASS_FLOAT;
    void setTypeInfo(GA_TypeInfo info) { type = info; }
    int size = 1;
    GA_TypeInfo type = GA_TYPE_VOID;
    std::vector<double> numbers;
    std::vector<std::string> words;
    /// Of P alone: the detail's positions.
    std::vector<UT_Vector3> *positions = nullptr;
};
class GA_RWAttributeRef {
public:
    explicit GA_RWAttributeRef(GA_Attribute *attribute) : myAttribute(attribute) {}
    GA_Attribute *operator->() const { return myAttribute; }

private:
    GA_Attribute *myAttribute;
};
/// Points of a polygon. The first four need no memory of their own, so that a million polygons cost little more than in
/// Houdini.
class Corners {
public:
    void push_back(GA_Offset point) {
        if (count < 4)
            few[count] = point;
        else
            more.push_back(point);
        ++count;
    }
    std::size_t size() const { return count; }
    GA_Offset operator[](std::size_t i) const { return i < 4 ? few[i] : more[i - 4]; }

private:
    GA_Offset few[4] = {0, 0, 0, 0};
    std::size_t count = 0;
    std::vector<GA_Offset> more;
};
class GEO_Primitive {
public:
    GA_PrimitiveTypeId getTypeId() const { return kind; }
    GA_Offset getMapOffset() const { return offset; }
    GA_Offset getPointOffset(GA_Size) const { return points[0]; }
    virtual ~GEO_Primitive() = default;
    GA_PrimitiveTypeId kind = GA_PRIMPOLY;
    GA_Offset offset = 0;
    Corners points;
};
class GU_PrimPacked : public GEO_Primitive {
public:
    void setLocalTransform(const UT_Matrix3D &m) { std::memcpy(transform, m.m, sizeof transform); }
    double transform[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
};
/// Offsets from 0 on: the stub has no gaps.
class GA_Range {
public:
    explicit GA_Range(GA_Size count) : myCount(count) {}
    struct Iterator {
        GA_Offset at;
        GA_Offset operator*() const { return at; }
        Iterator &operator++() {
            ++at;
            return *this;
        }
        bool operator!=(const Iterator &o) const { return at != o.at; }
    };
    Iterator begin() const { return {0}; }
    Iterator end() const { return {myCount}; }

private:
    GA_Size myCount;
};
/// Attributes of one owner, in a list made on the spot.
class GA_AttributeDict {
public:
    class iterator {
    public:
        explicit iterator(const std::vector<GA_Attribute *> *list) : myList(list) {}
        bool atEnd() const { return at >= myList->size(); }
        iterator &operator++() {
            ++at;
            return *this;
        }
        GA_Attribute *attrib() const { return (*myList)[at]; }

    private:
        const std::vector<GA_Attribute *> *myList;
        std::size_t at = 0;
    };
    iterator begin(GA_AttributeScope = GA_SCOPE_INVALID) const { return iterator(&list); }
    std::vector<GA_Attribute *> list;
};
class GA_PointGroup {
public:
    const UT_StringHolder &getName() const { return name; }
    bool isInternal() const { return false; }
    bool containsOffset(GA_Offset at) const { return members.count(at) > 0; }
    void addOffset(GA_Offset at) { members.insert(at); }
    UT_StringHolder name;
    std::set<GA_Offset> members;
};
class GA_GroupTable {
public:
    template <class Group> class iterator {
    public:
        explicit iterator(const std::map<std::string, Group> &all) : at(all.begin()), end(all.end()) {}
        bool atEnd() const { return at == end; }
        iterator &operator++() {
            ++at;
            return *this;
        }
        const Group *group() const { return &at->second; }

    private:
        typename std::map<std::string, Group>::const_iterator at, end;
    };
};
class GA_PointGroupTable {
public:
    GA_GroupTable::iterator<GA_PointGroup> beginTraverse() const { return GA_GroupTable::iterator<GA_PointGroup>(all); }
    std::map<std::string, GA_PointGroup> all;
};
class GA_Detail {
public:
    virtual ~GA_Detail() = default;
    const GA_AttributeDict &getAttributeDict(GA_AttributeOwner owner) const {
        myDict.list.clear();
        for (auto &a : attributes)
            if (a.first.first == owner) myDict.list.push_back(find(owner, a.first.second.c_str()));
        return myDict;
    }
    const GA_PointGroupTable &pointGroups() const { return myGroups; }
    GA_PointGroup *newPointGroup(const UT_StringHolder &name) {
        GA_PointGroup &made = myGroups.all[name.c_str()];
        made.name = name;
        return &made;
    }
    GA_PointGroup *findPointGroup(const UT_StringRef &name) {
        const auto found = myGroups.all.find(name.c_str());
        return found == myGroups.all.end() ? nullptr : &found->second;
    }
    GA_RWAttributeRef addTuple(GA_Storage storage, GA_AttributeOwner owner, const UT_StringRef &name, int size) {
        GA_Attribute &a = attributes[{owner, name.c_str()}];
        a.size = size;
        a.name = name;
        const std::size_t count = elements(owner);
        a.numbers.resize(count * std::size_t(size));
        a.words.resize(count);
        a.kind = storage == GA_STORE_REAL32 ? GA_STORECLASS_FLOAT : storage == GA_STORE_INVALID ? GA_STORECLASS_STRING : GA_STORECLASS_INT;
        return GA_RWAttributeRef(&a);
    }
    GA_RWAttributeRef addFloatTuple(GA_AttributeOwner owner, const UT_StringRef &name, int size) {
        return addTuple(GA_STORE_REAL32, owner, name, size);
    }
    GA_RWAttributeRef addStringTuple(GA_AttributeOwner owner, const UT_StringRef &name, int size) {
        return addTuple(GA_STORE_INVALID, owner, name, size);
    }
    GA_Attribute *find(GA_AttributeOwner owner, const char *name) const {
        const auto found = attributes.find({owner, name});
        if (found == attributes.end()) return nullptr;
        GA_Attribute &a = found->second;
        a.numbers.resize(elements(owner) * std::size_t(a.size));
        a.words.resize(elements(owner));
        return &a;
    }
    std::size_t elements(GA_AttributeOwner owner) const {
        return owner == GA_ATTRIB_POINT ? positions.size() : owner == GA_ATTRIB_PRIMITIVE ? primitives.size() : 1;
    }
    GA_Attribute *getP() {
        myP.positions = &positions;
        return &myP;
    }
    GA_Offset appendPointBlock(GA_Size count) {
        const GA_Offset start = GA_Offset(positions.size());
        positions.resize(positions.size() + std::size_t(count));
        return start;
    }
    int64 getUniqueId() const { return unique; }
    int64 getMetaCacheCount() const { return changes; }
    void bumpAllDataIds() { ++changes; }
    GA_Range getPointRange() const { return GA_Range(GA_Size(positions.size())); }
    GA_Range getPrimitiveRange() const { return GA_Range(GA_Size(primitives.size())); }
    GA_Size getNumPoints() const { return GA_Size(positions.size()); }
    GA_Size getNumPrimitives() const { return GA_Size(primitives.size()); }
    GA_Size getPrimitiveVertexCount(GA_Offset prim) const { return GA_Size(primitives[std::size_t(prim)]->points.size()); }
    GA_Offset getPrimitiveVertexOffset(GA_Offset prim, GA_Size i) const { return prim * 1000 + i; }
    GA_Offset vertexPoint(GA_Offset vertex) const { return primitives[std::size_t(vertex / 1000)]->points[std::size_t(vertex % 1000)]; }
    UT_Vector3 getPos3(GA_Offset point) const { return positions[std::size_t(point)]; }
    void setPos3(GA_Offset point, const UT_Vector3 &p) { positions[std::size_t(point)] = p; }

    std::vector<UT_Vector3> positions;
    std::vector<std::shared_ptr<GEO_Primitive>> primitives;
    mutable std::map<std::pair<GA_AttributeOwner, std::string>, GA_Attribute> attributes;
    int64 unique = next()++, changes = 0;

protected:
    GA_PointGroupTable myGroups;

private:
    GA_Attribute myP;
    mutable GA_AttributeDict myDict;
    static int64 &next() {
        static int64 id = 1;
        return id;
    }
};
class GU_Detail : public GA_Detail {
public:
    void clearAndDestroy() {
        positions.clear();
        primitives.clear();
        attributes.clear();
        myGroups.all.clear();
    }
    const GEO_Primitive *getGEOPrimitive(GA_Offset prim) const { return primitives[std::size_t(prim)].get(); }
    int getBBox(UT_BoundingBox *box) const {
        if (positions.empty()) return 0;
        float lo[3] = {1e30f, 1e30f, 1e30f}, hi[3] = {-1e30f, -1e30f, -1e30f};
        for (const UT_Vector3 &p : positions)
            for (int a = 0; a < 3; ++a) {
                lo[a] = p[a] < lo[a] ? p[a] : lo[a];
                hi[a] = p[a] > hi[a] ? p[a] : hi[a];
            }
        box->low = UT_Vector3(lo[0], lo[1], lo[2]);
        box->high = UT_Vector3(hi[0], hi[1], hi[2]);
        return 1;
    }
};

/// Handles of one, three or int64 numbers, and of words. Without an attribute of that name they are not valid.
template <class T> class Handle {
public:
    Handle() = default;
    Handle(const GA_Detail *detail, GA_AttributeOwner owner, const UT_StringRef &name) { bind(detail, owner, name); }
    void bind(const GA_Detail *detail, GA_AttributeOwner owner, const UT_StringRef &name) { myAttribute = detail->find(owner, name.c_str()); }
    explicit Handle(const GA_Attribute *attribute) : myAttribute(const_cast<GA_Attribute *>(attribute)) {}
    bool isValid() const { return myAttribute != nullptr; }
    T get(GA_Offset at) const;
    T get(GA_Offset at, int component) const { return T(myAttribute->numbers.at(std::size_t(at) * std::size_t(myAttribute->size) + std::size_t(component))); }
    void set(GA_Offset at, const T &value);
    void set(GA_Offset at, int component, const T &value) {
        myAttribute->numbers.at(std::size_t(at) * std::size_t(myAttribute->size) + std::size_t(component)) = double(value);
    }
    void setBlock(GA_Offset start, GA_Size count, const T *values) {
        for (GA_Size i = 0; i < count; ++i) set(start + i, values[i]);
    }

protected:
    GA_Attribute *myAttribute = nullptr;
};
template <> inline float Handle<float>::get(GA_Offset at) const { return float(myAttribute->numbers.at(std::size_t(at))); }
template <> inline void Handle<float>::set(GA_Offset at, const float &v) { myAttribute->numbers.at(std::size_t(at)) = v; }
template <> inline void Handle<int64>::set(GA_Offset at, const int64 &v) { myAttribute->numbers.at(std::size_t(at)) = double(v); }
template <> inline UT_Vector3 Handle<UT_Vector3>::get(GA_Offset at) const {
    const double *v = &myAttribute->numbers.at(std::size_t(3 * at));
    return UT_Vector3(float(v[0]), float(v[1]), float(v[2]));
}
template <> inline void Handle<UT_Vector3>::set(GA_Offset at, const UT_Vector3 &v) {
    for (int a = 0; a < 3; ++a) myAttribute->numbers.at(std::size_t(3 * at + a)) = v[a];
}
template <> inline UT_StringHolder Handle<UT_StringHolder>::get(GA_Offset at) const {
    return UT_StringHolder(myAttribute->words.at(std::size_t(at)).c_str());
}
template <> inline void Handle<UT_StringHolder>::set(GA_Offset at, const UT_StringHolder &v) { myAttribute->words.at(std::size_t(at)) = v.c_str(); }
using GA_ROHandleF = Handle<float>;
using GA_ROHandleV3 = Handle<UT_Vector3>;
using GA_ROHandleS = Handle<UT_StringHolder>;
using GA_RWHandleF = Handle<float>;
using GA_RWHandleS = Handle<UT_StringHolder>;
using GA_RWHandleID = Handle<int64>;
/// P is not an attribute of the stub, so this handle can also write positions.
class GA_RWHandleV3 : public Handle<UT_Vector3> {
public:
    explicit GA_RWHandleV3(GA_Attribute *p) : myPositions(p->positions) {}
    GA_RWHandleV3(GA_Detail *detail, GA_AttributeOwner owner, const UT_StringRef &name) : Handle<UT_Vector3>(detail, owner, name) {}
    void setBlock(GA_Offset start, GA_Size count, const UT_Vector3 *values) {
        if (!myPositions) return Handle<UT_Vector3>::setBlock(start, count, values);
        for (GA_Size i = 0; i < count; ++i) (*myPositions)[std::size_t(start + i)] = values[i];
    }

private:
    std::vector<UT_Vector3> *myPositions = nullptr;
};

class GEO_PolyCounts {
public:
    void append(GA_Size size, GA_Size count = 1) { runs.push_back({size, count}); }
    std::vector<std::pair<GA_Size, GA_Size>> runs;
};
class GU_PrimPoly {
public:
    static GA_Offset buildBlock(GA_Detail *detail, GA_Offset start, GA_Size points, const GEO_PolyCounts &sizes, const int *corners,
                                bool closed = true) {
        (void)points;
        (void)closed;
        const GA_Offset first = GA_Offset(detail->primitives.size());
        for (const auto &run : sizes.runs) detail->primitives.reserve(detail->primitives.size() + std::size_t(run.second));
        for (const auto &run : sizes.runs)
            for (GA_Size i = 0; i < run.second; ++i) {
                auto prim = std::make_shared<GEO_Primitive>();
                prim->offset = GA_Offset(detail->primitives.size());
                for (GA_Size c = 0; c < run.first; ++c) prim->points.push_back(start + *corners++);
                detail->primitives.push_back(prim);
            }
        return first;
    }
};
class GU_DetailHandle {
public:
    void allocateAndSet(GU_Detail *detail) { owned.reset(detail); }
    std::shared_ptr<GU_Detail> owned;
};
class GEO_PrimVDB : public GEO_Primitive {
public:
    const openvdb::GridBase &getConstGrid() const { return *stub_grid; }
    const char *getGridName() const { return stub_name.c_str(); }
    openvdb::GridBase::Ptr stub_grid;
    std::string stub_name;
};
class GU_PrimVDB : public GEO_PrimVDB {
public:
    static GU_PrimVDB *buildFromGrid(GU_Detail &detail, openvdb::GridBase::Ptr grid, const GEO_PrimVDB * = nullptr, const char *name = nullptr) {
        auto made = std::make_shared<GU_PrimVDB>();
        made->kind = GA_PRIMVDB;
        made->stub_grid = grid;
        made->stub_name = name ? name : "";
        made->offset = GA_Offset(detail.primitives.size());
        made->points.push_back(detail.appendPointBlock(1));
        detail.primitives.push_back(made);
        return made.get();
    }
};
class GU_ConstDetailHandle {
public:
    explicit GU_ConstDetailHandle(const GU_DetailHandle &handle) : owned(handle.owned) {}
    std::shared_ptr<const GU_Detail> owned;
};
class GU_PackedGeometry {
public:
    static GU_PrimPacked *packGeometry(GU_Detail &detail, const GU_ConstDetailHandle &) {
        auto prim = std::make_shared<GU_PrimPacked>();
        prim->kind = GA_PRIMPACKED;
        prim->offset = GA_Offset(detail.primitives.size());
        prim->points.push_back(detail.appendPointBlock(1));
        detail.primitives.push_back(prim);
        return prim.get();
    }
};

// ---------------------------------------------------------------- CH, PRM, OP, SOP
class CH_Manager {
public:
    fpreal getSamplesPerSec() const { return rate; }
    fpreal getTime(fpreal frame) const { return (frame - 1) / rate; }
    fpreal getSample(fpreal time) const { return time * rate + 1; }
    fpreal rate = 24;
};
class OP_Director {
public:
    CH_Manager *getChannelManager() { return &channels; }
    CH_Manager channels;
};
inline OP_Director *OPgetDirector() {
    static OP_Director director;
    return &director;
}
class PRM_Template {};
using PRM_Callback = int (*)(void *, int, fpreal64, const PRM_Template *);
class PRM_TemplateBuilder {
public:
    PRM_TemplateBuilder(const UT_StringHolder &, const char *text) { stub_text = text; }
    bool justBuilt() {
        const bool first = !myBuilt;
        myBuilt = true;
        return first;
    }
    void setCallback(const UT_StringRef &name, PRM_Callback callback) { stub_callbacks[name.c_str()] = callback; }
    PRM_Template *templates() const { return nullptr; }
    static inline std::string stub_text;
    static inline std::map<std::string, PRM_Callback> stub_callbacks;

private:
    bool myBuilt = false;
};
class PRM_Parm {
public:
    bool isTimeDependent() const { return moves; }
    bool moves = false;
    std::function<double(int, double)> number;
    std::string word;
};

enum OP_ERROR { UT_ERROR_NONE, UT_ERROR_MESSAGE, UT_ERROR_WARNING, UT_ERROR_ABORT };
enum { SOP_MESSAGE = 1 };
class OP_Context {
public:
    explicit OP_Context(fpreal time = 0) : myTime(time) {}
    fpreal getTime() const { return myTime; }
    void setTime(fpreal time) { myTime = time; }
    fpreal getFloatFrame() const { return OPgetDirector()->getChannelManager()->getSample(myTime); }

private:
    fpreal myTime;
};
class OP_NodeFlags {
public:
    void setTimeDep(bool on) { myTimeDep = on; }
    bool getTimeDep() const { return myTimeDep; }

private:
    bool myTimeDep = false;
};
class OP_Network {};
class OP_Operator;
class OP_Node {
public:
    virtual ~OP_Node() = default;
    UT_StringHolder getName() const { return UT_StringHolder(stub_name.c_str()); }
    OP_NodeFlags &flags() { return myFlags; }
    const OP_NodeFlags &flags() const { return myFlags; }
    OP_Node *getInput(unsigned index) const { return index < stub_inputs.size() ? stub_inputs[index] : nullptr; }
    const PRM_Parm *getParmPtr(const UT_StringRef &name) const {
        const auto found = stub_parms.find(name.c_str());
        return found == stub_parms.end() ? nullptr : &found->second;
    }
    fpreal evalFloat(const UT_StringRef &name, int index, fpreal time) const { return stub_parms.at(name.c_str()).number(index, time); }
    exint evalInt(const UT_StringRef &name, int index, fpreal time) const { return exint(evalFloat(name, index, time)); }
    void evalString(UT_String &text, const UT_StringRef &name, int, fpreal) const { text.text = stub_parms.at(name.c_str()).word; }
    void setFloat(const UT_StringRef &name, int, fpreal, fpreal value) {
        stub_parms[name.c_str()].number = [value](int, double) { return value; };
    }
    void setInt(const UT_StringRef &name, int index, fpreal time, exint value) { setFloat(name, index, time, fpreal(value)); }
    void forceRecook() { ++stub_recooks; }

    std::string stub_name = "meniscus1";
    std::map<std::string, PRM_Parm> stub_parms;
    std::vector<OP_Node *> stub_inputs;
    int stub_recooks = 0;
    std::vector<std::pair<OP_ERROR, std::string>> stub_messages;

protected:
    void addError(int, const char *text) { stub_messages.push_back({UT_ERROR_ABORT, text}); }
    void addWarning(int, const char *text) { stub_messages.push_back({UT_ERROR_WARNING, text}); }
    void addMessage(int, const char *text) { stub_messages.push_back({UT_ERROR_MESSAGE, text}); }
    OP_ERROR error() const {
        OP_ERROR worst = UT_ERROR_NONE;
        for (const auto &m : stub_messages) worst = m.first > worst ? m.first : worst;
        return worst;
    }

private:
    OP_NodeFlags myFlags;
};
class SOP_NodeFlags {
public:
    void setManagesDataIDs(bool) {}
};
class SOP_Node : public OP_Node {
public:
    SOP_Node(OP_Network *, const char *name, OP_Operator *) { stub_name = name; }
    const GU_Detail *inputGeo(unsigned index) const { return stub_locked.at(index); }
    OP_ERROR stub_cook(OP_Context &context) {
        stub_messages.clear();
        return cookMySop(context);
    }
    virtual OP_ERROR cookMySop(OP_Context &context) = 0;
    virtual const char *inputLabel(unsigned) const { return ""; }
    std::map<unsigned, const GU_Detail *> stub_locked;
    GU_Detail stub_detail;

protected:
    GU_Detail *gdp = &stub_detail;
    SOP_NodeFlags mySopFlags;
};
/// An input for tests: a detail as a function of time.
class StubInput : public SOP_Node {
public:
    explicit StubInput(std::function<void(GU_Detail &, double)> make, bool moves = false) : SOP_Node(nullptr, "input", nullptr), myMake(std::move(make)) {
        flags().setTimeDep(moves);
    }
    const GU_Detail *at(double time) {
        ++stub_cooks;
        if (!flags().getTimeDep() && myBuilt) return &stub_detail;
        stub_detail.clearAndDestroy();
        stub_detail.bumpAllDataIds();
        myMake(stub_detail, time);
        myBuilt = true;
        return &stub_detail;
    }
    OP_ERROR cookMySop(OP_Context &) override { return UT_ERROR_NONE; }
    int stub_cooks = 0;

private:
    std::function<void(GU_Detail &, double)> myMake;
    bool myBuilt = false;
};
class OP_AutoLockInputs {
public:
    explicit OP_AutoLockInputs(SOP_Node *node) : myNode(node) {}
    ~OP_AutoLockInputs() { myNode->stub_locked.clear(); }
    OP_ERROR lock(OP_Context &context) {
        for (unsigned i = 0; i < myNode->stub_inputs.size(); ++i)
            if (myNode->stub_inputs[i]) lockInput(i, context);
        return UT_ERROR_NONE;
    }
    OP_ERROR lockInput(unsigned index, OP_Context &context) {
        myNode->stub_locked[index] = static_cast<StubInput *>(myNode->getInput(index))->at(context.getTime());
        return UT_ERROR_NONE;
    }
    void unlockInput(unsigned index) { myNode->stub_locked.erase(index); }

private:
    SOP_Node *myNode;
};
class CH_LocalVariable;
using OP_Constructor = OP_Node *(*)(OP_Network *, const char *, OP_Operator *);
class OP_Operator {
public:
    OP_Operator(const char *name, const char *label, OP_Constructor construct, PRM_Template *, unsigned min_sources, unsigned max_sources = 9999,
                CH_LocalVariable * = nullptr, unsigned = 0, const char ** = nullptr, int = 1, const char * = nullptr)
        : stub_name(name), stub_label(label), stub_construct(construct), stub_sources{min_sources, max_sources} {}
    void setIconName(const char *name) { stub_icon = name; }
    std::string stub_name, stub_label, stub_icon;
    OP_Constructor stub_construct;
    unsigned stub_sources[2];
};
class OP_OperatorTable {
public:
    void addOperator(OP_Operator *op) { operators.emplace_back(op); }
    std::vector<std::unique_ptr<OP_Operator>> operators;
};

#endif
