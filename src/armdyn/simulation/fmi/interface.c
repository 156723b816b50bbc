/*
 * What FMI 2.0 and 3.0 have in common: instances, phases, variables by value reference.
 */

enum phase { INSTANTIATED, INITIALIZING, EVENT_MODE, CONTINUOUS_TIME, STEPPING, TERMINATED };
enum { STATES_COUNT = 2 * N + WORKS, INDICATORS = SURFACES + WATCHED };

typedef struct {
    arm a;
    enum phase phase;
    int co_simulation, logging, early_return;
    int outside; /* the last problem is the state: with another one nearby it can go on */
    void *environment;
    LOGGER logger;
    RELEASE_TYPE release;
    char name[128];
} instance;

/* What get and set FMU state copy. */
typedef struct {
    char token[sizeof TOKEN];
    int co_simulation;
    enum phase phase;
    arm_state s;
} snapshot;

static int started(const instance *i) { return i->phase >= EVENT_MODE; }

/* Rate and outputs at the present state, or at the start that is set. */
static int updated(instance *i)
{
    if (!i->a.parameters_set && !i->a.inputs_set && !i->a.state_set)
        return 1;
    i->a.problem = NULL;
    const int good = (started(i) || begin(&i->a)) && update_values(&i->a);
    i->outside = !good && i->phase == CONTINUOUS_TIME;
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
    if (!started(i) && !updated(i))
        return 0;
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
    if (i->phase == TERMINATED)
        return failed(a, "the simulation has ended");
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
    if (!started(i) && !updated(i))
        return 0;
    *value = k < SURFACES ? (int)i->a.s.x[MODES_AT + k] : i->a.s.first_passed;
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
    if (i->phase == TERMINATED)
        return failed(&i->a, "the simulation has ended");
    i->a.s.stop_at_limits = value != 0;
    return 1;
}

