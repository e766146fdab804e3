#ifndef MENISCUS_H
#define MENISCUS_H

#include <stddef.h>
#include <stdint.h>

/* Meniscus simulates liquids for pictures. This is all that a program needs to know.

   Two doors. The simulation: a scene in JSON becomes a simulation, which is stepped frame by frame and read
   through named flat arrays (mns_simulation_...). The pieces: a grid or a lattice of
   tetrahedra of your own, one solve, no scene (mns_grid_..., mns_lattice_...).

   Units     Metres, kilograms, seconds, pascal. Y is up. Distances are negative inside. In a scene, positions are in
             scene units of unit_length metres; everything that comes out is in metres.
   Errors    Every call that can fail returns MNS_OK (0) or a negative code; mns_last_error() says in words what is
             wrong and what to do. A pointer must not be NULL unless its description says that it may.
             A fault inside the library is a code too, never the end of the host, with two exceptions: memory that the
             system refuses although the limit allowed it, since what will not fit is refused before a simulation
             begins but a failed allocation inside a call may end the process; and a stack that is too small (1 MB is
             enough).
   Owners    What you pass in is copied before the call returns. What comes out is borrowed: it belongs to the library
             and is valid until the object it came from changes or ends, unless said otherwise.
   Handles   Numbers, not addresses: a destroyed or foreign handle is MNS_ERROR_HANDLE, never a crash.
   Threads   Every function may be called from any thread. Calls that take an object as const may run at the same time;
             the others need it alone, and who would have to wait gets MNS_ERROR_BUSY at once. Callbacks run on the
             thread that called the library. Each simulation has its own threads. Not to be used after fork().
   Host      The library prints nothing, reads no environment, installs no signal handlers, and leaves the
             floating-point state as it was; it computes the same bits whatever that state is.
   Structs   Those that begin with struct_size grow at their end in later versions. Set it to sizeof, or use the _init
             function; zero in any field means the default. */


/* 32-bit floating point. */
#define MNS_TYPE_F32 1
/* 64-bit floating point. */
#define MNS_TYPE_F64 2
/* 32-bit signed integer. */
#define MNS_TYPE_I32 3
/* 32-bit unsigned integer. */
#define MNS_TYPE_U32 4
/* 64-bit signed integer. */
#define MNS_TYPE_I64 5
/* 64-bit unsigned integer. */
#define MNS_TYPE_U64 6
/* Byte. */
#define MNS_TYPE_U8 7

/* The call did what it says. */
#define MNS_OK 0

/* A pointer, number, index or size that an argument may not have. */
#define MNS_ERROR_INVALID (-1)
/* The scene text is wrong; the message leads to the value. */
#define MNS_ERROR_SCENE (-2)
/* A mesh or shape cannot be used. */
#define MNS_ERROR_GEOMETRY (-3)
/* A file or saved state is not what it should be. */
#define MNS_ERROR_FORMAT (-4)
/* The operating system refused. */
#define MNS_ERROR_IO (-5)
/* More memory would be needed than is allowed or present. */
#define MNS_ERROR_MEMORY (-6)
/* A callback or mns_simulation_interrupt asked to stop; the last whole substep is kept. */
#define MNS_ERROR_CANCELLED (-7)
/* Numbers stopped being finite, or a solve did not converge; the last whole substep is kept. */
#define MNS_ERROR_DIVERGED (-8)
/* Another thread, or the call that runs this callback, is using the object. */
#define MNS_ERROR_BUSY (-9)
/* Data or a struct of a newer version than this library knows. */
#define MNS_ERROR_VERSION (-10)
/* A combination that this build or this simulator does not offer. */
#define MNS_ERROR_UNSUPPORTED (-11)
/* The handle was destroyed, is of another kind, or never was one. */
#define MNS_ERROR_HANDLE (-12)
/* A fault inside the library. The handle that it happened on can only be saved and destroyed. */
#define MNS_ERROR_PANIC (-13)

/* Version of this header: 10000 major + 100 minor + patch. Compare it with mns_version(). */
#define MNS_VERSION 100

/* As MNS_COUPLING_FLIP where liquid is thin and MNS_COUPLING_PIC where it is thick. The default. */
#define MNS_COUPLING_BLEND 0
/* Faces receive the change at the vertices. */
#define MNS_COUPLING_FLIP 1
/* Faces receive the velocity at the vertices. */
#define MNS_COUPLING_PIC 2
/* The equations are solved for the faces themselves. */
#define MNS_COUPLING_FACES 3

