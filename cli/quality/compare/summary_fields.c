/* SPDX-License-Identifier: Apache-2.0 */
/* summary_fields.c: what lines of results and their summary are as JSON, as tables: the one place that has
 * their names. */
#include "quality/compare/summary.h"

/* clang-format off */

/* ---- a line ---- */

#define D(member) .at = offsetof(struct divergence, member)
const struct field divergence_fields[] = {
    {"prompt", FIELD_JSON | FIELD_OPTIONAL, D(prompt)},
    {"index", FIELD_LONG, D(index)},
    {"id_ref", FIELD_INT, D(id_ref)},
    {"id_test", FIELD_INT, D(id_test)},
    {"piece_ref", FIELD_WORDS, D(piece_ref)},
    {"piece_test", FIELD_WORDS, D(piece_test)},
    {"margin_ref", FIELD_REAL, D(margin_ref)},
    {"margin_test", FIELD_REAL, D(margin_test)},
    {"near_tie", FIELD_BOOL, D(near_tie)},
    {0},
};

#define P(member) .at = offsetof(struct loop, member)
static const struct field loop_fields[] = {
    {"repeated_4grams", FIELD_INT, P(repeated_4grams)},
    {"cycle", FIELD_INT, P(cycle)},
    {"cycle_start", FIELD_INT, P(cycle_start)},
    {0},
};

#define S(member) .at = offsetof(struct run_side, member)
static const struct field side_fields[] = {
    {"name", FIELD_WORDS, S(name)},
    {"recorded", FIELD_BOOL | FIELD_OPTIONAL, S(recorded)},
    {"architecture", FIELD_WORDS | FIELD_OPTIONAL, S(architecture)},
    {"container", FIELD_WORDS | FIELD_OPTIONAL, S(container)},
    {"types", FIELD_WORDS | FIELD_OPTIONAL, S(types)},
    {"weight_bytes", FIELD_COUNT | FIELD_OPTIONAL, S(weight_bytes)},
    {"n_parameter", FIELD_COUNT | FIELD_OPTIONAL, S(n_parameter)},
    {"content", FIELD_WORDS | FIELD_OPTIONAL, S(content)},
    {"mode", FIELD_WORDS | FIELD_OPTIONAL, S(mode)},
    {0},
};

#define T(member) .at = offsetof(struct run_data, member)
const struct field data_fields[] = {
    {"name", FIELD_WORDS, T(name)},
    {"prompts", FIELD_LONG, T(prompts)},
    {"hash", FIELD_WORDS, T(hash)},
    {"raw", FIELD_BOOL, T(raw)},
    {"chat_template", FIELD_WORDS, T(chat_template)},
    {0},
};

#define R(member) .at = offsetof(struct run, member)
const struct field run_fields[] = {
    {"version", FIELD_WORDS, R(version)},
    {"numerics", FIELD_INT, R(numerics)},
    {"driver", FIELD_WORDS, R(driver)},
    {"options.max_tokens", FIELD_INT, R(options.max_tokens)},
    {"options.ignore_eos", FIELD_BOOL, R(options.ignore_eos)},
    {"options.top", FIELD_INT, R(options.top)},
    {"options.near_tie", FIELD_REAL, R(options.near_tie)},
    {"options.at", FIELD_JSON, R(options.at)},
    {"ref", FIELD_PART, R(side[0]), .of = side_fields},
    {"test", FIELD_PART, R(side[1]), .of = side_fields},
    {"data", FIELD_SOME | FIELD_OPTIONAL, R(data), .of = data_fields},
    {"command", FIELD_WORDS, R(command)},
    {0},
};

