/*
 * The engine of an arm: its state, steps of high order, and changes between sticking and sliding.
 *
 * Before this text stand the arm's sizes and functions, as macros and `model_...`. A step is Dormand and
 * Prince's of order 8; a piece between two changes keeps its modes, and a change is found on the dense output.
 * Nothing is global, nothing is allocated: all that is needed is in `arm` and on the stack.
 */

#define SIZE(n) ((n) > 0 ? (n) : 1)
#define POLYNOMIAL 7
#define LOOKS 4          /* places within a step at which changes of mode are looked for */
#define PARTS 64         /* of a step, at which joints near their limits are looked at */
#define AT_REST 1e-12    /* of the terms of its sum: a speed less than this is zero */
#define BEYOND 1e-11     /* of half the distance of the levels: friction exactly at its level still holds */
#define MOST_AT_ONCE 50  /* changes of mode at one instant before it counts as a failure */
#define CHANGE 10        /* steps that a change of mode counts as */
#define FIRST 1e-3       /* s: the first step that is tried */
#define NEARER 20        /* times an interval is cut to a quarter, to find a slip that is soon over */
#define SPEED_LIMIT 1e4  /* rad/s or m/s: an arm this fast has diverged */
#define SINGULAR 1e-8    /* squared sine: nearer than this to the others, a joint's column is none of its own */
#define PAST 1e-9        /* rad, rad/s, m, m/s, or of a level: how far past a change is when an importer is told */

typedef struct {
    double t;                          /* s */
    double x[WIDTH];                   /* q, qd, followers, modes, side, works */
    double p[SIZE(PARAMETERS)];
    double u[SIZE(INPUTS)];
    double held[SIZE(HELD)];           /* torques of a sampled controller */
    double memory[SIZE(MEMORY)];       /* of a sampled controller */
    double beyond[SIZE(SURFACES)];
    double rtol, atol, h;
    double start, stop;                /* s */
    double samples;                    /* taken by a sampled controller */
    double change_time;                /* of the last change of mode, s */
    double limit_time;                 /* at which the first joint left its range, s */
    double passed[SIZE(WATCHED)];      /* 1 where a joint has left its range, -1 below it */
    double posture[SIZE(POSITIONS)];   /* the last one in which the loops were closed */
    int first_passed;                  /* the joint that left its range first, counted from 1; 0: none */
    int stop_at_limits;
    int stopped;
    int has_side;
} arm_state;

typedef struct {
    arm_state s;
    int parameters_set, inputs_set, state_set;  /* since constants, rates and outputs were computed */
    double constants[SIZE(CONSTANTS)], gears[SIZE(MOTORS)];
    double rate[WIDTH], now[WIDTH];             /* rate: of decided modes; now: at the present state */
    double y[SIZE(OUTPUTS)];
    double step_h;
    double new_x[WIDTH], last[WIDTH], squares[2], polynomial[POLYNOMIAL * WIDTH];
    double states[LOOKS * WIDTH], rates[LOOKS * WIDTH];
    const char *problem;
} arm;

static const double places_of_looks[LOOKS] = {0.25, 0.5, 0.75, 1.0};

static double larger_of(double a, double b) { return a > b ? a : b; }
static double smaller_of(double a, double b) { return a < b ? a : b; }

static int finite_all(const double *x, int n)
{
    for (int i = 0; i < n; ++i)
        if (!(fabs(x[i]) <= 1.7976931348623157e308))
            return 0;
    return 1;
}

/* A problem ends what is done; the first one is kept. */
static int failed(arm *a, const char *problem)
{
    if (!a->problem)
        a->problem = problem;
    return 0;
}

static void start_values(arm *a)
{
    arm_state *s = &a->s;
    memset(s, 0, sizeof *s);
    memcpy(s->x, start_of_states, sizeof start_of_states);
    memcpy(s->p, start_of_parameters, PARAMETERS * sizeof(double));
    memcpy(s->u, start_of_inputs, INPUTS * sizeof(double));
    s->stop = 1e308;
    s->rtol = 1e-10;
    s->atol = 1e-12;
    a->parameters_set = a->inputs_set = a->state_set = 1;
    a->problem = NULL;
}