/* Say nothing. */
#define MNS_LOG_NONE 0
/* Calls that failed. */
#define MNS_LOG_ERROR 1
/* Also what an artist should know, such as a collider that compresses liquid. */
#define MNS_LOG_WARNING 2
/* Also one line for each finished frame. */
#define MNS_LOG_INFO 3

/*
 Open faces are weighed by their area, and pressure ends where the surface is: the sharp scheme of `meniscus validate stokes`.
 Second order, exact for still water. The default.
 */
#define MNS_SCHEME_AREA 0
/* The variational form: faces are weighed by the volume of liquid round them. */
#define MNS_SCHEME_VOLUME 1

/* Geometry of a collider. */
#define MNS_GEOMETRY_COLLIDER 0
/* Geometry of an emitter. */
#define MNS_GEOMETRY_EMITTER 1
/* Geometry of a body. */
#define MNS_GEOMETRY_BODY 2

/*
 A box of cubic cells with fields for one solve. Functions that take it as const may run at the same
 time on several threads; the others need it alone and give MNS_ERROR_BUSY at once if it is in use.
 */
typedef struct mns_grid mns_grid;

/*
 Tetrahedra over a box, small where asked and larger elsewhere, with fields for one solve. Functions that take it as
 const may run at the same time on several threads; the others need it alone and give MNS_ERROR_BUSY if it is in use.
 */
typedef struct mns_lattice mns_lattice;

/*
 A running simulation. Functions that take it as const may run at the same time on several threads;
 the others need it alone and give MNS_ERROR_BUSY at once if it is in use. Different simulations are
 independent. Do not use it in the child of a fork.
 */
typedef struct mns_simulation mns_simulation;

/* What every call that can fail returns: MNS_OK or one of the negative MNS_ERROR codes. */
typedef int32_t mns_result;

/*
 Numbers in memory: `count` elements, each of `width` numbers of one type, `stride` bytes from one
 element to the next. As an input it is copied before the call returns. As an output it belongs to
 the library and is valid until the next call that changes or destroys the object it came from.
 */
typedef struct mns_array {
    /* The first number; may be NULL if count is 0. */
    const void *data;
    /* Number of elements, such as points or triangles. */
    size_t count;
    /* Bytes from one element to the next; 0 if they follow each other without a gap. */
    size_t stride;
    /* One of the MNS_TYPE constants. */
    int32_t type;
    /* Numbers in an element: 3 for points, vectors and triangles. */
    int32_t width;
} mns_array;

/* A grid of cubic cells for the pieces door. Fill with mns_grid_options_init. */
typedef struct mns_grid_options {
    /* sizeof(mns_grid_options). */
    uint32_t struct_size;
    /* Threads to use; 0 for all. */
    uint32_t threads;
    /* Cells along x, y, z; z = 1 makes the grid flat: two dimensions. */
    uint32_t cells[3];
    /* 0. */
    uint32_t reserved;
    /* Lower corner of the first cell, metres. */
    double origin[3];
    /* Width of a cell, metres. */
    double cell;
} mns_grid_options;

/* What one pressure solve is told. Fill with mns_pressure_options_init. */
typedef struct mns_pressure_options {
    /* sizeof(mns_pressure_options). */
    uint32_t struct_size;
    /* MNS_SCHEME_AREA or MNS_SCHEME_VOLUME. */
    int32_t scheme;
    /* Length of the step, seconds. */
    double dt;
    /* Relative residual at which the solve stops, between 0 and 1. */
    double tolerance;
    /* Relative growth of the liquid's volume, 1/s; 0 for a liquid that keeps it. */
    double expansion;
} mns_pressure_options;

/* How a solve went. Set struct_size before the call. */
typedef struct mns_solve_info {
    /* sizeof(mns_solve_info). */
    uint32_t struct_size;
    /* Iterations taken. */
    uint32_t iterations;
    /* True relative residual at the end. */
    double residual;
    /* Bodies of liquid without a free surface. */
    uint64_t closed_regions;
    /* Volume rate that solids tried to force into closed regions and that was refused, m^3/s. */
    double refused_inflow;
    /* Number of unknowns. */
    uint64_t unknowns;
} mns_solve_info;

/* What one viscosity or Stokes solve is told. Fill with mns_stokes_options_init. */
typedef struct mns_stokes_options {
    /* sizeof(mns_stokes_options). */
    uint32_t struct_size;
    /* 0. */
    uint32_t reserved;
    /* Length of the step, seconds. */
    double dt;
    /* Relative residual at which the solve stops, between 0 and 1. */
    double tolerance;
} mns_stokes_options;