#define L(member) .at = offsetof(struct result, member)
#define COLUMN(which, name, ...) {name, FIELD_JSON | FIELD_OPTIONAL, L(column[which])},
const struct field result_fields[] = {
    {"id", FIELD_JSON, L(id)},
    {"status", FIELD_WORDS, L(status)},
    {"driver", FIELD_WORDS, L(driver)},
    {"prompt", FIELD_WORDS, L(prompt)},
    {"n_prompt", FIELD_INT, L(n_prompt)},
    {"prompt_cut", FIELD_BOOL | FIELD_OPTIONAL, L(prompt_cut)},
    {"message", FIELD_WORDS | FIELD_OPTIONAL, L(message)},
    RESULT_COLUMNS(COLUMN)
    {"stop", FIELD_COUNT, L(stop)},
    {"answer_ref", FIELD_WORDS, L(answer[0])},
    {"answer_test", FIELD_WORDS, L(answer[1])},
    {"answer_ref_ids", FIELD_JSON, L(answer_ids[0])},
    {"answer_test_ids", FIELD_JSON, L(answer_ids[1])},
    {"equal", FIELD_BOOL, L(equal)},
    {"first_divergence", FIELD_SOME, L(first), .of = divergence_fields},
    {"loop_ref", FIELD_SOME | FIELD_OPTIONAL, L(loop[0]), .of = loop_fields},
    {"loop_test", FIELD_SOME | FIELD_OPTIONAL, L(loop[1]), .of = loop_fields},
    {"run", FIELD_SOME | FIELD_OPTIONAL, L(run), .of = run_fields},
    {0},
};

/* ---- a bisection ---- */

#define E(member) .at = offsetof(carat_operation_error, member)
static const struct field operation_fields[] = {
    {"layer", FIELD_INT, E(layer)},
    {"operation", FIELD_STRING, E(operation)},
    {"tensor", FIELD_CHARS, E(tensor)},
    {"own", FIELD_REAL, E(own)},
    {"carried", FIELD_REAL, E(carried)},
    {"channel", FIELD_INT, E(channel)},
    {"channels", FIELD_INT, E(width)},
    {"channel_error", FIELD_REAL, E(channel_error)},
    {"flagged", FIELD_TRUTH, E(flagged)},
    {"reason", FIELD_STRING, E(reason)},
    {0},
};

#define B(member) .at = offsetof(struct bisection, member)
static const struct field bisection_fields[] = {
    {"tokens", FIELD_INT, B(tokens)},
    {"rows", FIELD_INTS, B(row), .n_at = offsetof(struct bisection, n_rows)},
    {"flagged", FIELD_AT, B(flagged), .of = operation_fields},
    {"table", FIELD_LIST, B(table), .of = operation_fields, .size = sizeof(carat_operation_error),
     .n_at = offsetof(struct bisection, n)},
    {"failed", FIELD_CHARS | FIELD_OPTIONAL, B(failed)},
    {0},
};

/* ---- the summary ---- */

static const char *health_name(int health)
{
    return carat_health_name((carat_health)health);
}

#define J(name, member) {name, FIELD_NAMED, .at = offsetof(carat_judgement, member), .named = health_name}
const struct field verdict_fields[] = {
    J("whole", whole),
    {"reason", FIELD_CHARS, .at = offsetof(carat_judgement, reason)},
    J("kl", kl),
    J("correlation", correlation),
    J("match", match),
    J("entropy", entropy),
    J("loop", loop),
    J("outside", outside),
    {0},
};

#define Q(member) .at = offsetof(carat_quality_limits, member)
const struct field limits_fields[] = {
    {"kl", FIELD_PAIR, Q(kl)},
    {"correlation", FIELD_PAIR, Q(correlation)},
    {"match", FIELD_PAIR, Q(match)},
    {"entropy", FIELD_PAIR, Q(entropy)},
    {"outside", FIELD_PAIR, Q(outside)},
    {0},
};

#define M(member) .at = offsetof(carat_summary, member)
_Static_assert(offsetof(carat_summary, high) == offsetof(carat_summary, low) + sizeof(double), "a pair");
const struct field spread_fields[] = {
    {"mean", FIELD_REAL, M(mean)},
    {"median", FIELD_REAL, M(median)},
    {"p90", FIELD_REAL, M(p90)},
    {"p99", FIELD_REAL, M(p99)},
    {"max", FIELD_REAL, M(max)},
    {"interval", FIELD_PAIR, M(low)},
    {0},
};

