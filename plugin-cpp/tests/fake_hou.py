"""A stand-in for the part of Houdini's module `hou` that the Python SOP uses."""

import numpy


class NodeError(Exception):
    pass


class attribType:
    Point, Global = "point", "global"


class Point:
    def __init__(self, number):
        self._number = number

    def number(self):
        return self._number


class Vertex:
    def __init__(self, point):
        self._point = point

    def point(self):
        return self._point


class Prim:
    def __init__(self, corners, name=""):
        self.corners, self.name = corners, name

    def vertices(self):
        return [Vertex(Point(c)) for c in self.corners]

    def stringAttribValue(self, _name):
        return self.name


class Box:
    def __init__(self, points):
        self.low, self.high = points.min(axis=0), points.max(axis=0)

    def minvec(self):
        return [float(x) for x in self.low]

    def maxvec(self):
        return [float(x) for x in self.high]


class Geometry:
    def __init__(self, points=(), prims=()):
        self.positions = numpy.asarray(points, numpy.float32).reshape(-1, 3)
        self._prims = list(prims)
        self.attributes, self.details = {}, {}

    def clear(self):
        self.__init__()

    def points(self):
        return [Point(i) for i in range(len(self.positions))]

    def prims(self):
        return self._prims

    def pointFloatAttribValuesAsString(self, name):
        return (self.positions if name == "P" else self.attributes[name]).astype(numpy.float32).tobytes()

    def findPointAttrib(self, name):
        return self.attributes.get(name)

    def findPrimAttrib(self, name):
        return name if any(p.name for p in self._prims) else None

    def boundingBox(self):
        return Box(self.positions)

    def createPoints(self, positions):
        self.positions = numpy.asarray(positions, numpy.float32)
        return self.points()

    def createPolygons(self, polygons):
        self._prims = [Prim([p.number() for p in polygon]) for polygon in polygons]

    def addAttrib(self, kind, name, default):
        if kind == attribType.Point:
            self.attributes[name] = numpy.zeros((len(self.positions), numpy.size(default)), numpy.float32)
        else:
            self.details[name] = default

    def setPointFloatAttribValuesFromString(self, name, data):
        self.attributes[name] = numpy.frombuffer(data, numpy.float32).reshape(-1, 3)

    def setGlobalAttribValue(self, name, value):
        self.details[name] = value


class Parm:
    def __init__(self, value):
        self.value = value

    def evalAtFrame(self, frame):
        return self.value(frame) if callable(self.value) else self.value

    def isTimeDependent(self):
        return callable(self.value)


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
        self._geometry = Geometry()

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

    def cook(self, force=False):
        pass


class Session:
    """The functions of the module."""

    NodeError, attribType = NodeError, attribType

    def __init__(self):
        self.now, self.rate, self.stop = 1.0, 24.0, None

    def frame(self):
        return self.now

    def fps(self):
        return self.rate

    def maxThreads(self):
        return 2

    def updateProgressAndCheckForInterrupt(self, percent=-1):
        return bool(self.stop and self.stop(percent))