/* The box of a lattice. Fill with mns_lattice_options_init. */
typedef struct mns_lattice_options {
    /* sizeof(mns_lattice_options). */
    uint32_t struct_size;
    /* Threads to use; 0 for all. */
    uint32_t threads;
    /* The widest cells along x, y, z. */
    uint32_t cells[3];
    /* How often a cell may be halved, at most 16. */
    uint32_t depth;
    /* Lower corner of the box, metres. */
    double origin[3];
    /* Width of the widest cells, metres. */
    double cell;
} mns_lattice_options;

/* What a solve on a lattice is told. Fill with mns_lattice_solve_options_init. */
typedef struct mns_lattice_solve_options {
    /* sizeof(mns_lattice_solve_options). */
    uint32_t struct_size;
    /* One of MNS_COUPLING_...; for viscosity. */
    int32_t coupling;
    /* 0: liquid sticks to solids; 1: it slides along them; for viscosity. */
    int32_t slide;
    /* 0. */
    int32_t reserved;
    /* Length of the step, seconds. */
    double dt;
    /* Relative residual at which the solve stops, between 0 and 1. */
    double tolerance;
    /* kg/m^3. */
    double density;
} mns_lattice_solve_options;

/*
 Receives one message: its level and UTF-8 text without a line end, valid during the call. Runs on the
 thread that called the library; must not throw.
 */
typedef void (*mns_log_callback)(void *user, int32_t level, const char *message);

/*
 Named numbers at the points of a mesh. Of a source, liquid takes the value of the nearest point of the mesh when it comes
 in and carries it: `viscosity` in Pa·s is how thick it is, every other name comes out again as surface.NAME and
 particle.NAME. Of a collider, `friction` from 0 to 1 goes before the scene's. Which names are carried is settled when the
 simulation is created, by the meshes that its sources have then.
 */
typedef struct mns_attribute {
    /* sizeof(mns_attribute). */
    uint32_t struct_size;
    /* 0. */
    uint32_t reserved;
    /* At most 64 letters, digits and _. */
    const char *name;
    /* One element for each point, of 1 to 4 numbers of any type; NaN where a point has no value of its own. */
    struct mns_array values;
} mns_attribute;

/* A mesh in memory for a scene that asks for a file of this name. */
typedef struct mns_named_mesh {
    /* sizeof(mns_named_mesh). */
    uint32_t struct_size;
    /* 0. */
    uint32_t reserved;
    /* The name that the scene gives as "file". */
    const char *name;
    /* Points, 3 numbers each, f32 or f64. */
    struct mns_array positions;
    /* Triangles, 3 indices each, counter-clockwise seen from outside. */
    struct mns_array triangles;
    /* What its points carry; may be NULL if attribute_count is 0. */
    const struct mns_attribute *attributes;
    /* Number of attributes. */
    size_t attribute_count;
} mns_named_mesh;

/*
 Numbers on a regular lattice, for a scene that names them under "fields" or, as distances, as the file of a mesh: then
 the mesh is the surface on which they are zero, negative inside. Between samples values are linear; half a step beyond
 the outermost samples the field ends.
 */
typedef struct mns_field {
    /* sizeof(mns_field). */
    uint32_t struct_size;
    /* 0. */
    uint32_t reserved;
    /* In settings, the name that the scene gives as a file; else not read. */
    const char *name;
    /* In mns_simulation_set_field, when, in frames; else not read. */
    double frame;
    /* Samples along each axis of the lattice. */
    uint64_t counts[3];
    /* Where the first sample is, in scene units. */
    double origin[3];
    /* The steps x y z from a sample to the next along the first axis, then along the second and the third, scene units. */
    double steps[9];
    /*
     One number a sample, or three for a vector; f32 or f64. Samples along the first axis stand side by side, then
     come those of the next along the second.
     */
    struct mns_array values;
} mns_field;

/* What the host decides. Fill with mns_settings_init, then change what you like; zero is the default. */
typedef struct mns_settings {
    /* sizeof(mns_settings). */
    uint32_t struct_size;
    /* Threads to use; 0 for what the scene says, or else all. The result does not depend on it. */
    uint32_t threads;
    /*
     Bytes that the simulation may hold; 0 for what the scene says, or else three quarters of what the machine or the
     control group of the process has. What will not fit is refused before it starts.
     */
    uint64_t memory_limit;
    /* Folder that mesh files of the scene are relative to and lie in, in UTF-8; NULL if the scene may read no files. */
    const char *mesh_folder;
    /* Meshes in memory that take the place of files of the same name; may be NULL if mesh_count is 0. */
    const struct mns_named_mesh *meshes;
    /* Number of meshes. */
    size_t mesh_count;
    /* Fields in memory that take the place of files of the same name; may be NULL if field_count is 0. */
    const struct mns_field *fields;
    /* Number of fields. */
    size_t field_count;
} mns_settings;