/* ---- constants, rates, outputs ------------------------------------------------------------------------- */

static void update_constants(arm *a)
{
    if (a->parameters_set)
        model_numbers(a->s.p, a->constants, a->gears);
    if (a->parameters_set || a->inputs_set) {
        model_given(a->s.p, a->s.u, a->s.held, a->constants + NUMBERS);
        a->state_set = 1;
    }
    a->parameters_set = a->inputs_set = 0;
}

static void call_step(arm *a, double h, int decide, int trial, int dense, int points, const double *places)
{
    const double settings[4] = {h, a->s.rtol, a->s.atol, larger_of(a->s.rtol, a->s.atol)};
    model_step(decide, trial, dense, points, settings, a->constants, places, a->s.x, a->rate, a->polynomial,
               a->new_x, a->last, a->squares, a->states, a->rates);
}

/* The rate in any state, without decisions. */
static void rate_in(arm *a, const double *x, double *rate)
{
    double kept[WIDTH], polynomial[POLYNOMIAL * WIDTH], states[WIDTH], rates[WIDTH];
    const double place = 0, settings[4] = {0, a->s.rtol, a->s.atol, a->s.rtol};
    memcpy(kept, x, sizeof kept);
    memset(polynomial, 0, sizeof polynomial);
    memset(states, 0, sizeof states);
    model_step(0, 0, 0, 1, settings, a->constants, &place, kept, a->rate, polynomial, a->new_x, a->last,
               a->squares, states, rates);
    memcpy(rate, rates, sizeof rates);
}

#if FOLLOWERS
/* The positions that follow, from the last closed posture. */
static int close_loops(arm *a)
{
    double coordinates[N], y[POSITIONS], state[3];
    memcpy(coordinates, a->s.x, sizeof coordinates);
    model_assemble(coordinates, a->s.posture, y, state);
    if (!(state[0] <= 0) || !finite_all(y, POSITIONS))
        return failed(a, "the loops cannot be closed at these positions");
    for (int d = 0; d < FOLLOWERS; ++d)
        a->s.x[2 * N + d] = y[followers_at[d]];
    return 1;
}

static void keep_posture(arm *a)
{
    for (int i = 0; i < N; ++i)
        a->s.posture[coordinates_at[i]] = a->s.x[i];
    for (int d = 0; d < FOLLOWERS; ++d)
        a->s.posture[followers_at[d]] = a->s.x[2 * N + d];
}
#endif

/* Rate and outputs at the present state; 0 where there are none. */
static int update_values(arm *a)
{
    update_constants(a);
    if (!a->state_set)
        return 1;
#if FOLLOWERS
    if (!close_loops(a))
        return 0;
#endif
    rate_in(a, a->s.x, a->now);
    if (!finite_all(a->now, WIDTH))
        return failed(a, "the acceleration is not a finite number");
    model_outputs(a->s.x, a->now, a->constants, a->gears, a->y);
    a->state_set = 0;
    return 1;
}

/* ---- surfaces with dry friction ------------------------------------------------------------------------ */

#if SURFACES
/* Directions in which surfaces slide at velocities; 0 at rest. */
static void directions(arm *a, const double *qd, double *found)
{
    double speeds[SURFACES], sizes[SURFACES], sticking[SURFACES], nothing[SURFACES] = {0};
    model_margins(qd, nothing, a->constants, speeds, sizes, sticking);
    for (int e = 0; e < SURFACES; ++e)
        found[e] = fabs(speeds[e]) > AT_REST * sizes[e] ? (speeds[e] > 0) - (speeds[e] < 0) : 0;
}

/* Distances of surfaces from a change: speed along the mode, or friction from a level. */
static void margins(arm *a, const double *x, const double *rate, double *found)
{
    double speeds[SURFACES], sizes[SURFACES], sticking[SURFACES];
    model_margins(x + N, rate + MODES_AT, a->constants, speeds, sizes, sticking);
    for (int e = 0; e < SURFACES; ++e) {
        const double mode = a->s.x[MODES_AT + e];
        found[e] = mode == 0 ? sticking[e] + a->s.beyond[e] : mode * speeds[e];
    }
}

