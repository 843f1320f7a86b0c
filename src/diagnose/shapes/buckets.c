#include "diagnose/shapes/buckets.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

// The sizes that round up to the same bound.
typedef struct step {
    uint64_t bound;           // the sizes are padded to it
    uint64_t compile_ns;      // of the largest of these sizes
    double weights, elements; // sums over this step and all before it
} step;

typedef struct table {
    step *steps;    // owned; [0] is before the first size
    double *cost;   // owned; [j]: least padding of the first j steps, for one number of buckets
    double *next;   // owned; the same with one more bucket
    uint16_t *from; // owned; [k * (count + 1) + j]: where the last of k + 1 buckets begins
    size_t count;
} table;

static void table_cleanup(table *t) {
    rk_free(t->steps);
    rk_free(t->cost);
    rk_free(t->next);
    rk_free(t->from);
}

static int compare_sizes(const void *a, const void *b) {
    const rk_bucket_size *one = a, *other = b;
    return (one->size > other->size) - (one->size < other->size);
}

static rk_err *allocate(table *t, size_t count, size_t plans) {
    t->steps = rk_calloc(count + 1, sizeof *t->steps);
    t->cost = rk_calloc(count + 1, sizeof *t->cost);
    t->next = rk_calloc(count + 1, sizeof *t->next);
    t->from = rk_calloc((count + 1) * plans, sizeof *t->from);
    return t->steps && t->cost && t->next && t->from ? NULL : rk_err_no_memory();
}

static rk_err *add_size(table *t, const rk_bucket_size *size, uint64_t multiple) {
    uint64_t bound;
    if (__builtin_add_overflow(size->size, multiple - 1, &bound))
        return rk_error(RK_OUT_OF_RANGE, "a size of %llu cannot be rounded up",
                        (unsigned long long)size->size);
    bound -= bound % multiple;
    step *last = &t->steps[t->count];
    if (t->count == 0 || last->bound != bound) {
        last = &t->steps[++t->count];
        *last = last[-1];
        last->bound = bound;
    }
    last->compile_ns = size->compile_ns; // sizes are sorted
    last->weights += (double)size->weight;
    last->elements += (double)size->weight * (double)size->size;
    return NULL;
}

// The padding if the steps after `from`, up to `to`, share a bucket.
static double padding(const table *t, size_t from, size_t to) {
    const step *first = &t->steps[from], *last = &t->steps[to];
    return (double)last->bound * (last->weights - first->weights) -
           (last->elements - first->elements);
}

// Computes the least padding with k + 1 buckets from that with k buckets. For k = 0 the only bucket
// begins at the first size.
static void add_bucket(table *t, size_t k) {
    for (size_t to = k + 1; to <= t->count; to++) {
        size_t begin = k, end = k == 0 ? 1 : to;
        double least = 0;
        for (size_t from = begin; from < end; from++) {
            double cost = t->cost[from] + padding(t, from, to);
            if (from > begin && cost >= least)
                continue;
            least = cost;
            t->from[k * (t->count + 1) + to] = (uint16_t)from;
        }
        t->next[to] = least;
    }
    double *spent = t->cost;
    t->cost = t->next;
    t->next = spent;
}

static void read_plan(const table *t, size_t buckets, uint64_t all_ns, rk_bucket_plan *out_plan) {
    *out_plan = (rk_bucket_plan){.count = buckets};
    size_t to = t->count;
    for (size_t k = buckets; k > 0; k--) {
        out_plan->bounds[k - 1] = t->steps[to].bound;
        out_plan->compile_ns += t->steps[to].compile_ns;
        to = t->from[(k - 1) * (t->count + 1) + to];
    }
    out_plan->padded = t->cost[t->count];
    double elements = t->steps[t->count].elements + out_plan->padded;
    out_plan->waste = elements > 0 ? out_plan->padded / elements : 0;
    out_plan->saved_ns = all_ns > out_plan->compile_ns ? all_ns - out_plan->compile_ns : 0;
}

static rk_err *plan_sorted(const rk_bucket_size *sizes, size_t count, uint64_t multiple,
                           size_t max_plans, rk_bucket_plan *out_plans, size_t *out_count) {
    __attribute__((cleanup(table_cleanup))) table t = {0};
    uint64_t all_ns = 0;
    RK_TRY(allocate(&t, count, max_plans));
    for (size_t i = 0; i < count; i++) {
        RK_TRY(add_size(&t, &sizes[i], multiple));
        if (__builtin_add_overflow(all_ns, sizes[i].compile_ns, &all_ns))
            return rk_error(RK_OUT_OF_RANGE, "the time to compile all sizes is out of range");
    }
    for (size_t k = 0; k < max_plans && k < t.count; k++) {
        add_bucket(&t, k);
        read_plan(&t, k + 1, all_ns, &out_plans[(*out_count)++]);
    }
    return NULL;
}

rk_err *rk_buckets_plan(const rk_bucket_size *sizes, size_t count, uint64_t multiple,
                        size_t max_plans, rk_bucket_plan *out_plans, size_t *out_count) {
    *out_count = 0;
    if (count == 0 || multiple == 0 || max_plans == 0)
        return rk_error(RK_INVALID_ARGUMENT, "there are no sizes to plan buckets for");
    if (count > RK_BUCKETS_MAX_SIZES)
        return rk_error(RK_OUT_OF_RANGE, "too many sizes: %zu (maximum %d)", count,
                        RK_BUCKETS_MAX_SIZES);
    if (max_plans > RK_BUCKETS_MAX)
        max_plans = RK_BUCKETS_MAX;
    rk_autofree rk_bucket_size *sorted = rk_calloc(count, sizeof *sorted);
    if (!sorted)
        return rk_err_no_memory();
    memcpy(sorted, sizes, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_sizes);
    return plan_sorted(sorted, count, multiple, max_plans, out_plans, out_count);
}

size_t rk_buckets_choose(const rk_bucket_plan *plans, size_t count, double max_waste) {
    for (size_t i = 0; i < count; i++)
        if (plans[i].waste <= max_waste)
            return i;
    return count > 0 ? count - 1 : 0;
}
