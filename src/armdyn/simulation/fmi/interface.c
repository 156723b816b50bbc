/*
 * What FMI 2.0 and 3.0 have in common: instances, phases, variables by value reference.
 */

enum phase { INSTANTIATED, INITIALIZING, EVENT_MODE, CONTINUOUS_TIME, STEPPING, TERMINATED, BROKEN };
enum { STATES_COUNT = 2 * N + WORKS, INDICATORS = SURFACES + WATCHED };

typedef struct {
    arm a;
    enum phase phase;
    int co_simulation, logging, early_return;
    void *environment;
    LOGGER logger;
    RELEASE_TYPE release;
    char name[128];
} instance;

/* What get and set FMU state copy. */
typedef struct {
    arm_state s;
    enum phase phase;
} snapshot;

static int started(const instance *i) { return i->phase >= EVENT_MODE; }

/* Rate and outputs at the present state. During initialization the modes are not decided yet. */
static int updated(instance *i)
{
    if (i->phase >= EVENT_MODE)
        return update_values(&i->a);
    if (!i->a.parameters_set && !i->a.inputs_set && !i->a.state_set)
        return 1;
    const arm_state kept = i->a.s;
    i->a.problem = NULL;
    const int good = begin(&i->a) && update_values(&i->a);
    i->a.s = kept;
    return good;
}

/* The number of a block's variable that a value reference stands for; -1 if it is of another block. */
static int in_block(unsigned reference, unsigned first, int count)
{
    return reference >= first && reference < first + (unsigned)count ? (int)(reference - first) : -1;
}

static int get_real(instance *i, unsigned reference, double *value)
{
    arm *a = &i->a;
    int k;
    if (reference == 0) {
        *value = started(i) ? a->s.t : a->s.start;
        return 1;
    }
    if ((k = in_block(reference, VR_STATES, STATES_COUNT)) >= 0) {
        *value = a->s.x[index_of_state(k)];
        return 1;
    }
    if ((k = in_block(reference, VR_INPUTS, INPUTS)) >= 0) {
        *value = a->s.u[k];
        return 1;
    }
    if ((k = in_block(reference, VR_PARAMETERS, PARAMETERS)) >= 0) {
        *value = a->s.p[k];
        return 1;
    }
    if ((k = in_block(reference, VR_TIMES, 2)) >= 0) {
        *value = k ? a->s.limit_time : a->s.change_time;
        return 1;
    }
    if (!updated(i))
        return 0;
    if ((k = in_block(reference, VR_DERIVATIVES, STATES_COUNT)) >= 0) {
        *value = a->now[index_of_state(k)];
        return 1;
    }
    if ((k = in_block(reference, VR_OUTPUTS, OUTPUTS)) >= 0) {
        *value = a->y[k];
        return 1;
    }
    if ((k = in_block(reference, VR_INDICATORS, INDICATORS)) >= 0) {
        double z[SIZE(INDICATORS)];
        indicators(a, z);
        *value = z[k];
        return 1;
    }
    return failed(a, "there is no real variable with this value reference");
}

static int set_real(instance *i, unsigned reference, double value)
{
    arm *a = &i->a;
    int k;
    a->problem = NULL;
    if (!(fabs(value) <= 1.7976931348623157e308))
        return failed(a, "a value is not a finite number");
    if ((k = in_block(reference, VR_INPUTS, INPUTS)) >= 0) {
        a->inputs_set |= a->s.u[k] != value;
        a->s.u[k] = value;
        return 1;
    }
    if ((k = in_block(reference, VR_PARAMETERS, PARAMETERS)) >= 0) {
        if (value < least_of_parameters[k])
            return failed(a, "a parameter is less than its least value");
        a->s.p[k] = value;
        a->parameters_set = 1;
        return 1;
    }
    if ((k = in_block(reference, VR_STATES, STATES_COUNT)) >= 0) {
        if (started(i))
            return failed(a, "states are set before the simulation begins only");
        a->s.x[index_of_state(k)] = value;
        a->state_set = 1;
        return 1;
    }
    return failed(a, "no real variable with this value reference can be set");
}