/* Bring surfaces to rest that move against these modes. */
static void settle(arm *a, const double *modes)
{
    double qd[N], settled[SURFACES];
    model_settle(a->s.x, modes, a->constants, qd, settled);
    memcpy(a->s.x + N, qd, sizeof qd);
    memcpy(a->s.x + MODES_AT, settled, sizeof settled);
}
#endif

/* Modes that fit the state, and its rate. */
static void decide(arm *a)
{
#if SURFACES
    double before[SURFACES];
    memcpy(before, a->s.x + MODES_AT, sizeof before);
#endif
    call_step(a, 0, 1, 0, 0, 0, places_of_looks);
#if SURFACES
    for (int e = 0; e < SURFACES; ++e)
        if (a->s.x[MODES_AT + e] != before[e])
            a->s.beyond[e] = BEYOND;
#endif
    a->state_set = 1;
}

/* ---- a trial step and its dense output ----------------------------------------------------------------- */

static double trial(arm *a, double h, int decided, int looks)
{
    a->step_h = h;
    call_step(a, h, decided, 1, 1, looks ? LOOKS : 0, places_of_looks);
    if (a->squares[0] == 0)
        return 0;
    return h * a->squares[0] / sqrt((a->squares[0] + 0.01 * a->squares[1]) * MOVING);
}

#if SURFACES || WATCHED
/* The state after a shorter step; more accurate than dense output, which stays. */
static void state_after(arm *a, double h, double *found)
{
    if (h > 0)
        call_step(a, h, 0, 1, 0, 0, places_of_looks);
    memcpy(found, h > 0 ? a->new_x : a->s.x, WIDTH * sizeof(double));
}

static void dense_state(const arm *a, double t, double *found)
{
    const double place = (t - a->s.t) / a->step_h;
    for (int c = 0; c < WIDTH; ++c) {
        double value = 0;
        for (int i = 0; i < POLYNOMIAL; ++i)
            value = (value + a->polynomial[(POLYNOMIAL - 1 - i) * WIDTH + c]) * (i % 2 ? 1 - place : place);
        found[c] = a->s.x[c] + value;
    }
}

/* ---- zeros of margins ---------------------------------------------------------------------------------- */

typedef double (*margin_at)(arm *a, int which, double t);

/* Instant at which a margin that is positive at a and negative at b is zero, by Brent's method; a or b if it
   is zero there. Where it jumps, the first instant after the jump. */
static double first_zero(arm *m, margin_at margin, int which, double a, double b)
{
    double fa = margin(m, which, a), fb = margin(m, which, b);
    if (!(fa > 0 && fb < 0))
        return fa > 0 ? b : a;
    const double accuracy = 1e-15 + 1e-15 * fabs(b);
    double after = b, c = a, fc = fa, d = b - a, e = d;
    for (int k = 0; k < 100; ++k) {
        if ((fb > 0) == (fc > 0)) {
            c = a, fc = fa;
            d = e = b - a;
        }
        if (fabs(fc) < fabs(fb)) {
            a = b, b = c, c = a;
            fa = fb, fb = fc, fc = fa;
        }
        const double least = 4.5e-16 * fabs(b) + 0.5 * accuracy, half = 0.5 * (c - b);
        if (fabs(half) <= least || fb == 0)
            break;
        if (fabs(e) >= least && fabs(fa) > fabs(fb)) {
            double p, q;
            const double s = fb / fa;
            if (a == c) {
                p = 2 * half * s;
                q = 1 - s;
            } else {
                const double r = fb / fc;
                q = fa / fc;
                p = s * (2 * half * q * (q - r) - (b - a) * (r - 1));
                q = (q - 1) * (r - 1) * (s - 1);
            }
            if (p > 0)
                q = -q;
            p = fabs(p);
            if (2 * p < smaller_of(3 * half * q - fabs(least * q), fabs(e * q))) {
                e = d;
                d = p / q;
            } else
                d = e = half;
        } else
            d = e = half;
        a = b, fa = fb;
        b += fabs(d) > least ? d : (half > 0 ? least : -least);
        fb = margin(m, which, b);
        if (fb < 0)
            after = smaller_of(after, b);
    }
    return after - b < 1e-14 * (1 + fabs(b)) && after >= b ? after : b;
}

