/*
 * FMI 2.0: model exchange and co-simulation.
 */

static void say(instance *i, fmi2Status status, const char *category, const char *text)
{
    if (i->logging && i->logger)
        i->logger(i->environment, i->name, status, category, "%s", text);
}

const char *fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }

const char *fmi2GetVersion(void) { return "2.0"; }

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String token, fmi2String resources,
                              const fmi2CallbackFunctions *functions, fmi2Boolean visible, fmi2Boolean logging)
{
    (void)resources;
    (void)visible;
    if (!functions)
        return NULL;
    if (!token || strcmp(token, TOKEN) != 0) {
        if (functions->logger)
            functions->logger(functions->componentEnvironment, name, fmi2Error, "logStatusError",
                              "the GUID is that of another FMU");
        return NULL;
    }
    instance *i = functions->allocateMemory ? functions->allocateMemory(1, sizeof *i) : calloc(1, sizeof *i);
    if (!i)
        return NULL;
    memset(i, 0, sizeof *i);
    i->release = functions->allocateMemory ? functions->freeMemory : free;
    i->environment = functions->componentEnvironment;
    i->logger = functions->logger;
    i->logging = logging;
    i->co_simulation = type == fmi2CoSimulation;
    if (name)
        strncpy(i->name, name, sizeof i->name - 1);
    to_start(i);
    return i;
}

void fmi2FreeInstance(fmi2Component c)
{
    if (c && PART(c)->release)
        PART(c)->release(c);
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean tolerance_given, fmi2Real tolerance, fmi2Real start,
                               fmi2Boolean stop_given, fmi2Real stop)
{
    NEED(PART(c)->phase == INSTANTIATED, WRONG_PHASE);
    return told(PART(c), set_up(PART(c), tolerance_given, tolerance, start, stop_given, stop));
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c)
{
    NEED(PART(c)->phase == INSTANTIATED, WRONG_PHASE);
    PART(c)->phase = INITIALIZING;
    return fmi2OK;
}

/* ---- variables ----------------------------------------------------------------------------------------- */

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real values[])
{
    PART(c)->a.problem = NULL;
    for (size_t k = 0; k < n; ++k)
        if (!get_real(PART(c), vr[k], &values[k]))
            return told(PART(c), 0);
    return fmi2OK;
}

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real values[])
{
    for (size_t k = 0; k < n; ++k)
        if (!set_real(PART(c), vr[k], values[k]))
            return told(PART(c), 0);
    return fmi2OK;
}

fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Integer values[])
{
    PART(c)->a.problem = NULL;
    for (size_t k = 0; k < n; ++k)
        if (!get_integer(PART(c), vr[k], &values[k]))
            return told(PART(c), 0);
    return fmi2OK;
}

fmi2Status fmi2GetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Boolean values[])
{
    PART(c)->a.problem = NULL;
    for (size_t k = 0; k < n; ++k)
        if (!get_boolean(PART(c), vr[k], &values[k]))
            return told(PART(c), 0);
    return fmi2OK;
}

fmi2Status fmi2SetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Boolean values[])
{
    for (size_t k = 0; k < n; ++k)
        if (!set_boolean(PART(c), vr[k], values[k]))
            return told(PART(c), 0);
    return fmi2OK;
}

fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer values[])
{
    (void)vr;
    (void)values;
    return n ? bad(PART(c), "no integer can be set") : fmi2OK;
}

fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2String values[])
{
    (void)vr;
    (void)values;
    return n ? bad(PART(c), "there are no strings") : fmi2OK;
}

fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2String values[])
{
    (void)vr;
    (void)values;
    return n ? bad(PART(c), "there are no strings") : fmi2OK;
}

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknowns[], size_t m,
                                        const fmi2ValueReference knowns[], size_t n, const fmi2Real seed[],
                                        fmi2Real found[])
{
    return told(PART(c), slopes(PART(c), unknowns, m, knowns, n, seed, found));
}

/* ---- model exchange ------------------------------------------------------------------------------------ */

fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info)
{
    NEED(PART(c)->phase == EVENT_MODE, WRONG_PHASE);
    info->newDiscreteStatesNeeded = info->nominalsOfContinuousStatesChanged = fmi2False;
    info->nextEventTimeDefined = fmi2False;
    info->valuesOfContinuousStatesChanged = event(&PART(c)->a) != 0;
    info->terminateSimulation = PART(c)->a.s.stopped != 0;
#if PERIOD_GIVEN
    info->nextEventTimeDefined = fmi2True;
    info->nextEventTime = sample_time(&PART(c)->a);
#endif
    return told(PART(c), PART(c)->a.problem == NULL);
}

/* ---- co-simulation ------------------------------------------------------------------------------------- */

fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                       const fmi2Integer orders[], const fmi2Real values[])
{
    (void)vr;
    (void)n;
    (void)orders;
    (void)values;
    return bad(PART(c), "inputs are held from one communication point to the next");
}

fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                        const fmi2Integer orders[], fmi2Real values[])
{
    (void)vr;
    (void)n;
    (void)orders;
    (void)values;
    return bad(PART(c), "outputs have no derivatives here; qd and qdd are outputs");
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real now, fmi2Real step, fmi2Boolean final)
{
    (void)final;
    NEED(PART(c)->phase == STEPPING, WRONG_PHASE);
    if (!stepped(PART(c), now, step))
        return told(PART(c), 0);
    return PART(c)->a.s.stopped ? fmi2Discard : fmi2OK;
}

fmi2Status fmi2CancelStep(fmi2Component c) { return bad(PART(c), WRONG_PHASE); }

fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Status *value)
{
    (void)kind;
    (void)value;
    return bad(PART(c), "steps are never pending");
}

fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value)
{
    NEED(kind == fmi2LastSuccessfulTime, "there is no such status");
    *value = PART(c)->a.s.t;
    return fmi2OK;
}

fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Integer *value)
{
    (void)kind;
    (void)value;
    return bad(PART(c), "there is no such status");
}

fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value)
{
    NEED(kind == fmi2Terminated, "there is no such status");
    *value = PART(c)->a.s.stopped != 0;
    return fmi2OK;
}

fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind kind, fmi2String *value)
{
    (void)kind;
    (void)value;
    return bad(PART(c), "there is no such status");
}