static int get_integer(instance *i, unsigned reference, int *value)
{
    const int k = in_block(reference, VR_INTEGERS, SURFACES + 1);
    if (k < 0)
        return failed(&i->a, "there is no integer with this value reference");
#if SURFACES
    if (k < SURFACES) {
        if (!started(i)) {
            const arm_state kept = i->a.s;
            if (!begin(&i->a))
                return 0;
            *value = (int)i->a.s.x[MODES_AT + k];
            i->a.s = kept;
            i->a.state_set = i->a.parameters_set = 1;
            return 1;
        }
        *value = (int)i->a.s.x[MODES_AT + k];
        return 1;
    }
#endif
    *value = i->a.s.first_passed;
    return 1;
}

static int get_boolean(instance *i, unsigned reference, int *value)
{
    if (reference != VR_STOP)
        return failed(&i->a, "there is no Boolean with this value reference");
    *value = i->a.s.stop_at_limits;
    return 1;
}

static int set_boolean(instance *i, unsigned reference, int value)
{
    i->a.problem = NULL;
    if (reference != VR_STOP)
        return failed(&i->a, "there is no Boolean with this value reference");
    i->a.s.stop_at_limits = value != 0;
    return 1;
}

/* Changes of unknowns with knowns, which are states and inputs, while modes stay as they are. */
static int slopes(instance *i, const unsigned *unknowns, size_t m, const unsigned *knowns, size_t n,
                  const double *seed, double *found)
{
    arm *a = &i->a;
    int k;
    double dx[2 * N] = {0}, du[SIZE(INPUTS)] = {0}, qdd[N], powers[SIZE(WORKS)] = {0}, dy[SIZE(OUTPUTS)];
    a->problem = NULL;
    for (size_t j = 0; j < n; ++j) {
        if ((k = in_block(knowns[j], VR_STATES, STATES_COUNT)) >= 0) {
            if (k < 2 * N)
                dx[k] = seed[j];
        } else if ((k = in_block(knowns[j], VR_INPUTS, INPUTS)) >= 0)
            du[k] = seed[j];
        else
            return failed(a, "derivatives are by states and inputs");
    }
    if (!updated(i))
        return 0;
    model_slopes(a->s.x, a->constants, a->gears, dx, du, qdd, powers, dy);
    for (size_t j = 0; j < m; ++j) {
        if ((k = in_block(unknowns[j], VR_DERIVATIVES, STATES_COUNT)) >= 0)
            found[j] = k < N ? dx[N + k] : k < 2 * N ? qdd[k - N] : powers[k - 2 * N];
        else if ((k = in_block(unknowns[j], VR_OUTPUTS, OUTPUTS)) >= 0)
            found[j] = dy[k];
        else if ((k = in_block(unknowns[j], VR_STATES, 2 * N)) >= 0)
            found[j] = dx[k];
        else
            return failed(a, "derivatives are of derivatives of states and of real outputs");
    }
    return 1;
}

static void to_start(instance *i)
{
    start_values(&i->a);
    i->phase = INSTANTIATED;
}

static int set_up(instance *i, int tolerance_given, double tolerance, double start)
{
    arm *a = &i->a;
    a->problem = NULL;
    if (!(fabs(start) <= 1e300))
        return failed(a, "the start time is not a finite number");
    a->s.start = a->s.t = start;
    if (tolerance_given) {
        if (!(tolerance > 0 && tolerance < 1))
            return failed(a, "tolerance: a number between 0 and 1 is expected");
        a->s.rtol = smaller_of(tolerance, 1e-6); /* never coarser: changes of mode are to be found */
        a->s.atol = 0.01 * a->s.rtol;
    }
    return 1;
}

static int initialized(instance *i)
{
    i->a.problem = NULL;
    if (!begin(&i->a))
        return 0;
    i->phase = i->co_simulation ? STEPPING : EVENT_MODE;
    return 1;
}

static void set_states(instance *i, const double *x)
{
    for (int k = 0; k < STATES_COUNT; ++k)
        i->a.s.x[index_of_state(k)] = x[k];
    i->a.state_set = 1;
}

static void restore(instance *i, const snapshot *kept)
{
    i->a.s = kept->s;
    i->phase = kept->phase;
    i->a.problem = NULL;
    i->a.parameters_set = i->a.inputs_set = i->a.state_set = 1;
}