#endif

/* ---- limits of positions ------------------------------------------------------------------------------- */

#if WATCHED
static double within(int w, const double *positions)
{
    return smaller_of(positions[w] - lower_limits[w], upper_limits[w] - positions[w]);
}

static double inside(arm *a, int w, double t)
{
    double x[WIDTH], positions[WATCHED];
    dense_state(a, t, x);
    model_watched(x, positions);
    return within(w, positions);
}

static void left_range(arm *a, int w, int above, double t)
{
    a->s.passed[w] = above ? 1 : -1;
    if (!a->s.first_passed) {
        a->s.first_passed = watched_joints[w];
        a->s.limit_time = t;
    }
}

/* Joints that are out of their ranges at the present state. */
static void look_at_once(arm *a)
{
    double positions[WATCHED];
    model_watched(a->s.x, positions);
    for (int w = 0; w < WATCHED; ++w)
        if (!a->s.passed[w] && within(w, positions) < 0)
            left_range(a, w, positions[w] > upper_limits[w], a->s.t);
}

/* Joints that leave their ranges between the last state and `end`: true where the arm is to stop there. */
static int look(arm *a, double end, double *stop)
{
    double before[WATCHED], after[WATCHED], speed[WATCHED], last_speed[WATCHED], start[WATCHED];
    double times[WATCHED], x[WIDTH];
    int above[WATCHED], done[WATCHED], near = 0;
    model_watched(a->s.x, before);
    model_watched(a->new_x, after);
    memset(x, 0, sizeof x);
    model_watched(x, start);
    model_watched(a->rate, speed);
    model_watched(a->last, last_speed);
    for (int w = 0; w < WATCHED; ++w) {
        const double way = a->step_h * larger_of(fabs(speed[w] - start[w]), fabs(last_speed[w] - start[w]));
        done[w] = 1;
        if (!a->s.passed[w])
            near |= smaller_of(before[w], after[w]) - way <= lower_limits[w]
                    || larger_of(before[w], after[w]) + way >= upper_limits[w];
    }
    if (!near)
        return 0;
    double earlier = a->s.t;
    for (int k = 1; k <= PARTS; ++k) {
        const double t = k == PARTS ? end : a->s.t + (end - a->s.t) * k / PARTS;
        dense_state(a, t, x);
        model_watched(x, after);
        for (int w = 0; w < WATCHED; ++w)
            if (!a->s.passed[w] && done[w] && within(w, after) < 0) {
                above[w] = after[w] > upper_limits[w];
                times[w] = first_zero(a, inside, w, earlier, t);
                done[w] = 0;
            }
        earlier = t;
    }
    for (;;) {
        int next = -1;
        for (int w = 0; w < WATCHED; ++w)
            if (!done[w] && (next < 0 || times[w] < times[next]))
                next = w;
        if (next < 0)
            return 0;
        done[next] = 1;
        left_range(a, next, above[next], times[next]);
        if (a->s.stop_at_limits) {
            *stop = times[next];
            return 1;
        }
    }
}
#endif

/* ---- changes of mode ----------------------------------------------------------------------------------- */

#if SURFACES
static double margin_in(arm *a, int e, double t)
{
    double x[WIDTH], rate[WIDTH], found[SURFACES];
    dense_state(a, t, x);
    rate_in(a, x, rate);
    margins(a, x, rate, found);
    return found[e];
}

/* True if a surface slides along its mode at t, by a step that ends there. */
static int slips(arm *a, double t, int e)
{
    double x[WIDTH], found[SURFACES];
    state_after(a, t - a->s.t, x);
    margins(a, x, a->rate, found);
    return found[e] > 0;
}

