/*
 * FMI 3.0: model exchange and co-simulation.
 */

static void say(instance *i, fmi3Status status, const char *category, const char *text)
{
    if (i->logging && i->logger)
        i->logger(i->environment, status, category, text);
}

const char *fmi3GetVersion(void) { return "3.0"; }

static fmi3Instance made(fmi3String name, fmi3String token, fmi3Boolean logging, void *environment,
                         fmi3LogMessageCallback logger, int co_simulation)
{
    if (!token || strcmp(token, TOKEN) != 0) {
        if (logger)
            logger(environment, fmi3Error, "logStatusError", "the instantiation token is that of another FMU");
        return NULL;
    }
    instance *i = calloc(1, sizeof *i);
    if (!i)
        return NULL;
    i->environment = environment;
    i->logger = logger;
    i->logging = logging;
    i->co_simulation = co_simulation;
    if (name)
        strncpy(i->name, name, sizeof i->name - 1);
    to_start(i);
    return i;
}

fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String resources,
                                          fmi3Boolean visible, fmi3Boolean logging,
                                          fmi3InstanceEnvironment environment, fmi3LogMessageCallback logger)
{
    (void)resources;
    (void)visible;
    return made(name, token, logging, environment, logger, 0);
}

fmi3Instance fmi3InstantiateCoSimulation(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging,
    fmi3Boolean event_mode, fmi3Boolean early_return, const fmi3ValueReference required[], size_t n,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback logger, fmi3IntermediateUpdateCallback update)
{
    (void)resources;
    (void)visible;
    (void)required;
    (void)n;
    (void)update;
    if (event_mode) {
        if (logger)
            logger(environment, fmi3Error, "logStatusError", "co-simulation has no event mode");
        return NULL;
    }
    instance *i = made(name, token, logging, environment, logger, 1);
    if (i)
        i->early_return = early_return;
    return i;
}

fmi3Instance fmi3InstantiateScheduledExecution(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback logger, fmi3ClockUpdateCallback update,
    fmi3LockPreemptionCallback lock, fmi3UnlockPreemptionCallback unlock)
{
    (void)name;
    (void)token;
    (void)resources;
    (void)visible;
    (void)logging;
    (void)update;
    (void)lock;
    (void)unlock;
    if (logger)
        logger(environment, fmi3Error, "logStatusError", "there is no scheduled execution");
    return NULL;
}

void fmi3FreeInstance(fmi3Instance c) { free(c); }

fmi3Status fmi3EnterInitializationMode(fmi3Instance c, fmi3Boolean tolerance_given, fmi3Float64 tolerance,
                                       fmi3Float64 start, fmi3Boolean stop_given, fmi3Float64 stop)
{
    NEED(PART(c)->phase == INSTANTIATED, WRONG_PHASE);
    if (!set_up(PART(c), tolerance_given, tolerance, start, stop_given, stop))
        return told(PART(c), 0);
    PART(c)->phase = INITIALIZING;
    return fmi3OK;
}

/* ---- variables ----------------------------------------------------------------------------------------- */

fmi3Status fmi3GetFloat64(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Float64 values[],
                          size_t count)
{
    NEED(n == count, "every variable is one number");
    PART(c)->a.problem = NULL;
    for (size_t k = 0; k < n; ++k)
        if (!get_real(PART(c), vr[k], &values[k]))
            return told(PART(c), 0);
    return fmi3OK;
}

fmi3Status fmi3SetFloat64(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Float64 values[],
                          size_t count)
{
    NEED(n == count, "every variable is one number");
    for (size_t k = 0; k < n; ++k)
        if (!set_real(PART(c), vr[k], values[k]))
            return told(PART(c), 0);
    return fmi3OK;
}

fmi3Status fmi3GetInt32(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Int32 values[],
                        size_t count)
{
    NEED(n == count, "every variable is one number");
    PART(c)->a.problem = NULL;
    for (size_t k = 0; k < n; ++k) {
        int value = 0;
        if (!get_integer(PART(c), vr[k], &value))
            return told(PART(c), 0);
        values[k] = value;
    }
    return fmi3OK;
}

fmi3Status fmi3GetBoolean(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Boolean values[],
                          size_t count)
{
    NEED(n == count, "every variable is one number");
    for (size_t k = 0; k < n; ++k) {
        int value = 0;
        if (!get_boolean(PART(c), vr[k], &value))
            return told(PART(c), 0);
        values[k] = value != 0;
    }
    return fmi3OK;
}

