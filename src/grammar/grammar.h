/* SPDX-License-Identifier: Apache-2.0 */
/* grammar.h: productions: what a JSON Schema, a regular expression, a grammar in GBNF and a set of tools
 * become, and what the automaton (automaton.h) runs.
 *
 * A rule is a network of nodes with a start and an end. An edge between two nodes takes a byte of a range, a
 * token that stands for itself, the text of another rule, or nothing. A bag is a rule of another kind: its
 * members in any order, each at most once, perhaps counted.
 *
 * Builders add rules, nodes and edges. The first thing that goes wrong sticks, and everything after it does
 * nothing, so that a builder need not look after each step. Nothing here recurses on input.
 *
 * All limits, left recursion and forms without a text are found when a grammar is finished, before anything
 * is drawn. */
#ifndef CT_GRAMMAR_H
#define CT_GRAMMAR_H

#include "base/base.h"

enum { CT_RULES_MAX = 10000, CT_NODES_MAX = 200000, CT_EDGES_MAX = 4 * CT_NODES_MAX };
/* A cost that nothing reaches: what has it cannot be ended. */
#define CT_NEVER (UINT32_MAX / 4)

/* ---- whether whoever waits for a grammar still does: a callback that builders ask now and then, by the
 * steps that they go. What it means that nobody waits is theirs: the first failure sticks. ---- */

/* Steps are about as long as a node takes; between two questions are some ten microseconds. */
enum { CT_WATCH_STEPS = 1024 };

struct ct_grammar_watch {
    carat_progress progress;
    void *user;
    size_t steps; /* gone so far */
    size_t asked; /* of these, when it was asked last */
    bool ended;   /* it has said so, and is not asked again */
};

/* True when nobody waits any more, n steps further on. NULL: somebody does. */
static inline bool ct_watch_ended(struct ct_grammar_watch *w, size_t n)
{
    if (!w || w->ended)
        return w != NULL;
    w->steps += n;
    if (w->steps - w->asked < CT_WATCH_STEPS)
        return false;
    w->asked = w->steps;
    w->ended = w->progress(w->user, w->steps, 0) != 0;
    return w->ended;
}

#define CT_WATCH_SAYS "compiling the form was cancelled"

static inline carat_status ct_watch_fail(carat_error *err)
{
    return ct_fail(err, CARAT_E_CANCELLED, "%s", CT_WATCH_SAYS);
}

/* ---- productions ---- */

enum ct_edge_kind { CT_EDGE_BYTES, CT_EDGE_TOKEN, CT_EDGE_RULE, CT_EDGE_SKIP };

struct ct_edge {
    int32_t from, to;
    int32_t what; /* the token's id, the rule; of bytes 1 or -1 where a level of nesting begins or ends */
    uint8_t kind; /* enum ct_edge_kind */
    uint8_t low, high;
    bool tail; /* behind the rule nothing comes but the end */
};

/* A member of a bag. */
struct ct_member {
    int32_t rule; /* never empty */
    bool required;
};

struct ct_rule {
    char name[48]; /* for messages; cut where it is longer */
    int32_t start, end;
    /* of a bag, whose nodes are start, after a member, before the next one, end; n_members < 0: it is none */
    int32_t after, again, separator; /* the last one a rule, never empty */
    int32_t first_member, n_members;
    int32_t at_least, at_most; /* members of a text; at_most < 0: any number */
    int32_t order;             /* whoever begins with another rule comes before it */
};

/* That a text fits a rule, and what is said where none does. */
struct ct_claim {
    int32_t rule;
    char otherwise[480];
};

/* The spelling of characters. */
enum ct_spelling {
    CT_SPELL_PLAIN, /* in UTF-8 */
    /* as between the quotes of JSON: quotes, backslashes and control characters escaped; what is not ASCII
     * may be, too (\u and four digits, or two of them) */
    CT_SPELL_JSON,
};