/* The instant between `from` and `to` at which surface e changes. It is `from` itself where a surface was just
   released at zero speed and goes the wrong way. One that first goes the right way, for however short a time,
   changes when it comes back to zero speed. */
static double crossing(arm *a, double from, double to, int e)
{
    if (a->s.x[MODES_AT + e] != 0 && from == a->s.t && !(margin_in(a, e, from) > 0)) {
        double part = to - from;
        for (int k = 1; k < NEARER; ++k) {
            part *= 0.25;
            const double t = from + part;
            if (t > from && margin_in(a, e, t) > 0 && slips(a, t, e)) {
                from = t;
                break;
            }
        }
    }
    return first_zero(a, margin_in, e, from, to);
}

/* The first instant of a step at which a surface changes, and which; -1 for none. */
static int first_change(arm *a, double *when)
{
    double found[SURFACES];
    for (int k = 0; k < LOOKS; ++k) {
        int crossed = -1;
        margins(a, a->states + k * WIDTH, a->rates + k * WIDTH, found);
        for (int e = 0; e < SURFACES; ++e)
            if (found[e] < 0) {
                const double from = a->s.t + a->step_h * (k ? places_of_looks[k - 1] : 0);
                const double t = crossing(a, from, a->s.t + a->step_h * places_of_looks[k], e);
                if (crossed < 0 || t < *when) {
                    *when = t;
                    crossed = e;
                }
            }
        if (crossed >= 0)
            return crossed;
    }
    return -1;
}

static void stop_surface(arm *a, int e)
{
    double modes[SURFACES], speeds[SURFACES], sizes[SURFACES], sticking[SURFACES];
    memcpy(modes, a->s.x + MODES_AT, sizeof modes);
    model_margins(a->s.x + N, a->rate + MODES_AT, a->constants, speeds, sizes, sticking);
    modes[e] = (speeds[e] < 0) - (speeds[e] > 0);
    settle(a, modes);
}

/* End the piece at the change of surface e, and take the modes that follow. */
static int change(arm *a, double t, int e)
{
    double before[SURFACES], x[WIDTH];
    memcpy(before, a->s.x + MODES_AT, sizeof before);
    state_after(a, t - a->s.t, x);
    memcpy(a->s.x, x, sizeof x);
    a->s.t = t;
    if (before[e] != 0)
        stop_surface(a, e);
    decide(a);
    if (memcmp(before, a->s.x + MODES_AT, sizeof before) != 0)
        a->s.change_time = t;
    else if (before[e] == 0)
        a->s.beyond[e] *= 10; /* by rounding only: it holds */
    return finite_all(a->rate, WIDTH) || failed(a, "the acceleration is not a finite number");
}
#endif

/* ---- steps --------------------------------------------------------------------------------------------- */

/* A trial step that is accurate enough. */
static int accurate_step(arm *a, double end, int fresh, double *left)
{
    double h = a->s.h;
    int shrunk = 0;
    for (;;) {
        const int whole = h >= (end - a->s.t) * (1 - 1e-12);
        if (whole)
            h = end - a->s.t;
        if ((*left -= 1) < 0)
            return failed(a, "too many steps: something may be stiff, or friction chatters");
        if (h < 10 * 2.3e-16 * fabs(a->s.t) && !whole)
            return failed(a, "the step became too small");
        const double error = trial(a, h, fresh, SURFACES > 0);
        if (!finite_all(a->rate, WIDTH))
            return failed(a, "the acceleration is not a finite number");
        fresh = 0;
        int passes = 0;
#if FOLLOWERS
        passes = a->s.has_side && !(a->s.x[SIDE_AT] * a->new_x[SIDE_AT] >= 0);
#endif
        if (error < 1 && !passes) {
            const double grown = error == 0 ? 10 : smaller_of(10, 0.9 * pow(error, -0.125));
            const double longer = h * (shrunk ? smaller_of(grown, 1) : grown);
            a->s.h = whole && !shrunk ? larger_of(longer, a->s.h) : longer;
            break;
        }
        h *= error >= 1 && error < 1e300 ? larger_of(0.2, 0.9 * pow(error, -0.125)) : 0.2;
        shrunk = 1;
    }
#if FOLLOWERS
    if (fabs(a->new_x[SIDE_AT]) < SINGULAR)
        return failed(a, "the arm comes to a singular posture: a joint no longer follows");
    a->s.has_side = 1;
#endif
    for (int i = N; i < 2 * N; ++i)
        if (!(fabs(a->new_x[i]) <= SPEED_LIMIT))
            return failed(a, "it diverged");
    return 1;
}

