#include "fmi3Functions.h"
#include <stdio.h>
#include <string.h>
#include <math.h>
/* Two instances side by side, both kinds, wrong calls among right ones. */
static int told;
static void log_message(fmi3InstanceEnvironment e, fmi3Status s, fmi3String c, fmi3String m)
{
    (void)e; (void)s; (void)c;
    told += m != NULL;
}
int main(int argc, char **argv)
{
    fmi3Instance a[3];
    double x[64], dx[64], z[64], last, t;
    size_t nx, nz, size;
    fmi3Boolean e[5];
    fmi3FMUState kept = NULL, other = NULL;
    fmi3Byte bytes[65536];
    if (argc < 2 || fmi3InstantiateCoSimulation("x", "wrong", "", 0, 1, 0, 0, NULL, 0, NULL, log_message, NULL))
        return 1;
    a[0] = fmi3InstantiateCoSimulation("one", argv[1], "", 0, 1, 0, 0, NULL, 0, NULL, log_message, NULL);
    a[1] = fmi3InstantiateCoSimulation("two", argv[1], "", 0, 1, 0, 0, NULL, 0, NULL, log_message, NULL);
    a[2] = fmi3InstantiateModelExchange("three", argv[1], "", 0, 1, NULL, log_message);
    for (int i = 0; i < 3; ++i) {
        if (!a[i] || fmi3EnterInitializationMode(a[i], 0, 0, 0, 0, 0))
            return 2;
        for (fmi3ValueReference vr = 0; vr < 400; ++vr) {
            double value = 0;
            int whole = 0;
            fmi3Boolean yes;
            fmi3GetFloat64(a[i], &vr, 1, &value, 1);
            fmi3GetInt32(a[i], &vr, 1, &whole, 1);
            fmi3GetBoolean(a[i], &vr, 1, &yes, 1);
            value = NAN;
            if (fmi3SetFloat64(a[i], &vr, 1, &value, 1) == fmi3OK)
                return 3;
        }
        if (fmi3ExitInitializationMode(a[i]))
            return 4;
    }
    for (int k = 0; k < 200; ++k)
        for (int i = 0; i < 2; ++i) {
            for (fmi3ValueReference vr = 0; vr < 400; ++vr) {
                double value;
                if (fmi3GetFloat64(a[i], &vr, 1, &value, 1) == fmi3OK && k % 50 == 49)
                    fmi3SetFloat64(a[i], &vr, 1, &value, 1);
            }
            if (fmi3DoStep(a[i], 0.005 * k, 0.005, 1, e, e + 1, e + 2, &last))
                return 5;
            if (k == 100 && i == 0) {
                fmi3GetFMUState(a[0], &kept);
                fmi3SerializedFMUStateSize(a[0], kept, &size);
                if (size > sizeof bytes || fmi3SerializeFMUState(a[0], kept, bytes, size)
                    || fmi3DeserializeFMUState(a[1], bytes, size, &other))
                    return 6;
            }
        }
    fmi3SetFMUState(a[1], other);
    fmi3FreeFMUState(a[0], &kept);
    fmi3FreeFMUState(a[1], &other);
    if (fmi3DoStep(a[1], 0.505, 0.1, 1, e, e + 1, e + 2, &last))
        return 7;
    fmi3GetNumberOfContinuousStates(a[2], &nx);
    fmi3GetNumberOfEventIndicators(a[2], &nz);
    fmi3UpdateDiscreteStates(a[2], e, e + 1, e + 2, e + 3, e + 4, &t);
    fmi3EnterContinuousTimeMode(a[2]);
    for (int k = 0; k < 2000; ++k) {
        fmi3SetTime(a[2], 0.0005 * k);
        fmi3GetContinuousStates(a[2], x, nx);
        if (fmi3GetContinuousStateDerivatives(a[2], dx, nx) || fmi3GetEventIndicators(a[2], z, nz))
            return 8;
        for (size_t j = 0; j < nx; ++j)
            x[j] += 0.0005 * dx[j];
        fmi3SetContinuousStates(a[2], x, nx);
        fmi3CompletedIntegratorStep(a[2], 1, e, e + 1);
        if (k % 100 == 99) {
            fmi3EnterEventMode(a[2]);
            fmi3UpdateDiscreteStates(a[2], e, e + 1, e + 2, e + 3, e + 4, &t);
            fmi3EnterContinuousTimeMode(a[2]);
        }
    }
    for (int i = 0; i < 3; ++i) {
        fmi3Terminate(a[i]);
        fmi3Reset(a[i]);
        fmi3FreeInstance(a[i]);
    }
    printf("%d messages\n", told);
    return 0;
}