/* Changes of unknowns with knowns, which are states and inputs, while modes stay as they are. */
static int slopes(instance *i, const unsigned *unknowns, size_t m, const unsigned *knowns, size_t n,
                  const double *seed, double *found)
{
    arm *a = &i->a;
    int k;
    double dx[STATES_COUNT] = {0}, du[SIZE(INPUTS)] = {0}, qdd[N], powers[SIZE(WORKS)] = {0}, dy[SIZE(OUTPUTS)];
    a->problem = NULL;
    for (size_t j = 0; j < n; ++j) {
        if ((k = in_block(knowns[j], VR_STATES, STATES_COUNT)) >= 0)
            dx[k] = seed[j];
        else if ((k = in_block(knowns[j], VR_INPUTS, INPUTS)) >= 0)
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
        else if ((k = in_block(unknowns[j], VR_STATES, STATES_COUNT)) >= 0)
            found[j] = dx[k];
        else if (in_block(unknowns[j], VR_TIMES, 2) >= 0)
            found[j] = 0;
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

static int set_up(instance *i, int tolerance_given, double tolerance, double start, int stop_given, double stop)
{
    arm *a = &i->a;
    a->problem = NULL;
    if (!(fabs(start) <= 1e300))
        return failed(a, "the start time is not a finite number");
    if (stop_given && !(stop >= start && stop <= 1e300))
        return failed(a, "the stop time is before the start time, or not a finite number");
    a->s.start = a->s.t = start;
    a->s.stop = stop_given ? stop : 1e308;
    a->state_set = 1;
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

/* Co-simulation: one step of the importer. */
static int stepped(instance *i, double now, double step)
{
    arm *a = &i->a;
    a->problem = NULL;
    if (!(step > 0 && step < 1e300))
        return failed(a, "the step is not a positive number");
    if (!(fabs(now - a->s.t) <= 1e-9 * (1 + fabs(now))))
        return failed(a, "the step does not begin where the last one ended");
    if (now + step > a->s.stop + 1e-9 * (1 + fabs(a->s.stop)))
        return failed(a, "the step goes beyond the stop time");
    return go_on(a, now + step);
}

/* ---- functions that are the same in both but for their names ------------------------------------------- */

#define PART(i) ((instance *)(i))
#define NEED(condition, text)          \
    do {                               \
        if (!(condition))              \
            return bad(PART(c), text); \
    } while (0)
#define WRONG_PHASE "this function cannot be called now"

static void say(instance *i, FMI(Status) status, const char *category, const char *text);

static FMI(Status) bad(instance *i, const char *text)
{
    say(i, FMI(Error), "logStatusError", text);
    return FMI(Error);
}

static FMI(Status) told(instance *i, int good)
{
    const char *text = i->a.problem ? i->a.problem : "something went wrong";
    if (good || !i->outside)
        return good ? FMI(OK) : bad(i, text);
    i->outside = 0;
    say(i, FMI(Discard), "logStatusDiscard", text);
    return FMI(Discard);
}

FMI(Status) FMI(SetDebugLogging)(INSTANCE c, FMI(Boolean) on, size_t n, const FMI(String) categories[])
{
    (void)n;
    (void)categories;
    PART(c)->logging = on;
    return FMI(OK);
}

FMI(Status) FMI(ExitInitializationMode)(INSTANCE c)
{
    NEED(PART(c)->phase == INITIALIZING, WRONG_PHASE);
    return told(PART(c), initialized(PART(c)));
}

FMI(Status) FMI(EnterEventMode)(INSTANCE c)
{
    NEED(PART(c)->phase == CONTINUOUS_TIME || PART(c)->phase == EVENT_MODE, WRONG_PHASE);
    PART(c)->phase = EVENT_MODE;
    return FMI(OK);
}

FMI(Status) FMI(EnterContinuousTimeMode)(INSTANCE c)
{
    NEED(PART(c)->phase == EVENT_MODE, WRONG_PHASE);
    PART(c)->phase = CONTINUOUS_TIME;
    return FMI(OK);
}

FMI(Status) FMI(Terminate)(INSTANCE c)
{
    NEED(started(PART(c)) && PART(c)->phase != TERMINATED, WRONG_PHASE);
    PART(c)->phase = TERMINATED;
    return FMI(OK);
}

FMI(Status) FMI(Reset)(INSTANCE c)
{
    to_start(PART(c));
    return FMI(OK);
}

FMI(Status) FMI(GetFMUState)(INSTANCE c, FMI(FMUState) *state)
{
    snapshot *kept = *state ? *state : malloc(sizeof *kept);
    NEED(kept, "there is not enough memory");
    memset(kept, 0, sizeof *kept);
    memcpy(kept->token, TOKEN, sizeof kept->token);
    kept->co_simulation = PART(c)->co_simulation;
    kept->phase = PART(c)->phase;
    kept->s = PART(c)->a.s;
    *state = kept;
    return FMI(OK);
}

FMI(Status) FMI(SetFMUState)(INSTANCE c, FMI(FMUState) state)
{
    const snapshot *kept = state;
    instance *i = PART(c);
    NEED(kept, "no state was given");
    NEED(kept->co_simulation == i->co_simulation, "the state is of an instance of the other kind");
    i->a.s = kept->s;
    i->phase = kept->phase;
    i->a.problem = NULL;
    i->a.parameters_set = i->a.inputs_set = i->a.state_set = 1;
    return FMI(OK);
}

FMI(Status) FMI(FreeFMUState)(INSTANCE c, FMI(FMUState) *state)
{
    (void)c;
    if (state) {
        free(*state);
        *state = NULL;
    }
    return FMI(OK);
}

FMI(Status) FMI(SerializedFMUStateSize)(INSTANCE c, FMI(FMUState) state, size_t *size)
{
    (void)c;
    (void)state;
    *size = sizeof(snapshot);
    return FMI(OK);
}

FMI(Status) FMI(SerializeFMUState)(INSTANCE c, FMI(FMUState) state, FMI(Byte) bytes[], size_t size)
{
    NEED(state && size >= sizeof(snapshot), "the bytes are too few");
    memcpy(bytes, state, sizeof(snapshot));
    return FMI(OK);
}

FMI(Status) FMI(DeserializeFMUState)(INSTANCE c, const FMI(Byte) bytes[], size_t size, FMI(FMUState) *state)
{
    NEED(size == sizeof(snapshot) && memcmp(bytes, TOKEN, sizeof TOKEN) == 0,
         "the bytes are not a state of this FMU");
    snapshot *kept = *state ? *state : malloc(sizeof *kept);
    NEED(kept, "there is not enough memory");
    memcpy(kept, bytes, sizeof *kept);
    *state = kept;
    return FMI(OK);
}

FMI(Status) FMI(CompletedIntegratorStep)(INSTANCE c, FMI(Boolean) final, FMI(Boolean) *enter, FMI(Boolean) *end)
{
    (void)final;
    NEED(PART(c)->phase == CONTINUOUS_TIME, WRONG_PHASE);
    *enter = *end = 0;
#if FOLLOWERS
    if (!updated(PART(c)))
        return told(PART(c), 0);
    keep_posture(&PART(c)->a);
#endif
    return FMI(OK);
}

FMI(Status) FMI(SetTime)(INSTANCE c, double time)
{
    NEED(PART(c)->phase == CONTINUOUS_TIME || PART(c)->phase == EVENT_MODE, WRONG_PHASE);
    NEED(fabs(time) <= 1e300, "the time is not a finite number");
    PART(c)->a.s.t = time;
    return FMI(OK);
}

FMI(Status) FMI(SetContinuousStates)(INSTANCE c, const double x[], size_t n)
{
    NEED(PART(c)->phase == CONTINUOUS_TIME || PART(c)->phase == EVENT_MODE, WRONG_PHASE);
    NEED(n == STATES_COUNT, "the number of states is wrong");
    NEED(finite_all(x, (int)n), "a state is not a finite number");
    for (int k = 0; k < STATES_COUNT; ++k)
        PART(c)->a.s.x[index_of_state(k)] = x[k];
    PART(c)->a.state_set = 1;
    return FMI(OK);
}

FMI(Status) FMI(GetContinuousStates)(INSTANCE c, double x[], size_t n)
{
    NEED(n == STATES_COUNT, "the number of states is wrong");
    for (int k = 0; k < STATES_COUNT; ++k)
        x[k] = PART(c)->a.s.x[index_of_state(k)];
    return FMI(OK);
}

FMI(Status) FMI(GetContinuousStateDerivatives)(INSTANCE c, double x[], size_t n)
{
    NEED(n == STATES_COUNT, "the number of states is wrong");
    if (!updated(PART(c)))
        return told(PART(c), 0);
    for (int k = 0; k < STATES_COUNT; ++k)
        x[k] = PART(c)->a.now[index_of_state(k)];
    return FMI(OK);
}

FMI(Status) FMI(GetEventIndicators)(INSTANCE c, double z[], size_t n)
{
    NEED(n == INDICATORS, "the number of event indicators is wrong");
    if (!updated(PART(c)))
        return told(PART(c), 0);
    indicators(&PART(c)->a, z);
    return FMI(OK);
}

FMI(Status) FMI(GetNominalsOfContinuousStates)(INSTANCE c, double x[], size_t n)
{
    NEED(n == STATES_COUNT, "the number of states is wrong");
    for (size_t k = 0; k < n; ++k)
        x[k] = 1;
    return FMI(OK);
}
