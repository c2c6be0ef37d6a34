/* SPDX-License-Identifier: Apache-2.0 */
/* schema_format.c: the formats of strings, as patterns of whole texts. Dates are those of the calendar, times
 * and addresses those of the RFCs that JSON Schema names. */
#include "grammar/regex.h"
#include "grammar/schema_parts.h"

#define MONTH_DAYS                                                                                           \
    "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|"                \
    "02-(?:0[1-9]|1[0-9]|2[0-8]))"
#define YEAR "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
/* years that have a 29th of February */
#define LEAP "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
#define DATE "(?:" YEAR "-" MONTH_DAYS "|" LEAP "-02-29)"
#define TIME                                                                                                 \
    "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]+)?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
#define HEX  "[0-9a-fA-F]"
#define BYTE "(?:[0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])"
#define IPV4 BYTE "(?:\\." BYTE "){3}"
#define H16  HEX "{1,4}"
#define LS32 "(?:" H16 ":" H16 "|" IPV4 ")"
#define IPV6                                                                                                 \
    "(?:(?:" H16 ":){6}" LS32 "|::(?:" H16 ":){5}" LS32 "|(?:" H16 ")?::(?:" H16 ":){4}" LS32 "|(?:(?:" H16  \
    ":){0,1}" H16 ")?::(?:" H16 ":){3}" LS32 "|(?:(?:" H16 ":){0,2}" H16 ")?::(?:" H16 ":){2}" LS32          \
    "|(?:(?:" H16 ":){0,3}" H16 ")?::" H16 ":" LS32 "|(?:(?:" H16 ":){0,4}" H16 ")?::" LS32 "|(?:(?:" H16    \
    ":){0,5}" H16 ")?::" H16 "|(?:(?:" H16 ":){0,6}" H16 ")?::)"
#define ATOM  "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
#define LABEL "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
/* characters of a URI, where ones besides these are written %XX */
#define PLAIN           "[A-Za-z0-9._~!$&'()*+,;=-]"
#define CODED           "%" HEX "{2}"
#define IN_PATH         "(?:" PLAIN "|[:@]|" CODED ")"
#define NAMED           "(?:" PLAIN "|" CODED ")*"
#define AUTHORITY(host) "(?:(?:" PLAIN "|:|" CODED ")*@)?" host "(?::[0-9]*)?"
#define URI(host)                                                                                            \
    "[A-Za-z][A-Za-z0-9+.-]*:(?:\\/\\/" AUTHORITY(host) "(?:\\/" IN_PATH "*)*|\\/(?:" IN_PATH                \
                                                        "+(?:\\/" IN_PATH "*)*)?|" IN_PATH "+(?:\\/" IN_PATH \
                                                        "*)*)?(?:\\?" TAIL ")?(?:#" TAIL ")?"
#define TAIL "(?:" PLAIN "|[:@/?]|" CODED ")*"

static const struct {
    const char *name, *pattern;
} formats[] = {
    {"date", DATE},
    {"time", TIME},
    {"date-time", DATE "T" TIME},
    {"uuid", HEX "{8}-" HEX "{4}-" HEX "{4}-" HEX "{4}-" HEX "{12}"},
    {"email", ATOM "(?:\\." ATOM ")*@" LABEL "(?:\\." LABEL ")*"},
    {"ipv4", IPV4},
    {"ipv6", IPV6},
    {"uri", URI("(?:\\[" IPV6 "\\]|" NAMED ")")},
    /* A URI whose characters are counted has no address in brackets for a host: that would take ten times as
     * many states. */
    {NULL, URI(NAMED)},
};
static_assert(CT_COUNT(formats) == CT_FORMATS, "each has a place");

static carat_status make_format(size_t which, struct ct_language *out, carat_error *err)
{
    struct ct_language raw;

    ct_language_init(&raw);
    carat_status status = ct_regex_language(ct_str_of(formats[which].pattern), true, &raw, NULL, err);
    if (!status)
        status = ct_language_minimise(&raw, out, err);
    ct_language_free(&raw);
    return status;
}

bool ct_schema_format(struct ct_schema_formats *made, struct ct_str name, bool counted,
                      struct ct_language *out, carat_error *err)
{
    size_t which = 0;

    ct_language_init(out);
    while (which < CT_FORMATS - 1 && !ct_str_is(name, formats[which].name))
        which++;
    if (which == CT_FORMATS - 1) {
        (void)ct_fail(err, CARAT_E_UNSUPPORTED,
                      "is not supported, expected date, time, date-time, uuid, email, ipv4, ipv6 or uri");
        return false;
    }
    which += counted && ct_str_is(name, "uri");
    struct ct_language *own = &made->of[which];
    if (own->n_states == 0 && make_format(which, own, err))
        return false;
    out->start = ct_language_append(out, own);
    if (!ct_language_failed(out))
        return true;
    (void)ct_fail(err, out->error.code, "%s", out->error.message);
    ct_language_free(out);
    return false;
}