static const struct field failure_fields[] = {
    {"id", FIELD_JSON, L(id)},
    {"status", FIELD_WORDS, L(status)},
    {"message", FIELD_WORDS, L(message)},
    {0},
};

#define A(member) .at = offsetof(struct part, member)
static const struct field at_fields[] = {
    {"tokens", FIELD_LONG, A(tokens)},
    {"positions", FIELD_LONG, A(positions)},
    {"kl", FIELD_REAL, A(kl)},
    {"correlation", FIELD_REAL, A(correlation)},
    {"match", FIELD_REAL, A(match)},
    {"first_divergence", FIELD_COUNT, A(first_divergence)},
    {0},
};
static const struct field after_stop_fields[] = {
    {"positions", FIELD_LONG, A(positions)},
    {"kl", FIELD_REAL, A(kl)},
    {"correlation", FIELD_REAL, A(correlation)},
    {"match_rate", FIELD_REAL, A(match)},
    {0},
};

#define I(member) .at = offsetof(struct timings, member)
static const struct field timings_fields[] = {
    {"seconds", FIELD_REAL, I(seconds)},
    {"tokens_per_second", FIELD_REAL, I(tokens_per_second)},
    {"prompts", FIELD_COUNT | FIELD_OPTIONAL, I(prompts)},
    {"positions", FIELD_COUNT | FIELD_OPTIONAL, I(positions)},
    {0},
};

#define Y(member) .at = offsetof(struct summary, member)
#define METRIC(which, name, ...) {name, FIELD_PART, Y(metric[which]), .of = spread_fields},
const struct field summary_fields[] = {
    {"verdict", FIELD_PART, Y(verdict), .of = verdict_fields},
    {"limits", FIELD_PART, Y(limits), .of = limits_fields},
    {"prompts", FIELD_LONG, Y(prompts)},
    {"failed", FIELD_LONG, Y(failed)},
    {"context", FIELD_LONG, Y(context)},
    {"numeric", FIELD_LONG, Y(numeric)},
    {"failures", FIELD_LIST, Y(failure), .of = failure_fields, .size = sizeof(struct result),
     .n_at = offsetof(struct summary, n_failures)},
    {"positions", FIELD_LONG, Y(positions)},
    {"near_ties", FIELD_LONG, Y(near_ties)},
    {"left_out", FIELD_LONG, Y(left_out)},
    SUMMARY_METRICS(METRIC)
    {"delta_p_rms", FIELD_REAL, Y(delta_p_rms)},
    {"perplexity_ref", FIELD_REAL, Y(perplexity[0])},
    {"perplexity_test", FIELD_REAL, Y(perplexity[1])},
    {"equal_answers", FIELD_REAL, Y(equal_answers)},
    {"first_divergence", FIELD_SOME, Y(first), .of = divergence_fields},
    {"diverged", FIELD_LONG, Y(diverged)},
    {"loops_ref", FIELD_LONG, Y(loops[0])},
    {"loops_test", FIELD_LONG, Y(loops[1])},
    {"repeated_4grams_ref", FIELD_LONG, Y(repeated_4grams[0])},
    {"repeated_4grams_test", FIELD_LONG, Y(repeated_4grams[1])},
    {"after_stop", FIELD_SOME, Y(after_stop), .of = after_stop_fields},
    {"at", FIELD_LIST | FIELD_OPTIONAL, Y(at), .of = at_fields, .size = sizeof(struct part),
     .n_at = offsetof(struct summary, n_at)},
    {"run", FIELD_SOME | FIELD_OPTIONAL, Y(run), .of = run_fields},
    {"bisect", FIELD_AT | FIELD_OPTIONAL, Y(bisect), .of = bisection_fields},
    {"timings", FIELD_AT | FIELD_OPTIONAL, Y(timings), .of = timings_fields},
    {0},
};
/* clang-format on */
