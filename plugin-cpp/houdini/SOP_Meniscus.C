#include "SOP_Meniscus.h"

#include "dialog.h"
#include "geometry.h"

#include <CH/CH_Manager.h>
#include <GU/GU_Detail.h>
#include <OP/OP_AutoLockInputs.h>
#include <OP/OP_Director.h>
#include <OP/OP_Operator.h>
#include <OP/OP_OperatorTable.h>
#include <PRM/PRM_Parm.h>
#include <PRM/PRM_TemplateBuilder.h>
#include <UT/UT_BoundingBox.h>
#include <UT/UT_DSOVersion.h>
#include <UT/UT_Interrupt.h>
#include <UT/UT_Thread.h>

#include <algorithm>
#include <cmath>

using namespace meniscus::node;

namespace {

CH_Manager &channels() { return *OPgetDirector()->getChannelManager(); }

/// The wire of the node that an input of the SOP feeds.
const Wire wire_of[SOP_Meniscus::INPUTS] = {Sources, Colliders, Container, Bodies, Forces};

} // namespace

/// The SOP as the node sees it, during one cook.
class HoudiniHost : public Host {
public:
    HoudiniHost(SOP_Meniscus &sop, OP_Context &context, OP_AutoLockInputs &inputs, UT_AutoInterrupt &boss)
        : mySop(sop), myContext(context), myInputs(inputs), myBoss(boss) {}

    std::string name() const override { return mySop.getName().c_str(); }
    bool clockwise() const override { return true; }
    unsigned threads() const override { return unsigned(UT_Thread::getNumProcessors()); }
    bool go_on(const Progress &p) override { return !myBoss.wasInterrupted(int(100 * p.fraction)); }

    std::array<uint32_t, 2> fps() const override {
        const double rate = channels().getSamplesPerSec(), whole = std::round(rate);
        if (std::abs(rate - whole) < 1e-6) return {uint32_t(whole), 1};
        const double film = std::ceil(rate);
        if (std::abs(rate - film * 1000 / 1001) < 1e-3) return {uint32_t(film * 1000), 1001};
        return {uint32_t(std::round(rate * 1000)), 1000};
    }

    bool animated(const Row &row) const override {
        const PRM_Parm *parm = mySop.getParmPtr(row.houdini);
        return parm && parm->isTimeDependent();
    }

    Value value(const Row &row, double frame) override {
        const fpreal t = channels().getTime(frame);
        Value value;
        if (row.type == Type::Menu) {
            value.text = row.item(mySop.evalInt(row.houdini, 0, t));
        } else if (row.is_text()) {
            UT_String text;
            mySop.evalString(text, row.houdini, 0, t);
            value.text = text.c_str();
        } else if (row.type == Type::Int || row.type == Type::Bool) {
            value.x[0] = double(mySop.evalInt(row.houdini, 0, t));
        } else {
            for (int i = 0; i < row.width(); ++i) value.x[i] = mySop.evalFloat(row.houdini, i, t);
        }
        return value;
    }

    Wires wires() override {
        Wires wires;
        for (int i = 0; i < SOP_Meniscus::INPUTS; ++i) {
            const OP_Node *input = mySop.getInput(unsigned(i));
            WireState &wire = wires[wire_of[i]];
            wire.connected = input != nullptr;
            if (!input) continue;
            wire.animated = input->flags().getTimeDep();
            if (!wire.animated) wire.version = version(i);
        }
        // Volumes come with the forces.
        wires[Fields] = wires[Forces];
        return wires;
    }

    Inputs read(double frame) override {
        Inputs inputs;
        for (int i = 0; i < SOP_Meniscus::INPUTS; ++i) {
            if (!mySop.getInput(unsigned(i))) continue;
            if (const GU_Detail *detail = lock(i, frame)) add(i, *detail, inputs);
        }
        return inputs;
    }