/* How big a scene will be, from its description alone. Set struct_size before the call. */
typedef struct mns_estimate {
    /* sizeof(mns_estimate). */
    uint32_t struct_size;
    /* 0. */
    uint32_t reserved;
    /* Cells in the domain, were all of it stored; 0 if it has no bounds. */
    uint64_t domain_cells;
    /* Cells of liquid once everything is poured. */
    uint64_t liquid_cells;
    /* Particles. */
    uint64_t particles;
    /* Bytes of memory. */
    uint64_t memory_bytes;
    /* Bytes on disk for each frame. */
    uint64_t disk_bytes_per_frame;
} mns_estimate;

/* What a progress callback sees. */
typedef struct mns_progress {
    /* Size of this struct in the library, at least what this header says for its version. */
    uint32_t struct_size;
    /* Substeps finished in this frame. */
    uint32_t substeps;
    /* The frame being computed. */
    int64_t frame;
    /* Share of the frame that is done, 0 to 1. */
    double fraction;
    /* What is being done, as "solve"; static text. */
    const char *stage;
    /* Liquid, cubic metres. */
    double volume;
} mns_progress;

/*
 Called several times a second on the thread that called the library. Returns 0 to go on, anything else to cancel;
 the call then ends within a second with MNS_ERROR_CANCELLED. It must not throw, and calls on the same
 handle from inside it give MNS_ERROR_BUSY.
 */
typedef int32_t (*mns_progress_callback)(void *user, const struct mns_progress *progress);

/* A mesh at one time, for geometry that deforms. */
typedef struct mns_mesh_sample {
    /* sizeof(mns_mesh_sample). */
    uint32_t struct_size;
    /* 0. */
    uint32_t reserved;
    /* When, in frames; need not be whole. */
    double frame;
    /* Points in the object's own coordinates and scene units, 3 numbers each, f32 or f64. */
    struct mns_array positions;
    /* Velocity at each point in scene units a second, used where the next sample has other triangles; count 0 for none. */
    struct mns_array velocities;
    /* Triangles, 3 indices each. They may differ from sample to sample. */
    struct mns_array triangles;
    /*
     What its points carry; between two samples with the same triangles values go from one to the other. May be NULL
     if attribute_count is 0.
     */
    const struct mns_attribute *attributes;
    /* Number of attributes. */
    size_t attribute_count;
} mns_mesh_sample;

/* How a frame went. Set struct_size before the call. */
typedef struct mns_report {
    /* sizeof(mns_report). */
    uint32_t struct_size;
    /* Substeps of the frame. */
    uint32_t substeps;
    /* The frame. */
    int64_t frame;
    /* Simulated seconds since the first frame. */
    double time;
    /* Seconds that the frame took. */
    double seconds;
    /* Seconds in each stage: advect surface, remesh, advect velocity, apply forces, solve, finish. */
    double stage_seconds[6];
    /* Liquid in the scene, cubic metres. */
    double volume;
    /* What was poured in less what left, cubic metres. */
    double volume_expected;
    /* Fastest liquid, metres a second. */
    double max_speed;
    /* The worst relative residual of the linear solves. */
    double residual;
    /* Iterations of all linear solves. */
    uint64_t iterations;
    /* Number of particles. */
    uint64_t particles;
    /* Cells with liquid. */
    uint64_t liquid_cells;
    /* Bytes held by the simulation's arrays. */
    uint64_t memory_bytes;
    /* Number of warnings; their text is in the report as JSON. */
    uint64_t warnings;
} mns_report;

