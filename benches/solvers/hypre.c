/* Solve a system written by `cargo bench --bench linalg -- export` with hypre's BoomerAMG as
   preconditioner of conjugate gradients, and print set-up and solve seconds of the processor, iterations and peak memory.
   Options are the ones hypre recommends for 3D Poisson: HMIS coarsening, extended+i interpolation
   with at most 4 entries a row, one sweep of symmetric hybrid Gauss-Seidel; "aggressive" coarsens the first
   level twice, "classic" is Falgout coarsening with classical interpolation. */
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static void *take(FILE *file, size_t bytes) {
    void *data = malloc(bytes ? bytes : 1);
    if (!data || fread(data, 1, bytes, file) != bytes) {
        fprintf(stderr, "the file is too short\n");
        exit(1);
    }
    return data;
}

/* Seconds of processor time: what counts on a machine that others use. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    HYPRE_Init();
    const char *kind = argc > 2 ? argv[2] : "hmis";
    int strong = !strcmp(kind, "classic"), aggressive = !strcmp(kind, "aggressive");
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (!file) {
        fprintf(stderr, "usage: hypre FILE [hmis|classic|aggressive]\n");
        return 1;
    }
    uint64_t *head = take(file, 16);
    HYPRE_Int n = (HYPRE_Int)head[0], entries = (HYPRE_Int)head[1];
    uint32_t *offsets = take(file, 4 * (size_t)(n + 1));
    uint32_t *columns = take(file, 4 * (size_t)entries);
    double *values = take(file, 8 * (size_t)entries), *rhs = take(file, 8 * (size_t)n);
    fclose(file);

    HYPRE_IJMatrix matrix;
    HYPRE_IJVector b, x;
    HYPRE_IJMatrixCreate(MPI_COMM_WORLD, 0, n - 1, 0, n - 1, &matrix);
    HYPRE_IJMatrixSetObjectType(matrix, HYPRE_PARCSR);
    HYPRE_Int *lengths = malloc(sizeof(HYPRE_Int) * n), *rows = malloc(sizeof(HYPRE_Int) * n);
    for (HYPRE_Int i = 0; i < n; i++) {
        lengths[i] = offsets[i + 1] - offsets[i];
        rows[i] = i;
    }
    HYPRE_IJMatrixSetRowSizes(matrix, lengths);
    HYPRE_IJMatrixInitialize(matrix);
    HYPRE_IJMatrixSetValues(matrix, n, lengths, rows, (HYPRE_Int *)columns, values);
    HYPRE_IJMatrixAssemble(matrix);
    HYPRE_IJVectorCreate(MPI_COMM_WORLD, 0, n - 1, &b);
    HYPRE_IJVectorSetObjectType(b, HYPRE_PARCSR);
    HYPRE_IJVectorInitialize(b);
    HYPRE_IJVectorSetValues(b, n, rows, rhs);
    HYPRE_IJVectorAssemble(b);
    HYPRE_IJVectorCreate(MPI_COMM_WORLD, 0, n - 1, &x);
    HYPRE_IJVectorSetObjectType(x, HYPRE_PARCSR);
    HYPRE_IJVectorInitialize(x);
    memset(rhs, 0, 8 * (size_t)n);
    HYPRE_IJVectorSetValues(x, n, rows, rhs);
    HYPRE_IJVectorAssemble(x);
    free(offsets);
    free(columns);
    free(values);
    free(rhs);
    free(lengths);
    free(rows);

    HYPRE_ParCSRMatrix a;
    HYPRE_ParVector pb, px;
    HYPRE_IJMatrixGetObject(matrix, (void **)&a);
    HYPRE_IJVectorGetObject(b, (void **)&pb);
    HYPRE_IJVectorGetObject(x, (void **)&px);
    HYPRE_Solver cg, amg;
    HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &cg);
    HYPRE_PCGSetTol(cg, 1e-6);
    HYPRE_PCGSetMaxIter(cg, 500);
    HYPRE_PCGSetTwoNorm(cg, 1);
    HYPRE_BoomerAMGCreate(&amg);
    HYPRE_BoomerAMGSetTol(amg, 0.0);
    HYPRE_BoomerAMGSetMaxIter(amg, 1);
    HYPRE_BoomerAMGSetStrongThreshold(amg, strong ? 0.25 : 0.5);
    HYPRE_BoomerAMGSetCoarsenType(amg, strong ? 6 : 10);
    HYPRE_BoomerAMGSetInterpType(amg, strong ? 0 : 6);
    HYPRE_BoomerAMGSetPMaxElmts(amg, strong ? 0 : 4);
    HYPRE_BoomerAMGSetAggNumLevels(amg, aggressive ? 1 : 0);
    HYPRE_BoomerAMGSetRelaxType(amg, 6);
    HYPRE_BoomerAMGSetNumSweeps(amg, 1);
    HYPRE_PCGSetPrecond(cg, (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSolve, (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSetup, amg);
    double start = now();
    HYPRE_ParCSRPCGSetup(cg, a, pb, px);
    double middle = now();
    HYPRE_ParCSRPCGSolve(cg, a, pb, px);
    double end = now();
    HYPRE_Int iterations;
    double residual;
    HYPRE_PCGGetNumIterations(cg, &iterations);
    HYPRE_PCGGetFinalRelativeResidualNorm(cg, &residual);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"solver\":\"hypre boomeramg-cg %s\",\"setup\":%.4f,\"solve\":%.4f,\"iterations\":%d,\"residual\":%.2e,\"peak_mb\":%.0f}\n",
           kind, middle - start, end - middle, (int)iterations, residual, usage.ru_maxrss / 1024.0);
    HYPRE_Finalize();
    MPI_Finalize();
    return 0;
}