fmi3Status fmi3SetBoolean(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Boolean values[],
                          size_t count)
{
    NEED(n == count, "every variable is one number");
    for (size_t k = 0; k < n; ++k)
        if (!set_boolean(PART(c), vr[k], values[k]))
            return told(PART(c), 0);
    return fmi3OK;
}

#define NONE_OF(TYPE)                                                                                       \
    fmi3Status fmi3Get##TYPE(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3##TYPE values[],  \
                             size_t count)                                                                  \
    {                                                                                                       \
        (void)vr;                                                                                           \
        (void)values;                                                                                       \
        return n || count ? bad(PART(c), "there are no variables of type " #TYPE) : fmi3OK;                 \
    }                                                                                                       \
    fmi3Status fmi3Set##TYPE(fmi3Instance c, const fmi3ValueReference vr[], size_t n,                       \
                             const fmi3##TYPE values[], size_t count)                                       \
    {                                                                                                       \
        (void)vr;                                                                                           \
        (void)values;                                                                                       \
        return n || count ? bad(PART(c), "there are no variables of type " #TYPE) : fmi3OK;                 \
    }
NONE_OF(Float32)
NONE_OF(Int8)
NONE_OF(UInt8)
NONE_OF(Int16)
NONE_OF(UInt16)
NONE_OF(UInt32)
NONE_OF(Int64)
NONE_OF(UInt64)
NONE_OF(String)

fmi3Status fmi3SetInt32(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Int32 values[],
                        size_t count)
{
    (void)vr;
    (void)values;
    return n || count ? bad(PART(c), "no variable of type Int32 can be set") : fmi3OK;
}

fmi3Status fmi3GetBinary(fmi3Instance c, const fmi3ValueReference vr[], size_t n, size_t sizes[],
                         fmi3Binary values[], size_t count)
{
    (void)vr;
    (void)sizes;
    (void)values;
    return n || count ? bad(PART(c), "there are no variables of type Binary") : fmi3OK;
}

fmi3Status fmi3SetBinary(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const size_t sizes[],
                         const fmi3Binary values[], size_t count)
{
    (void)vr;
    (void)sizes;
    (void)values;
    return n || count ? bad(PART(c), "there are no variables of type Binary") : fmi3OK;
}

fmi3Status fmi3GetClock(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Clock values[])
{
    (void)vr;
    (void)values;
    return n ? bad(PART(c), "there are no clocks") : fmi3OK;
}

fmi3Status fmi3SetClock(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Clock values[])
{
    (void)vr;
    (void)values;
    return n ? bad(PART(c), "there are no clocks") : fmi3OK;
}

/* ---- model exchange ------------------------------------------------------------------------------------ */

fmi3Status fmi3UpdateDiscreteStates(fmi3Instance c, fmi3Boolean *again, fmi3Boolean *terminate,
                                    fmi3Boolean *nominals, fmi3Boolean *values, fmi3Boolean *event_defined,
                                    fmi3Float64 *event_time)
{
    NEED(PART(c)->phase == EVENT_MODE, WRONG_PHASE);
    *again = *nominals = *event_defined = false;
    *event_time = 0;
    *values = event(&PART(c)->a) != 0;
    *terminate = PART(c)->a.s.stopped != 0;
#if PERIOD_GIVEN
    *event_defined = true;
    *event_time = sample_time(&PART(c)->a);
#endif
    return told(PART(c), PART(c)->a.problem == NULL);
}

fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance c)
{
    (void)c;
    return fmi3OK;
}

fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance c, size_t *n)
{
    (void)c;
    *n = INDICATORS;
    return fmi3OK;
}

fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance c, size_t *n)
{
    (void)c;
    *n = STATES_COUNT;
    return fmi3OK;
}

/* ---- co-simulation ------------------------------------------------------------------------------------- */

fmi3Status fmi3EnterStepMode(fmi3Instance c) { return bad(PART(c), WRONG_PHASE); }

fmi3Status fmi3DoStep(fmi3Instance c, fmi3Float64 now, fmi3Float64 step, fmi3Boolean final,
                      fmi3Boolean *event_needed, fmi3Boolean *terminate, fmi3Boolean *early,
                      fmi3Float64 *last)
{
    (void)final;
    NEED(PART(c)->phase == STEPPING, WRONG_PHASE);
    arm *a = &PART(c)->a;
    *event_needed = *terminate = *early = false;
    const int good = stepped(PART(c), now, step);
    *last = a->s.t;
    *terminate = a->s.stopped != 0;
    *early = a->s.stopped && PART(c)->early_return;
    return told(PART(c), good);
}