#ifdef __cplusplus
extern "C" {
#endif

/*
 Copy an array's numbers, one after another, as 32-bit floats into memory of the caller. `capacity` is
 the room in `out` in floats; less than count times width is MNS_ERROR_INVALID.
 */
mns_result mns_array_copy_f32(const struct mns_array *array, float *out, size_t capacity);

/* Like mns_array_copy_f32, as 64-bit floats. */
mns_result mns_array_copy_f64(const struct mns_array *array, double *out, size_t capacity);

/*
 The message of the last call that failed on this thread, in UTF-8, with names and numbers; empty if
 none has failed. It is owned by the library and valid until the next call that fails on this thread.
 */
const char *mns_last_error(void);

/* The name of a code, as "MNS_ERROR_SCENE"; "unknown" for other numbers. Static text. */
const char *mns_result_name(mns_result result);

/*
 Build a grid of air without solids. `out` receives the handle, to be ended with mns_grid_destroy; it is
 NULL after an error.
 */
mns_result mns_grid_create(const struct mns_grid_options *options, struct mns_grid **out);

/*
 End a grid and wait for its threads. NULL is allowed and does nothing; MNS_ERROR_BUSY while another
 thread uses it.
 */
mns_result mns_grid_destroy(struct mns_grid *grid);

/*
 Set a field (copied). Arrays are f32 or f64 of width 1 and run along x first, then y, then z. With n cells along
 an axis there are n centres, n + 1 nodes and n + 1 faces across it; a flat grid has one layer of nodes.

     liquid_distance         centres   m, negative in liquid; continue it linearly into solids
     liquid_distance_nodes   nodes     the same given at nodes
     solid_distance          nodes     m, negative in solid; no solids if never set
     velocity_x, _y, _z      faces     m/s; at rest if never set
     solid_velocity_x, ...   faces     m/s; at rest if never set
     density                 centres   kg/m^3, or one value for all; 1000 if never set
     surface_pressure        centres   Pa, or one value for all; 0 if never set
     pressure                centres   Pa, the first guess of a solve; 0 if never set
     viscosity               centres   Pa s, or one value for all; 1 if never set
     slide                   centres   1 where the wall nearby lets liquid slide, 0 where it sticks, or one value for all;
                                       0 if never set; for viscosity and Stokes flow

 Faces on the border of the grid are closed and move with the solid velocity given there.
 */
mns_result mns_grid_set(struct mns_grid *grid,
                        const char *name,
                        const struct mns_array *values);

/*
 Solve for the pressure that makes the velocities keep the liquid's volume and stay out of solids, and
 apply it: u changes by -dt/density times the gradient of p. `info` may be NULL. Afterwards read
 pressure, velocity_x, _y, _z and known_x, _y, _z.
 Errors: INVALID (a field is missing or a number is absurd), DIVERGED, CANCELLED: the fields are as they were.
 */
mns_result mns_grid_solve_pressure(struct mns_grid *grid,
                                   const struct mns_pressure_options *options,
                                   struct mns_solve_info *info);

/*
 Apply viscosity to the velocities: u changes by dt/density times the divergence of the stress 2 mu e, implicitly, with
 no traction at the free surface, so that any step is stable. Pressure and volume are not looked at. `info` may be NULL.
 Afterwards read velocity_x, _y, _z, known_x, ... and stress_xx, _yy, _zz (centres), _xy, _yz, _xz (edges).
 Errors: INVALID, DIVERGED, CANCELLED: the fields are as they were.
 */
mns_result mns_grid_solve_viscosity(struct mns_grid *grid,
                                    const struct mns_stokes_options *options,
                                    struct mns_solve_info *info);

/*
 Solve for pressure and viscosity at once (unsteady Stokes flow): the volume is kept, walls stick or slide, and the surface
 bears the traction of surface_pressure alone. `info` may be NULL. Afterwards read pressure, velocity_x, _y, _z,
 known_x, ... and the trace-free stress_xx, _yy, _zz (centres), _xy, _yz, _xz (edges).
 Errors: INVALID, DIVERGED, CANCELLED: the fields are as they were.
 */
mns_result mns_grid_solve_stokes(struct mns_grid *grid,
                                 const struct mns_stokes_options *options,
                                 struct mns_solve_info *info);

/* Ask the solve that is running on a grid to stop; it returns MNS_ERROR_CANCELLED. May be called from any thread. */
mns_result mns_grid_interrupt(const struct mns_grid *grid);

/*
 A field of mns_grid_set, known_x, _y, _z (bytes: 1 on faces whose velocity the solve has set), or a stress_xx, ... of a
 viscosity or Stokes solve, as a flat view that is borrowed until the grid changes or ends. A field that was never set is empty.
 */
mns_result mns_grid_field(const struct mns_grid *grid,
                          const char *name,
                          struct mns_array *out);

/* Where the values of a field sit, f64 x 3, in the order of the field; borrowed until the grid ends. */
mns_result mns_grid_positions(const struct mns_grid *grid, const char *name, struct mns_array *out);

/*
 Version of the library that was loaded, counted as MNS_VERSION. While the major version is 0, header
 and library must agree in the minor version; later a library serves all older headers of its major version.
 */
int32_t mns_version(void);

/* How the library was built, as JSON: version, target, simulators, whether checks are on. Static text. */
const char *mns_build_info(void);

/*
 Fill the options of a lattice with defaults: 4 x 4 x 4 cells of 1/4 m from the origin, halved three times at most.
 `size` is sizeof(mns_lattice_options) of the caller's header.
 */
mns_result mns_lattice_options_init(struct mns_lattice_options *options,
                                    size_t size);

/*
 Fill the options of a solve with defaults: a step of 1/24 s, tolerance 1e-8, 1000 kg/m^3, the coupling blend, walls that
 stick. `size` is sizeof(mns_lattice_solve_options) of the caller's header.
 */
mns_result mns_lattice_solve_options_init(struct mns_lattice_solve_options *options,
                                          size_t size);

/*
 Build a lattice over a box. `sizing` may be NULL: then all cells are as fine as depth allows. Else it holds f32 or f64 x 4
 (x, y, z, width): the cell at each of these points is at most so wide, metres; cells grow by a factor of two at a
 time away from them. `out` receives the handle, to be ended with mns_lattice_destroy; it is NULL after an error.
 */
mns_result mns_lattice_create(const struct mns_lattice_options *options,
                              const struct mns_array *sizing,
                              struct mns_lattice **out);

/* End a lattice and wait for its threads. NULL is allowed and does nothing; MNS_ERROR_BUSY while another thread uses it. */
mns_result mns_lattice_destroy(struct mns_lattice *lattice);

/*
 Set a field (copied). Arrays are f32 or f64, in the order of mns_lattice_positions of the same name.

     liquid_distance   vertices   m, negative in liquid; continue it linearly into solids
     solid_distance    vertices   m, negative in solid; no solids if never set
     solid_velocity    vertices   x 3, m/s; at rest if never set
     velocity          faces      m/s along "normal" of mns_lattice_field; at rest if never set
     viscosity         tets       Pa s, or one value for all; 1 if never set
     pressure          cells      Pa, the first guess of a solve; 0 if never set

 The sides of the box let nothing through.
 */
mns_result mns_lattice_set(struct mns_lattice *lattice, const char *name, const struct mns_array *values);

/*
 Solve for the pressure that makes the velocities keep the liquid's volume and stay out of solids, and apply it.
 `info` may be NULL. Afterwards read pressure, velocity and known.
 Errors: INVALID (a field is missing or a number is absurd), DIVERGED, CANCELLED: the fields are as they were.
 */
mns_result mns_lattice_solve_pressure(struct mns_lattice *lattice,
                                      const struct mns_lattice_solve_options *options,
                                      struct mns_solve_info *info);

/*
 Apply viscosity to the velocities, implicitly, with no traction at the free surface, so that any step is stable. It is
 solved at vertices, with the stress 2 mu e of each tetrahedron. Pressure and volume are not looked at. `info` may be NULL.
 Afterwards read velocity, known and stress.
 Errors: INVALID, DIVERGED, CANCELLED: the fields are as they were.
 */
mns_result mns_lattice_solve_viscosity(struct mns_lattice *lattice,
                                       const struct mns_lattice_solve_options *options,
                                       struct mns_solve_info *info);

/* Ask the solve that is running on a lattice to stop; it returns MNS_ERROR_CANCELLED. May be called from any thread. */
mns_result mns_lattice_interrupt(const struct mns_lattice *lattice);

/*
 A field of mns_lattice_set or one of the following, as a flat view that is borrowed until the lattice changes or ends. A
 field that was never set is empty.

     known         faces   bytes: 1 on faces whose velocity the last solve has set
     stress        tets    f64 x 6, Pa: xx, yy, zz, xy, yz, xz of 2 mu e after the last solve of viscosity; 0 outside liquid
     normal        faces   f64 x 3: the direction along which the velocity counts
     tets                  u32 x 4: the vertices of each tetrahedron
     face_vertices         u32 x 4: round each face; the first again at the end of a triangle
 */
mns_result mns_lattice_field(const struct mns_lattice *lattice,
                             const char *name,
                             struct mns_array *out);

/* Where the values of a field sit, f64 x 3, in the order of the field; borrowed until the lattice ends. */
mns_result mns_lattice_positions(const struct mns_lattice *lattice, const char *name, struct mns_array *out);

/*
 Send messages up to a level to a callback, for the whole process; NULL (or MNS_LOG_NONE) for silence,
 which is the default: the library never prints. `user` is handed to the callback and may be NULL. The
 callback may be called from every thread that calls the library, also from several at once.
 */
mns_result mns_log_set(int32_t level, mns_log_callback callback, void *user);

/* Fill settings with defaults. `size` is sizeof(mns_settings) of the caller's header. */
mns_result mns_settings_init(struct mns_settings *settings, size_t size);

/*
 Fill the options of a grid with defaults: 32 x 32 x 32 cells of 1/32 m from the origin. `size` is
 sizeof(mns_grid_options) of the caller's header.
 */
mns_result mns_grid_options_init(struct mns_grid_options *options, size_t size);

/*
 Fill the options of a pressure solve with defaults: scheme area, a step of 1/24 s, tolerance 1e-6.
 `size` is sizeof(mns_pressure_options) of the caller's header.
 */
mns_result mns_pressure_options_init(struct mns_pressure_options *options, size_t size);

/*
 Fill the options of a viscosity or Stokes solve with defaults: a step of 1/24 s, tolerance 1e-8.
 `size` is sizeof(mns_stokes_options) of the caller's header.
 */
mns_result mns_stokes_options_init(struct mns_stokes_options *options, size_t size);

/*
 Check the JSON text of a scene (UTF-8, at most 16 MB) and estimate how big it will be, without
 building anything. `out` may be NULL to check only. MNS_ERROR_SCENE says in words which value is
 wrong and what is allowed there.
 */
mns_result mns_scene_estimate(const char *json, struct mns_estimate *out);

/*
 Build the scene of a JSON text (UTF-8, copied) at its first frame. `settings` may be NULL for the
 defaults. `out` receives the handle, to be ended with mns_simulation_destroy; it is NULL after an
 error. Each simulation has its own threads.
 Errors: SCENE (the message names the value), GEOMETRY, MEMORY, UNSUPPORTED, IO or FORMAT of mesh files.
 */
mns_result mns_simulation_create(const char *json,
                                 const struct mns_settings *settings,
                                 struct mns_simulation **out);

/*
 End a simulation and wait for its threads. NULL is allowed and does nothing. From inside a callback of the
 same simulation, or while another thread uses it, MNS_ERROR_BUSY: nothing has happened.
 */
mns_result mns_simulation_destroy(struct mns_simulation *simulation);

/*
 Compute the next frame. `progress` (may be NULL) is called on this thread several times a second with `user`
 (may be NULL) and returns non-zero to cancel. Borrowed arrays and texts of this simulation end here.
 Errors: CANCELLED, DIVERGED and MEMORY leave the last whole substep.
 */
mns_result mns_simulation_step(struct mns_simulation *simulation, mns_progress_callback progress, void *user);

/*
 Compute frames until `frame` is finished; nothing to do if it already is. Otherwise as
 mns_simulation_step. To go back, load a saved state or create the simulation anew.
 */
mns_result mns_simulation_advance(struct mns_simulation *simulation,
                                  int64_t frame,
                                  mns_progress_callback progress,
                                  void *user);

/*
 Ask the call that is computing a frame to stop; it returns MNS_ERROR_CANCELLED within a second. May be called
 from any thread, also from a callback. Without such a call it does nothing.
 */
mns_result mns_simulation_interrupt(const struct mns_simulation *simulation);

/*
 Replace the geometry of a named object of the scene from the present frame on. `kind` is one of the MNS_GEOMETRY
 constants. `samples` are `count` meshes at rising frames (copied). Between two samples with the same triangles
 the object moves from one to the other: a rigid motion is found out and followed as one, so that what turns keeps
 its size; what deforms moves its points besides. Where triangles change, the velocities given carry the earlier
 sample, or else one surface is blended into the other. Before the first sample the object moves there from
 the mesh that it has now, so that one sample a frame will do; after the last it stands still, as it does with
 one sample at or before the present frame. The object's own transform stays. Send samples for the frame to come
 before each step to feed an animated character, and what is painted on it. A sample without triangles is an object
 that is not there: as the first one it takes the object away until it is sent again, as a later one it ends the list.
 Saved states do not hold geometry: send it again after a load.
 A body moves by itself: it takes one sample, a closed mesh, which holds at once whatever its frame. It stays where it
 is and every point goes on as it moved; inertia follows from the mesh, and mass too where the scene gives a density.
 Errors: INVALID (no object has this name, frames do not rise), GEOMETRY (the message names the defect). After an error
 the geometry is as it was.
 */
mns_result mns_simulation_set_geometry(struct mns_simulation *simulation,
                                       int32_t kind,
                                       const char *name,
                                       const struct mns_mesh_sample *samples,
                                       size_t count);

/*
 Replace a field that the scene names under "fields" by `samples`, `count` of them at rising frames (copied). Between two
 frames values go from one to the other; before the first and after the last they stay. For a host whose volumes are
 animated: send those of the frame to come, and of its beginning, before each step. What was simulated stays. Saved states
 do not hold fields: send them again after a load.
 Errors: INVALID (no field has this name, frames do not rise, numbers are not finite, another width than the kind of field
 has). After an error the field is as it was.
 */
mns_result mns_simulation_set_field(struct mns_simulation *simulation,
                                    const char *name,
                                    const struct mns_field *samples,
                                    size_t count);

/*
 Replace a number of the scene by values at rising frames, for a host whose slider is animated: send them up to the
 frame to come before each step. `path` names the number as liquids[0].viscosity; it must be one that the scene may
 animate. `keys` are f32 or f64 rows of a frame and one value (width 2), or three for a vector (width 4), in the unit
 that the scene has there; a switch is on where its value is not 0. What was simulated stays. Saved states do not hold
 keys: send them again after a load.
 Errors: INVALID, SCENE (no number can be animated there, or a value is not allowed). Then the scene is as it was.
 */
mns_result mns_simulation_set_keys(struct mns_simulation *simulation,
                                   const char *path,
                                   const struct mns_array *keys);

/*
 The complete state as bytes: a simulation of the same scene continues from it bit for bit. The bytes
 are borrowed until the next save, step, load or destroy. Also works after MNS_ERROR_PANIC, and then
 gives the last whole substep.
 */
mns_result mns_simulation_save(struct mns_simulation *simulation, struct mns_array *out);

/*
 Save the state to a file. The file appears whole or not at all; an old one of the same name is replaced.
 `path` is UTF-8. Also works after MNS_ERROR_PANIC.
 */
mns_result mns_simulation_save_file(struct mns_simulation *simulation, const char *path);

/* Continue from saved bytes of the same scene. After an error the simulation is as it was. */
mns_result mns_simulation_load(struct mns_simulation *simulation, const uint8_t *data, size_t size);

/* Continue from a file written by mns_simulation_save_file. After an error the simulation is as it was. */
mns_result mns_simulation_load_file(struct mns_simulation *simulation, const char *path);

/* The last finished frame. */
mns_result mns_simulation_frame(const struct mns_simulation *simulation, int64_t *out);

/*
 Liquid in the scene in cubic metres: `volume` as measured, `expected` what was poured in less what left. Either
 may be NULL.
 */
mns_result mns_simulation_volume(const struct mns_simulation *simulation,
                                 double *volume,
                                 double *expected);

/* How the last frame went. Set out->struct_size first. */
mns_result mns_simulation_report(const struct mns_simulation *simulation, struct mns_report *out);

/*
 The same report with everything in it, also warnings and the places of colliders, as JSON. The text is
 borrowed until the simulation changes or ends.
 */
mns_result mns_simulation_report_json(const struct mns_simulation *simulation, const char **out);

/*
 A field by its name, as a flat view that is borrowed until the simulation changes or ends. Metres and metres a
 second, Y up, whatever the unit of the scene.

     surface.position    f64 x 3    vertices of the liquid's surface
     surface.triangle    u32 x 3    its triangles, counter-clockwise from outside
     surface.velocity    f32 x 3    velocity at its vertices
     particle.position   f64 x 3    the particles of the liquid
     particle.velocity   f64 x 3
     particle.id         u64        never used twice
     collider.pose       f64 x 8    for each collider of the scene, then for each body: translation, rotation as a
                                    quaternion w x y z, scale
     body.velocity       f64 x 6    for each body: velocity of its centre of mass, angular velocity in radians
     body.force          f64 x 6    for each body: force of the liquid in newtons, torque about the centre of mass
     cell.position       f64 x 3    the cells on which pressure is solved; those of mac are cubes, sorted by tiles
     cell.velocity       f64 x 3    velocity of the liquid there
     cell.pressure       f64        Pa, 0 outside the liquid
     cell.distance       f64        metres to the surface, negative in liquid; exact near the surface, cut off further away
     face.position_x     f64 x 3    the lower face of each cell of mac across x, and so _y, _z; empty for bcc
     face.velocity_x     f64        the velocity along x there, and so _y, _z; a flat scene has none across z
     surface.NAME        f32        what the liquid carries: attributes of its sources, and viscosity, age or phase
     particle.NAME       f32        if the scene's outputs ask for them; as many numbers each as the attribute has
 */
mns_result mns_simulation_field(const struct mns_simulation *simulation,
                                const char *name,
                                struct mns_array *out);

/*
 The name of field number `index`, counted from 0, as text that lives as long as the simulation; MNS_ERROR_INVALID
 after the last.
 */
mns_result mns_simulation_field_name(const struct mns_simulation *simulation,
                                     size_t index,
                                     const char **out);

/*
 The triangles of a collider or body at the present frame in its own coordinates, for pictures; place them with
 collider.pose. Borrowed until the simulation changes or ends. A plane has no triangles.
 */
mns_result mns_simulation_collider_mesh(const struct mns_simulation *simulation,
                                        const char *name,
                                        struct mns_array *positions,
                                        struct mns_array *triangles);

#ifdef __cplusplus
}
#endif

#endif  /* MENISCUS_H */