/* Go on to `end`, or to the stop at a limit; with `fresh`, modes are decided at the start. */
static int integrate(arm *a, double end, int fresh, double *left)
{
    int at_once = 0;
    double instant = a->s.t - 1;
    while (a->s.t < end) {
        const double before = a->s.t;
        if (!accurate_step(a, end, fresh, left))
            return 0;
        fresh = 0;
        double after = a->step_h == end - before ? end : before + a->step_h;
        int changed = -1;
#if SURFACES
        double when = 0;
        changed = first_change(a, &when);
        if (changed >= 0)
            after = when;
#endif
#if WATCHED
        double stop = 0;
        if (look(a, after, &stop)) {
            double x[WIDTH];
            state_after(a, stop - a->s.t, x);
            memcpy(a->s.x, x, sizeof x);
            a->s.t = stop;
            a->s.stopped = 1;
            return 1;
        }
#endif
#if SURFACES
        if (changed >= 0) {
            *left -= CHANGE;
            if (!change(a, after, changed))
                return 0;
        } else
#endif
        {
            (void)changed;
            memcpy(a->s.x, a->new_x, sizeof a->new_x);
            memcpy(a->rate, a->last, sizeof a->last);
            a->s.t = after;
        }
        at_once = a->s.t == instant ? at_once + 1 : 0;
        instant = a->s.t;
        if (at_once > MOST_AT_ONCE)
            return failed(a, "joints do not settle between sticking and slipping");
    }
    return 1;
}

/* ---- what an importer asks for ------------------------------------------------------------------------- */

#if PERIOD_GIVEN
static double sample_time(const arm *a) { return a->s.start + a->s.samples * PERIOD; }

/* Take the samples of the controller that are due. */
static void sample(arm *a)
{
    if (a->s.t < sample_time(a) - 1e-9 * PERIOD)
        return;
    double memory[SIZE(MEMORY)];
    memcpy(memory, a->s.memory, sizeof memory);
    model_law(a->s.x, a->s.p, a->s.u, memory, a->s.held, a->s.memory);
    a->s.samples = floor((a->s.t - a->s.start) / PERIOD * (1 + 1e-12) + 1e-9) + 1;
    a->inputs_set = 1;
}
#endif

/* Parameters that make an arm; the sentence says which do not. */
static int check_parameters(arm *a)
{
    for (int i = 0; i < PARAMETERS; ++i)
        if (!(a->s.p[i] >= least_of_parameters[i]))
            return failed(a, "a parameter is less than its least value");
#if PAYLOAD_GIVEN
    const double *I = a->s.p + PAYLOAD_AT + 4; /* xx xy xz yy yz zz */
    const double size = fabs(I[0]) + fabs(I[3]) + fabs(I[5]), off = 1e-9 * size;
    const double two = I[0] * I[3] - I[1] * I[1], other = I[0] * I[5] - I[2] * I[2], third = I[3] * I[5] - I[4] * I[4];
    const double det = I[0] * third - I[1] * (I[1] * I[5] - I[4] * I[2]) + I[2] * (I[1] * I[4] - I[3] * I[2]);
    if (I[0] < -off || I[3] < -off || I[5] < -off || two < -off * size || other < -off * size
        || third < -off * size || det < -off * size * size)
        return failed(a, "payload.inertia: no body has this tensor; its principal moments must not be negative");
#endif
    return 1;
}

