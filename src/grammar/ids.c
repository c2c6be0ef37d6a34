/* SPDX-License-Identifier: Apache-2.0 */
/* ids.c: see ids.h.
 *
 * The shortest ending is a rule that names for each state one id, and nothing but the state decides it: so
 * the ids that an ending takes become fewer by one with each of them, and who has room for the ending of a
 * state has room for the id that it names and for what comes behind it. */
#include "grammar/ids.h"

#include "os/memory.h"

carat_status ct_ids_open(struct ct_ids *x, const struct ct_grammar *g, const struct ct_tokenizer *t,
                         carat_error *err)
{
    *x = (struct ct_ids){.tokenizer = t};
    CT_TRY(ct_tokenizer_trie(&x->trie, t, err));
    CT_TRY(ct_automaton_open(&x->automaton, g, err));
    x->shortest = ct_os_alloc(CT_SETS_MAX * sizeof *x->shortest);
    carat_status status = x->shortest ? ct_speller_create(&x->speller, t, err) : ct_no_memory(err, "a form");
    if (status)
        ct_ids_close(x);
    return status;
}

void ct_ids_close(struct ct_ids *x)
{
    ct_automaton_close(&x->automaton);
    ct_speller_free(x->speller);
    ct_os_free(x->shortest);
    *x = (struct ct_ids){0};
}

void ct_ids_forget(struct ct_ids *x)
{
    memset(x->shortest, 0, x->automaton.n_sets * sizeof *x->shortest);
}

int32_t ct_ids_follow(struct ct_ids *x, int32_t state, int32_t id)
{
    char bytes[CT_TOKEN_BYTES];
    const size_t n = ct_tokenizer_bytes(x->tokenizer, id, bytes);

    if (n == 0)
        return ct_automaton_token(&x->automaton, state, id);
    for (size_t i = 0; i < n && state != CT_DEAD; i++)
        state = ct_automaton_byte(&x->automaton, state, (uint8_t)bytes[i]);
    return state;
}

/* ---- endings ---- */

/* The bytes before the next token that stands for itself, as one of the automaton's questions names them
 * symbol by symbol; *token becomes that token's number, or CT_NO_SYMBOL. */
typedef int32_t (*next_symbol)(const struct ct_automaton *a, int32_t state);
static size_t read_ahead(struct ct_ids *x, next_symbol next, int32_t *state, char *text, int32_t *token)
{
    size_t n = 0;

    *token = CT_NO_SYMBOL;
    while (n < CT_SPELLED_MAX) {
        const int32_t symbol = next(&x->automaton, *state);
        if (symbol >= 256)
            *token = symbol;
        if (symbol == CT_NO_SYMBOL || symbol >= 256)
            break;
        text[n++] = (char)symbol;
        *state = ct_automaton_symbol(&x->automaton, *state, symbol);
    }
    return n;
}

/* The longest text of an id that begins a text, among the nodes from `at` to `end`; 0: there is none. */
static size_t longest_among(const struct ct_trie *trie, uint32_t at, uint32_t end, const char *text, size_t n,
                            int32_t *id)
{
    const struct ct_trie_node *node = trie->node;
    size_t longest = 0;

    for (size_t i = 0; i < n; i++) {
        while (at < end && node[at].byte != (uint8_t)text[i])
            at = node[at].next;
        if (at >= end)
            break;
        end = node[at].next;
        if (node[at].first < node[at + 1].first) {
            *id = ct_trie_id(trie->id[node[at].first]);
            longest = i + 1;
        }
        at++;
    }
    return longest;
}

/* The longest id that begins a text, where the tokenizer's own spelling has another text. */
static int32_t longest_beginning(const struct ct_ids *x, const char *text, size_t n)
{
    int32_t id = -1, plain = -1;
    const size_t longest = longest_among(x->trie, 0, x->trie->plain, text, n, &id);

    return longest_among(x->trie, x->trie->plain, x->trie->n_nodes, text, n, &plain) > longest ? plain : id;
}

int32_t ct_ids_ending(struct ct_ids *x, int32_t state)
{
    char text[CT_SPELLED_MAX], bytes[CT_TOKEN_BYTES];
    int32_t at = state, token;

    if (state == CT_DEAD || ct_automaton_accepts(&x->automaton, state))
        return -1;
    const size_t n = read_ahead(x, ct_automaton_shortest, &at, text, &token);
    if (n == 0)
        return token == CT_NO_SYMBOL ? -1 : x->automaton.grammar->token[token - 256];
    const int32_t *spelled;
    const int32_t first = ct_speller_spell(x->speller, text, n, &spelled) > 0 ? spelled[0] : -1;
    const size_t length = ct_tokenizer_bytes(x->tokenizer, first, bytes);
    if (length > 0 && length <= n && memcmp(bytes, text, length) == 0)
        return first;
    return longest_beginning(x, text, n);
}

enum { AN_ID = 32 }; /* steps, to find the next one of an ending */

int ct_ids_shortest(struct ct_ids *x, int32_t state)
{
    int n = 0, known = -1;

    /* once to count, and once more so that each state on the way knows its own */
    for (int32_t at = state; known < 0; n += known < 0) {
        if (at == CT_DEAD || ct_watch_ended(x->automaton.grammar->watch, AN_ID))
            return INT32_MAX;
        if (x->shortest[at] || ct_automaton_accepts(&x->automaton, at)) {
            known = CT_MAX(x->shortest[at] - 1, 0);
            continue;
        }
        const int32_t id = ct_ids_ending(x, at);
        if (id < 0)
            return INT32_MAX;
        at = ct_ids_follow(x, at, id);
    }
    const int all = n + known;
    for (int32_t at = state; n > 0 && !ct_watch_ended(x->automaton.grammar->watch, AN_ID); n--) {
        x->shortest[at] = n + known + 1;
        at = ct_ids_follow(x, at, ct_ids_ending(x, at));
    }
    return all;
}

bool ct_ids_ends_within(struct ct_ids *x, int32_t state, int most)
{
    /* an id takes a byte or a token at least */
    return (int64_t)ct_automaton_least(&x->automaton, state) <= most || ct_ids_shortest(x, state) <= most;
}

/* ---- what alone can follow ---- */

int ct_ids_draft(struct ct_ids *x, int32_t state, int32_t *ids, int k)
{
    char text[CT_SPELLED_MAX];
    int32_t token = CT_NO_SYMBOL;
    int n = 0;

    do {
        const size_t bytes = read_ahead(x, ct_automaton_only, &state, text, &token);
        const int32_t *spelled;
        const int n_spelled = ct_speller_spell(x->speller, text, bytes, &spelled);
        size_t covered = 0;
        for (int i = 0; i < n_spelled && n < k; i++) {
            char own[CT_TOKEN_BYTES];
            covered += ct_tokenizer_bytes(x->tokenizer, spelled[i], own);
            ids[n++] = spelled[i];
        }
        if (token == CT_NO_SYMBOL || covered < bytes) /* within a character nothing is spelled */
            break;
        if (n < k)
            ids[n++] = x->automaton.grammar->token[token - 256];
        state = ct_automaton_symbol(&x->automaton, state, token);
    } while (n < k);
    return n;
}