    /// The box that liquid may fill: of the container if it is wired and wanted, or else the two corners.
    bool domain(double *low, double *high) {
        const double start = value(row("start_frame"), 0).x[0];
        const std::string kind = value(row("domain"), start).text;
        if (kind == "none") return false;
        const Value least = value(row("domain_min"), start), most = value(row("domain_max"), start);
        std::copy(least.x, least.x + 3, low);
        std::copy(most.x, most.x + 3, high);
        if (kind != "auto" || !mySop.getInput(SOP_Meniscus::CONTAINER)) return true;
        Inputs inputs;
        if (const GU_Detail *detail = lock(SOP_Meniscus::CONTAINER, start)) add(SOP_Meniscus::CONTAINER, *detail, inputs);
        if (!inputs.has_container) return true;
        std::copy(inputs.container_min, inputs.container_min + 3, low);
        std::copy(inputs.container_max, inputs.container_max + 3, high);
        return true;
    }

private:
    /// The geometry of an input at a frame.
    const GU_Detail *lock(int input, double frame) {
        OP_Context context = myContext;
        context.setTime(channels().getTime(frame));
        myInputs.unlockInput(unsigned(input));
        if (myInputs.lockInput(unsigned(input), context) >= UT_ERROR_ABORT)
            throw std::runtime_error(std::string(mySop.inputLabel(unsigned(input))) + " cannot be cooked at frame " + std::to_string(frame));
        return mySop.inputGeo(unsigned(input));
    }

    void add(int input, const GU_Detail &detail, Inputs &inputs) {
        switch (input) {
        case SOP_Meniscus::SOURCES: inputs.sources = read_pieces(detail, "source", Of::Source); break;
        case SOP_Meniscus::COLLIDERS: inputs.colliders = read_pieces(detail, "collider", Of::Collider); break;
        case SOP_Meniscus::BODIES:
            inputs.bodies = read_pieces(detail, "body", Of::Body);
            for (const Object &body : inputs.bodies) mySop.myBodies[body.name] = body.mesh;
            break;
        case SOP_Meniscus::FORCES:
            inputs.forces = read_forces(detail);
            inputs.fields = read_fields(detail);
            break;
        default: {
            UT_BoundingBox box;
            inputs.has_container = detail.getBBox(&box) != 0;
            for (int a = 0; inputs.has_container && a < 3; ++a) {
                inputs.container_min[a] = box.minvec()[a];
                inputs.container_max[a] = box.maxvec()[a];
            }
        }
        }
    }

    /// A hash of an input's content; undo then finds the frames of before. Unchanged details are not hashed again.
    uint64_t version(int i) {
        SOP_Meniscus::Seen &seen = mySop.mySeen[i];
        const GU_Detail *detail = mySop.inputGeo(unsigned(i));
        if (!detail) return 0;
        if (seen.detail == detail->getUniqueId() && seen.count == detail->getMetaCacheCount()) return seen.version;
        Inputs inputs;
        add(i, *detail, inputs);
        uint64_t hash = hash_bytes(inputs.container_min, 24, hash_bytes(inputs.container_max, 24));
        for (const auto *list : {&inputs.sources, &inputs.colliders, &inputs.bodies})
            for (const Object &object : *list) {
                hash = hash_mesh(object.mesh, hash_bytes(object.name.data(), object.name.size(), hash));
                for (const auto &own : object.own) {
                    hash = hash_bytes(own.second.x, sizeof own.second.x, hash);
                    hash = hash_bytes(own.second.text.data(), own.second.text.size(), hash);
                }
            }
        for (const Force &force : inputs.forces) {
            hash = hash_bytes(force.kind.data(), force.kind.size(), hash);
            for (const double *v : {force.center, force.axis}) hash = hash_bytes(v, 24, hash);
            for (const double *v : {&force.strength, &force.radius}) hash = hash_bytes(v, 8, hash);
        }
        for (const Field &field : inputs.fields) hash = hash_field(field, hash);
        seen = {detail->getUniqueId(), detail->getMetaCacheCount(), hash};
        return hash;
    }

    SOP_Meniscus &mySop;
    OP_Context &myContext;
    OP_AutoLockInputs &myInputs;
    UT_AutoInterrupt &myBoss;
};

SOP_Meniscus::SOP_Meniscus(OP_Network *net, const char *name, OP_Operator *op) : SOP_Node(net, name, op) {
    mySopFlags.setManagesDataIDs(true);
}

OP_Node *SOP_Meniscus::create(OP_Network *net, const char *name, OP_Operator *op) { return new SOP_Meniscus(net, name, op); }

PRM_Template *SOP_Meniscus::templates() {
    static PRM_TemplateBuilder builder("SOP_Meniscus.C"_sh, theDsFile);
    if (builder.justBuilt()) {
        builder.setCallback("reset", &SOP_Meniscus::onReset);
        builder.setCallback("export", &SOP_Meniscus::onExport);
        builder.setCallback("preset", &SOP_Meniscus::onPreset);
    }
    return builder.templates();
}