/* The arm at its start: loops closed, modes decided. What was set before stays, and nothing else counts. */
static int begin(arm *a)
{
    arm_state *s = &a->s;
    if (!check_parameters(a))
        return 0;
    s->t = s->start;
    s->h = FIRST;
    s->samples = s->change_time = s->limit_time = 0;
    s->first_passed = s->has_side = 0;
    memset(s->passed, 0, sizeof s->passed);
    memset(s->held, 0, sizeof s->held);
    memcpy(s->memory, start_of_memory, MEMORY * sizeof(double));
#if FOLLOWERS
    memcpy(s->posture, start_of_posture, sizeof start_of_posture);
#endif
    for (int e = 0; e < SURFACES; ++e)
        s->beyond[e] = BEYOND;
    a->parameters_set = a->inputs_set = 1;
    update_constants(a);
#if FOLLOWERS
    if (!close_loops(a))
        return 0;
    keep_posture(a);
#endif
#if PERIOD_GIVEN
    sample(a);
    update_constants(a);
#endif
#if SURFACES
    directions(a, a->s.x + N, a->s.x + MODES_AT);
#endif
    decide(a);
#if WATCHED
    look_at_once(a);
    a->s.stopped = a->s.stop_at_limits && a->s.first_passed;
#endif
    return finite_all(a->rate, WIDTH) || failed(a, "the acceleration is not a finite number");
}

/* Co-simulation: on to `end`; 0 where the arm cannot go on. */
static int go_on(arm *a, double end)
{
    double left = 50000 + 20000 * (end - a->s.t);
    a->problem = NULL;
    if (!check_parameters(a))
        return 0;
#if FOLLOWERS
    if (!close_loops(a))
        return 0;
#endif
    while (a->s.t < end && !a->s.stopped) {
        double until = end;
#if PERIOD_GIVEN
        sample(a);
        if (sample_time(a) < end - 1e-9 * PERIOD)
            until = sample_time(a);
#endif
        update_constants(a);
        if (!integrate(a, until, 1, &left))
            return 0;
    }
#if PERIOD_GIVEN
    if (!a->s.stopped)
        sample(a);
#endif
#if FOLLOWERS
    keep_posture(a);
#endif
    a->state_set = 1;
    return 1;
}

/* Model exchange: continuous states are q, qd and works. */
static int index_of_state(int k) { return k < 2 * N ? k : WORKS_AT + k - 2 * N; }

/* Indicators of changes, positive until they are `PAST` a change. */
static void indicators(arm *a, double *z)
{
#if SURFACES
    margins(a, a->s.x, a->now, z);
    for (int e = 0; e < SURFACES; ++e)
        z[e] += PAST;
#endif
#if WATCHED
    double positions[WATCHED];
    model_watched(a->s.x, positions);
    for (int w = 0; w < WATCHED; ++w)
        z[SURFACES + w] = a->s.passed[w] ? 1 : within(w, positions) + PAST;
#endif
    (void)a;
    (void)z;
}

/* Model exchange: what changes at an event; 1 where states do. */
static int event(arm *a)
{
    int moved = 0;
    a->problem = NULL;
    if (!check_parameters(a))
        return 0;
#if PERIOD_GIVEN
    sample(a);
#endif
    if (!update_values(a))
        return 0;
#if SURFACES
    double z[SURFACES], before[SURFACES];
    margins(a, a->s.x, a->now, z);
    memcpy(before, a->s.x + MODES_AT, sizeof before);
    for (int e = 0; e < SURFACES; ++e)
        if (a->s.x[MODES_AT + e] != 0 && z[e] < 0) {
            stop_surface(a, e);
            moved = 1;
        }
    decide(a);
    for (int e = 0; e < SURFACES; ++e) {
        if (a->s.x[MODES_AT + e] != before[e])
            a->s.change_time = a->s.t;
        else if (before[e] == 0 && z[e] + PAST <= 0)
            a->s.beyond[e] = 10 * larger_of(a->s.beyond[e], -z[e]);
    }
#endif
#if WATCHED
    look_at_once(a);
    if (a->s.stop_at_limits && a->s.first_passed)
        a->s.stopped = 1;
#endif
#if FOLLOWERS
    keep_posture(a);
#endif
    a->state_set = 1;
    return moved;
}
