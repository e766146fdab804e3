// The Meniscus solver as a SOP. It cooks by cookMySop and not as a verb, because a verb cannot cook its inputs at other
// times: catching up, this node locks its inputs at every missing frame and at every sample between.
#ifndef SOP_MENISCUS_H
#define SOP_MENISCUS_H

#include "../node/node.hpp"

#include <GU/GU_DetailHandle.h>
#include <PRM/PRM_Include.h>
#include <SOP/SOP_Node.h>

class SOP_Meniscus : public SOP_Node {
public:
    static OP_Node *create(OP_Network *net, const char *name, OP_Operator *op);
    static PRM_Template *templates();
    /// The five inputs, in the order of the labels.
    enum { SOURCES, COLLIDERS, CONTAINER, BODIES, FORCES, INPUTS };

protected:
    SOP_Meniscus(OP_Network *net, const char *name, OP_Operator *op);
    ~SOP_Meniscus() override = default;
    OP_ERROR cookMySop(OP_Context &context) override;
    const char *inputLabel(unsigned index) const override;

private:
    friend class HoudiniHost;
    static int onReset(void *data, int index, fpreal64 time, const PRM_Template *);
    static int onExport(void *data, int index, fpreal64 time, const PRM_Template *);
    static int onPreset(void *data, int index, fpreal64 time, const PRM_Template *);
    void show(class HoudiniHost &host, const meniscus::node::Cooked &cooked, fpreal time);
    void tell(const std::vector<meniscus::node::Message> &messages);

    /// The content of an input that did not change since it was hashed.
    struct Seen {
        int64 detail = -1, count = -1;
        uint64_t version = 0;
    };
    meniscus::node::Node myNode;
    Seen mySeen[INPUTS];
    /// Meshes of the floating bodies as they were wired in, by name.
    std::map<std::string, meniscus::node::Mesh> myBodies;
    /// The number of resets at the last cook; before the first there is none, whatever the file was saved with.
    int myResets = -1;
    bool myExport = false;
};

#endif
