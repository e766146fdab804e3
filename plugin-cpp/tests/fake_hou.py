"""A stand-in for the part of Houdini's module `hou` that the Python SOP uses."""

import numpy


class NodeError(Exception):
    pass


class NodeWarning(Exception):
    pass


class attribType:
    Point, Prim, Global = "point", "prim", "global"


class attribData:
    Float, Int, String = "float", "int", "string"


class scriptLanguage:
    Python = "python"


class parmCondType:
    HideWhen = "hidewhen"


class Template:
    """A parameter template: what it was made with."""

    def __init__(self, kind, name, label, *more, **options):
        known = {"default_value", "min", "max", "help", "script_callback", "script_callback_language", "parm_templates"}
        assert set(options) <= known, options
        self.kind, self.name, self.label, self.more, self.options, self.conditions = kind, name, label, more, options, {}

    def setConditional(self, kind, condition):
        self.conditions[kind] = condition


class Attribute:
    def __init__(self, values, name=""):
        self.values, self._name = values, name

    def name(self):
        return self._name

    def dataType(self):
        if isinstance(self.values, list):
            return attribData.String
        return attribData.Int if numpy.issubdtype(self.values.dtype, numpy.integer) else attribData.Float

    def size(self):
        return 1 if isinstance(self.values, list) else self.values.shape[1]


class Point:
    def __init__(self, number, geometry=None):
        self._number, self._geometry = number, geometry

    def number(self):
        return self._number

    def stringAttribValue(self, name):
        return self._geometry.attributes[name][self._number]


class Vertex:
    def __init__(self, point):
        self._point = point

    def point(self):
        return self._point


class Prim:
    def __init__(self, corners, name="", **values):
        self.corners, self.values = corners, {"name": name, **values} if name else values

    @property
    def name(self):
        return self.values.get("name", "")

    def vertices(self):
        return [Vertex(Point(c)) for c in self.corners]

    def attribValue(self, name):
        return self.values[name]

    def setAttribValue(self, name, value):
        self.values[name] = value

    def stringAttribValue(self, name):
        return self.values[name]


class Box:
    def __init__(self, points):
        self.low, self.high = points.min(axis=0), points.max(axis=0)

    def minvec(self):
        return [float(x) for x in self.low]

    def maxvec(self):
        return [float(x) for x in self.high]


class Geometry:
    def __init__(self, points=(), prims=(), attributes=None, details=None):
        self.positions = numpy.asarray(points, numpy.float32).reshape(-1, 3)
        self._prims = list(prims)
        self.attributes, self.details = dict(attributes or {}), dict(details or {})

    def clear(self):
        self.__init__()

    def points(self):
        return [Point(i, self) for i in range(len(self.positions))]

    def prims(self):
        return self._prims

    def pointFloatAttribValuesAsString(self, name):
        return (self.positions if name == "P" else self.attributes[name]).astype(numpy.float32).tobytes()

    def pointIntAttribValues(self, name):
        return tuple(self.attributes[name].ravel().tolist())

    def findPointAttrib(self, name):
        return Attribute(self.attributes[name], name) if name in self.attributes else None

    def pointAttribs(self):
        return [Attribute(self.positions, "P")] + [Attribute(values, name) for name, values in self.attributes.items()]

    def findPrimAttrib(self, name):
        return name if any(name in p.values for p in self._prims) else None

    def findGlobalAttrib(self, name):
        return name if name in self.details else None

    def attribValue(self, name):
        return self.details[name]

    def boundingBox(self):
        return Box(self.positions)

    def createPoints(self, positions):
        self.positions = numpy.asarray(positions, numpy.float32)
        return self.points()

    def createPolygons(self, polygons):
        self._prims = [Prim([p.number() for p in polygon]) for polygon in polygons]
        return self._prims

    def addAttrib(self, kind, name, default):
        if kind == attribType.Point:
            whole = isinstance(default, int)
            self.attributes[name] = numpy.zeros((len(self.positions), numpy.size(default)), numpy.int32 if whole else numpy.float32)
        elif kind == attribType.Prim:
            for prim in self._prims:
                prim.values[name] = default
        else:
            self.details[name] = default

    def setPointFloatAttribValuesFromString(self, name, data):
        self.attributes[name] = numpy.frombuffer(data, numpy.float32).reshape(self.attributes[name].shape)

    def setPointIntAttribValues(self, name, values):
        self.attributes[name] = numpy.array(values, numpy.int32).reshape(self.attributes[name].shape)

    def setGlobalAttribValue(self, name, value):
        assert name in self.details
        self.details[name] = value


class Parm:
    def __init__(self, value):
        self.value = value

    def evalAtFrame(self, frame):
        return self.value(frame) if callable(self.value) else self.value

    def isTimeDependent(self):
        return callable(self.value)

    def set(self, value):
        self.value = value


class Input:
    """A node that makes a detail at any frame."""

    def __init__(self, make, moves=False):
        self.make, self.moves, self.reads = make, moves, []

    def isTimeDependent(self):
        return self.moves


class Node:
    def __init__(self, inputs, **parms):
        self._inputs = inputs
        self._parms = {n: Parm(v) for n, v in parms.items() if not isinstance(v, tuple)}
        self._tuples = {n: [Parm(c) for c in v] for n, v in parms.items() if isinstance(v, tuple)}
        self._geometry, self.templates, self.cooked = Geometry(), [], 0

    def name(self):
        return "python1"

    def sessionId(self):
        return id(self)

    def inputs(self):
        return self._inputs

    def parm(self, name):
        return self._parms.get(name)

    def parmTuple(self, name):
        return self._tuples.get(name)

    def set(self, **parms):
        self._parms.update({n: Parm(v) for n, v in parms.items()})

    def geometry(self):
        return self._geometry

    def inputGeometryAtFrame(self, frame, index):
        self._inputs[index].reads.append(frame)
        return self._inputs[index].make(frame)

    def parmTemplateGroup(self):
        return []

    def setParmTemplateGroup(self, group):
        """Also makes the parameters with their defaults, as Houdini does."""
        self.templates = [t for folder in group for t in folder.options["parm_templates"]]
        for t in self.templates:
            default = t.options.get("default_value", 0)
            if t.kind in ("FloatParmTemplate", "IntParmTemplate") and t.more[0] == 3:
                self._tuples[t.name] = [Parm(v) for v in default]
            else:
                self._parms[t.name] = Parm(default[0] if isinstance(default, tuple) else default)

    def cook(self, force=False):
        self.cooked += 1


class Session:
    """The functions of the module."""

    NodeError, NodeWarning, attribType, attribData = NodeError, NodeWarning, attribType, attribData
    scriptLanguage, parmCondType = scriptLanguage, parmCondType

    def __init__(self):
        self.now, self.rate, self.stop = 1.0, 24.0, None

    def __getattr__(self, name):
        if name.endswith("ParmTemplate"):
            return lambda *words, **options: Template(name, *words, **options)
        raise AttributeError(name)

    def frame(self):
        return self.now

    def fps(self):
        return self.rate

    def maxThreads(self):
        return 2

    def updateProgressAndCheckForInterrupt(self, percent=-1):
        return bool(self.stop and self.stop(percent))
