/* SPDX-License-Identifier: Apache-2.0 */
/* choose.c: an engine on the device that its options name or leave open, and what a device that is too
 * small has room for. Where a device fails later: leave_device.c.
 *
 * "auto" is an engine on both, without memory for that on the GPU alone, and if anything about that fails, on
 * the CPU with the reason in its log. */
#include "device/device.h"

#include <stdio.h>

/* Bytes of layers that a device has alone, the last ones where the CPU has the others; 0: they cannot stand
 * alone. Some of the work is the host's, too, so that it is a little more than the device needs. */
static size_t bytes_alone(const carat_model *model, const carat_engine_options *o, int layers, int all)
{
    carat_engine_options cut = *o;
    carat_plan plan = {.size = sizeof plan};

    cut.layers = layers;
    cut.first_layer = o->gpu_layers > 0 ? o->first_layer + all - layers : o->first_layer;
    cut.gpu_layers = 0;
    return carat_plan_engine(model, &cut, &plan, NULL) == CARAT_OK ? plan.bytes - plan.stack_bytes : 0;
}

/* A plan that a device has no room for: adds to the message how many layers it has room for. */
static void tell_what_fits(const carat_model *model, const carat_engine_options *o, carat_error *err)
{
    const int all = o->layers ? o->layers : model->config.n_layer - o->first_layer;
    const int asked = o->gpu_layers > 0 ? CT_MIN(o->gpu_layers, all) : all;
    carat_device device;
    int some = 0, beyond = asked;

    if (!err || ct_cuda_describe(o->device, false, &device, NULL) || bytes_alone(model, o, 1, all) == 0 ||
        bytes_alone(model, o, asked, all) <= device.free_bytes)
        return;
    while (beyond - some > 1) {
        const int middle = some + (beyond - some) / 2;
        *(bytes_alone(model, o, middle, all) <= device.free_bytes ? &some : &beyond) = middle;
    }
    const size_t used = strlen(err->message);
    if (some)
        snprintf(err->message + used, sizeof err->message - used, "; %d of the %d layers would fit", some,
                 all);
    else
        snprintf(err->message + used, sizeof err->message - used, "; not even one of the %d layers fits",
                 all);
}

/* Whoever is asked for a GPU gets one that gives the CPU's bits. */
static carat_status create_checked(carat_engine **engine, const carat_model *model, const carat_costs *costs,
                                   const carat_engine_options *o, carat_error *err)
{
    const bool on_gpu = o->device && strcmp(o->device, "cpu") != 0;
    carat_engine *e = NULL;
    carat_status status = ct_engine_create_on(&e, model, costs, o, err);

    if (status == CARAT_E_MEMORY && on_gpu)
        tell_what_fits(model, o, err);
    if (!status && on_gpu && (status = ct_check_device(e, o, err)))
        carat_engine_close(e);
    if (status)
        return status;
    if (e->sides.host_layers) /* of a device */
        ct_head_log(&e->head, "the GPU has the last %d of %d layers and the head, the CPU the others",
                    e->config.n_layer - e->sides.host_layers, e->config.n_layer);
    if (o->tensor)
        ct_head_log(&e->head,
                    "tensor arithmetic: the GPU sums products of prompts in an order of its own, so ids "
                    "may be others than those of fast");
    *engine = e;
    return CARAT_OK;
}

/* Both, or where there is no memory for that, a GPU, or where that fails, for what reason ever, the CPU: why
 * is logged in a line. */
static carat_status create_open(carat_engine **engine, const carat_model *model, const carat_costs *costs,
                                const carat_engine_options *o, carat_error *err)
{
    const bool fit = o->gpu_layers || ct_both_fit(model, o);
    carat_engine_options gpu = *o, cpu = *o;
    carat_error refusal;

    gpu.device = "cuda";
    cpu.device = "cpu";
    if (fit && !o->gpu_layers)
        gpu.gpu_layers = CT_ALL_ON_BOTH;
    carat_status status = create_checked(engine, model, costs, &gpu, &refusal);
    if (status == CARAT_E_CANCELLED)
        return ct_fail(err, status, "%s", refusal.message);
    if (status) {
        CT_TRY(create_checked(engine, model, costs, &cpu, err));
        (*engine)->sides.no_device = refusal;
        ct_head_log(&(*engine)->head, "%s; the CPU computes", refusal.message);
    } else if (!fit) {
        ct_head_log(&(*engine)->head, "there is no memory for all at the CPU, too; the GPU computes");
    }
    ct_measure_sides(*engine);
    return CARAT_OK;
}

carat_status carat_engine_create(carat_engine **engine, const carat_model *model,
                                 const carat_engine_options *options, carat_error *err)
{
    CT_GIVEN(engine, err);
    struct ct_whole_options full;

    CT_TRY(ct_take_engine_options(&full, options, err));
    return ct_device_is_open(&full.o) ? create_open(engine, model, &full.costs, &full.o, err)
                                      : create_checked(engine, model, &full.costs, &full.o, err);
}