fmi3Status fmi3GetOutputDerivatives(fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                    const fmi3Int32 orders[], fmi3Float64 values[], size_t count)
{
    (void)vr;
    (void)n;
    (void)orders;
    (void)values;
    (void)count;
    return bad(PART(c), "outputs have no derivatives here; qd and qdd are outputs");
}

/* ---- directional derivatives, and what there is not ---------------------------------------------------- */

fmi3Status fmi3GetDirectionalDerivative(fmi3Instance c, const fmi3ValueReference unknowns[], size_t m,
                                        const fmi3ValueReference knowns[], size_t n, const fmi3Float64 seed[],
                                        size_t seeds, fmi3Float64 found[], size_t size)
{
    NEED(n == seeds && m == size, "every variable is one number");
    return told(PART(c), slopes(PART(c), unknowns, m, knowns, n, seed, found));
}

#define ABSENT "this FMU does not have this function"

fmi3Status fmi3GetAdjointDerivative(fmi3Instance c, const fmi3ValueReference unknowns[], size_t m,
                                    const fmi3ValueReference knowns[], size_t n, const fmi3Float64 seed[],
                                    size_t seeds, fmi3Float64 found[], size_t size)
{
    (void)unknowns;
    (void)m;
    (void)knowns;
    (void)n;
    (void)seed;
    (void)seeds;
    (void)found;
    (void)size;
    return bad(PART(c), ABSENT);
}

fmi3Status fmi3GetNumberOfVariableDependencies(fmi3Instance c, fmi3ValueReference vr, size_t *n)
{
    (void)vr;
    (void)n;
    return bad(PART(c), ABSENT);
}

fmi3Status fmi3GetVariableDependencies(fmi3Instance c, fmi3ValueReference vr, size_t a[],
                                       fmi3ValueReference b[], size_t d[], fmi3DependencyKind e[], size_t n)
{
    (void)vr;
    (void)a;
    (void)b;
    (void)d;
    (void)e;
    (void)n;
    return bad(PART(c), ABSENT);
}

fmi3Status fmi3EnterConfigurationMode(fmi3Instance c) { return bad(PART(c), ABSENT); }

fmi3Status fmi3ExitConfigurationMode(fmi3Instance c) { return bad(PART(c), ABSENT); }

fmi3Status fmi3GetIntervalDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Float64 x[],
                                  fmi3IntervalQualifier q[])
{
    (void)vr;
    (void)n;
    (void)x;
    (void)q;
    return bad(PART(c), ABSENT);
}

fmi3Status fmi3GetIntervalFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3UInt64 x[],
                                   fmi3UInt64 y[], fmi3IntervalQualifier q[])
{
    (void)vr;
    (void)n;
    (void)x;
    (void)y;
    (void)q;
    return bad(PART(c), ABSENT);
}

fmi3Status fmi3GetShiftDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Float64 x[])
{
    (void)vr;
    (void)n;
    (void)x;
    return bad(PART(c), ABSENT);
}

fmi3Status fmi3GetShiftFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3UInt64 x[],
                                fmi3UInt64 y[])
{
    (void)vr;
    (void)n;
    (void)x;
    (void)y;
    return bad(PART(c), ABSENT);
}

fmi3Status fmi3SetIntervalDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                  const fmi3Float64 x[])
{
    (void)vr;
    (void)n;
    (void)x;
    return bad(PART(c), ABSENT);
}

fmi3Status fmi3SetIntervalFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                   const fmi3UInt64 x[], const fmi3UInt64 y[])
{
    (void)vr;
    (void)n;
    (void)x;
    (void)y;
    return bad(PART(c), ABSENT);
}

fmi3Status fmi3SetShiftDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Float64 x[])
{
    (void)vr;
    (void)n;
    (void)x;
    return bad(PART(c), ABSENT);
}

fmi3Status fmi3SetShiftFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3UInt64 x[],
                                const fmi3UInt64 y[])
{
    (void)vr;
    (void)n;
    (void)x;
    (void)y;
    return bad(PART(c), ABSENT);
}

fmi3Status fmi3ActivateModelPartition(fmi3Instance c, fmi3ValueReference vr, fmi3Float64 time)
{
    (void)vr;
    (void)time;
    return bad(PART(c), ABSENT);
}