struct ct_grammar {
    struct ct_rule *rule;     /* [n_rules] */
    struct ct_edge *edge;     /* [n_edges] by ct_grammar_finish in the order of `from` */
    struct ct_member *member; /* [n_members] */
    struct ct_claim *claim;   /* [n_claims] */
    int32_t n_rules, n_nodes, n_edges, n_members, n_claims;
    int32_t most_levels; /* of nesting that a text may have; 0: any number */
    size_t rule_room, edge_room, member_room, node_room, claim_room;
    int32_t root;
    struct ct_grammar_watch *watch; /* borrowed; NULL: nobody asks to end it */
    carat_error error;              /* code CARAT_OK: nothing has gone wrong */
    /* what ct_grammar_finish works out */
    int32_t *first;        /* [n_nodes + 1] edges of a node */
    int32_t *owner;        /* [n_nodes] the rule */
    uint32_t *least;       /* [n_nodes] bytes and tokens to the end of the rule, at least; CT_NEVER */
    uint8_t *deep;         /* [n_nodes] levels that this shortest way opens; NULL: nothing is limited */
    uint8_t class_of[256]; /* bytes that no edge tells apart have the same class */
    int32_t n_classes;
    int32_t *token; /* [n_tokens] that edges take, ascending */
    int32_t n_tokens;
};

void ct_grammar_init(struct ct_grammar *g);
void ct_grammar_free(struct ct_grammar *g); /* may be called twice */

/* ---- building ---- */

/* The first failure sticks: code and a sentence. Returns -1. */
int32_t ct_grammar_fail(struct ct_grammar *g, carat_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static inline bool ct_grammar_failed(const struct ct_grammar *g)
{
    return g->error.code != CARAT_OK;
}
/* A new rule, with a start and an end that no edge joins yet. The name is for messages. -1 after a failure,
 * which every other function takes. */
int32_t ct_grammar_rule(struct ct_grammar *g, const char *name);
/* A new node of a rule. */
int32_t ct_grammar_node(struct ct_grammar *g, int32_t rule);
/* Edges. Both nodes are of one rule. */
void ct_grammar_bytes(struct ct_grammar *g, int32_t from, int low, int high, int32_t to);
/* A byte with which a level of nesting begins (step 1) or ends (-1). What a text is inside of must be known
 * from its bytes: all edges that take one of them in a place agree on the step. */
void ct_grammar_bracket(struct ct_grammar *g, int32_t from, int byte, int step, int32_t to);
void ct_grammar_token(struct ct_grammar *g, int32_t from, int32_t id, int32_t to);
void ct_grammar_call(struct ct_grammar *g, int32_t from, int32_t rule, int32_t to);
void ct_grammar_skip(struct ct_grammar *g, int32_t from, int32_t to);
/* A path of the bytes of a text; of none it is a skip. */
void ct_grammar_text(struct ct_grammar *g, int32_t from, struct ct_str text, int32_t to);
/* Paths of all characters from code point low to high, surrogates left out. */
void ct_grammar_chars(struct ct_grammar *g, int32_t from, uint32_t low, uint32_t high,
                      enum ct_spelling spelling, int32_t to);
/* A path of these characters (valid UTF-8), each in every way that the spelling has for it. */
void ct_grammar_spelled(struct ct_grammar *g, int32_t from, struct ct_str text, enum ct_spelling spelling,
                        int32_t to);
/* A bag of at least and at most so many members (at_most < 0: any number); members are added to the bag that
 * was made last. */
int32_t ct_grammar_bag(struct ct_grammar *g, const char *name, int32_t separator, int32_t at_least,
                       int32_t at_most);
void ct_grammar_member(struct ct_grammar *g, int32_t bag, int32_t rule, bool required);

/* Some text has to fit the rule; ct_grammar_finish looks, and says this sentence where none does. */
void ct_grammar_claim(struct ct_grammar *g, int32_t rule, const char *otherwise);

static inline int32_t ct_rule_start(const struct ct_grammar *g, int32_t rule)
{
    return rule < 0 ? -1 : g->rule[rule].start;
}
static inline int32_t ct_rule_end(const struct ct_grammar *g, int32_t rule)
{
    return rule < 0 ? -1 : g->rule[rule].end;
}

/* Works out `least` and `deep` of what is there so far; what is added behind it has none. */
carat_status ct_grammar_costs(struct ct_grammar *g, carat_error *err);
/* Makes the grammar ready for an automaton; nothing is added behind it. CARAT_E_ARGUMENT: a rule begins with
 * itself, no text fits the root or a rule of which that was claimed, the shortest text has too many levels,
 * or what a builder has failed with; CARAT_E_MEMORY; CARAT_E_CANCELLED. */
carat_status ct_grammar_finish(struct ct_grammar *g, int32_t root, carat_error *err);

#endif