const char *SOP_Meniscus::inputLabel(unsigned index) const {
    static const char *const labels[INPUTS] = {"Sources", "Colliders", "Container", "Floating Bodies", "Forces and Fields"};
    return index < INPUTS ? labels[index] : "";
}

/// The hidden number is part of the scene file and of undo; the cook sees that it changed.
int SOP_Meniscus::onReset(void *data, int, fpreal64 time, const PRM_Template *) {
    SOP_Meniscus *sop = static_cast<SOP_Meniscus *>(data);
    sop->setInt("resets", 0, time, sop->evalInt("resets", 0, time) + 1);
    return 1;
}

/// The inputs can only be read inside a cook, so the button asks for one.
int SOP_Meniscus::onExport(void *data, int, fpreal64, const PRM_Template *) {
    SOP_Meniscus *sop = static_cast<SOP_Meniscus *>(data);
    sop->myExport = true;
    sop->forceRecook();
    return 1;
}

int SOP_Meniscus::onPreset(void *data, int, fpreal64 time, const PRM_Template *) {
    SOP_Meniscus *sop = static_cast<SOP_Meniscus *>(data);
    const Row &preset = row("preset");
    const std::string chosen = preset.item(sop->evalInt(preset.houdini, 0, time));
    for (const Fill &fill : fills)
        if (chosen == fill.item) sop->setFloat(row(fill.name).houdini, 0, time, fill.value);
    return 1;
}

void SOP_Meniscus::tell(const std::vector<Message> &messages) {
    for (const Message &message : messages) {
        const std::string text = message.object + ": " + message.text;
        switch (message.level) {
        case Level::Error: addError(SOP_MESSAGE, text.c_str()); break;
        case Level::Warning: addWarning(SOP_MESSAGE, text.c_str()); break;
        default: addMessage(SOP_MESSAGE, text.c_str());
        }
    }
}

void SOP_Meniscus::show(HoudiniHost &host, const Cooked &cooked, fpreal time) {
    gdp->clearAndDestroy();
    if (cooked.frame) {
        const Frame &frame = *cooked.frame;
        const std::string what = row("output").item(evalInt("output", 0, time));
        const bool velocity = evalInt("output_velocity", 0, time) != 0;
        if (what != "particles") append_surface(*gdp, frame, cooked.after, velocity);
        if (what != "surface") append_particles(*gdp, frame, cooked.after, velocity);
        if (evalInt("output_volumes", 0, time)) append_volumes(*gdp, frame, velocity);
        if (evalInt("output_bodies", 0, time)) append_bodies(*gdp, frame, myBodies);
        set_details(*gdp, frame);
    }
    double low[3], high[3];
    if (evalInt("output_bounds", 0, time) && host.domain(low, high)) append_box(*gdp, low, high);
    gdp->bumpAllDataIds();
}

OP_ERROR SOP_Meniscus::cookMySop(OP_Context &context) {
    OP_AutoLockInputs inputs(this);
    if (inputs.lock(context) >= UT_ERROR_ABORT) return error();
    flags().setTimeDep(true);
    UT_AutoInterrupt boss("Simulating liquid");
    HoudiniHost host(*this, context, inputs, boss);

    const int resets = int(evalInt("resets", 0, context.getTime()));
    // A file that was saved after resets finds its frames again, and undoing a reset is not another one.
    if (myResets >= 0 && resets > myResets) myNode.reset();
    myResets = resets;
    if (myExport) {
        myExport = false;
        UT_String file;
        evalString(file, "export_file", 0, context.getTime());
        std::vector<Message> messages;
        myNode.export_scene(host, file.c_str(), messages);
        tell(messages);
    }
    const Cooked cooked = myNode.cook(host, context.getFloatFrame());
    tell(cooked.messages);
    try {
        show(host, cooked, context.getTime());
    } catch (const std::exception &wrong) {
        tell({{Level::Error, host.name(), wrong.what()}});
    }
    return error();
}

void newSopOperator(OP_OperatorTable *table) {
    OP_Operator *op = new OP_Operator("meniscus_solver", "Meniscus Solver", SOP_Meniscus::create, SOP_Meniscus::templates(), 1,
                                      SOP_Meniscus::INPUTS, nullptr, 0, nullptr, 1, "Meniscus");
    op->setIconName("SOP_meniscus_solver");
    table->addOperator(op);
}
