/* SPDX-License-Identifier: Apache-2.0 */
/* chat_detect.c: which built-in template stands for that of a checkpoint: by the hash of its whole text, else
 * by some words of it. A template is never run. */
#include "text/chat/chat_parts.h"

#include "file/sbs.h"

/* Words of templates, each foreign to a built-in one that has nothing of that. */
enum { NOTHING, TOOLS, THOUGHTS };
static const struct foreign {
    const char *word;
    int of;
} foreign_words[] = {{"tool_calls", TOOLS},
                     {"tools", TOOLS},
                     {"enable_thinking", THOUGHTS},
                     {"reasoning_content", THOUGHTS},
                     {"<think", NOTHING},
                     {"<|", THOUGHTS},
                     {"[INST]", NOTHING}};

struct marks {
    const struct ct_chat_known *known; /* NULL: none of the published ones */
    bool present, sound, function, turns, gemma4, empty_thought, refuses_system;
    bool foreign[CT_COUNT(foreign_words)];
};

static bool text_contains(struct ct_str text, const char *word)
{
    size_t n = strlen(word);
    const char *at = text.s, *end = text.s + text.n;
    while ((size_t)(end - at) >= n && (at = memchr(at, word[0], (size_t)(end - at) - n + 1)) != NULL) {
        if (memcmp(at, word, n) == 0)
            return true;
        at++;
    }
    return false;
}

/* The empty thought of Gemma 4's large models; its line break may be spelled. */
static bool has_empty_thought(struct ct_str text)
{
    static const char *const breaks[] = {"\n", "\\n"};
    bool has = false;
    for (size_t i = 0; i < CT_COUNT(breaks); i++) {
        char thought[64];
        snprintf(thought, sizeof thought, "thought%s%s", breaks[i], ct_controls[CT_CONTROL_CHANNEL_END].text);
        has = has || text_contains(text, thought);
    }
    return has;
}

static struct marks marks_of(struct ct_str text)
{
    struct marks m = {.present = true};
    m.sound = text.n <= CT_CHAT_TEMPLATE_MAX && !(text.n && memchr(text.s, 0, text.n)) &&
              ct_utf8_valid(text.s, text.n);
    if (!m.sound)
        return m;
    m.known = ct_chat_find(text);
    m.function = text_contains(text, "start_function_declaration");
    m.turns = text_contains(text, ct_controls[CT_CONTROL_START_OF_TURN].text);
    m.gemma4 = text_contains(text, ct_controls[CT_CONTROL_TURN].text);
    m.empty_thought = has_empty_thought(text);
    m.refuses_system = text_contains(text, "System role not supported");
    for (size_t i = 0; i < CT_COUNT(foreign_words); i++)
        m.foreign[i] = text_contains(text, foreign_words[i].word);
    return m;
}

/* One entry of the list form, {"name": ..., "template": ...}; the object is open. */
static carat_status template_entry(struct ct_json *j, struct marks *m, bool *is_default)
{
    enum ct_json_token token;
    while ((token = ct_json_next(j)) == CT_JSON_KEY) {
        bool name = ct_str_is(j->string, "name");
        if (!name && !ct_str_is(j->string, "template")) {
            ct_json_skip(j);
            continue;
        }
        if ((token = ct_json_next(j)) != CT_JSON_STRING)
            return ct_json_fail(j, "chat_template: name and template must be strings");
        if (name)
            *is_default = ct_str_is(j->string, "default");
        else
            *m = marks_of(j->string);
    }
    return token == CT_JSON_OBJECT_END ? CARAT_OK
                                       : ct_json_fail(j, "chat_template: expected the end of an object");
}

/* The value of "chat_template": a string, null, or a list of named ones of which "default" counts, or the
 * only one. */
static carat_status template_value(struct ct_json *j, struct marks *m)
{
    enum ct_json_token token = ct_json_next(j);
    if (token == CT_JSON_NULL)
        return CARAT_OK;
    if (token == CT_JSON_STRING) {
        *m = marks_of(j->string);
        return CARAT_OK;
    }
    if (token != CT_JSON_ARRAY) {
        const char *spelled = (const char *)j->text + j->start;
        int n = token == CT_JSON_OBJECT ? 0 : (int)CT_MIN(j->at - j->start, (size_t)64);
        j->at = j->start; /* the place is that of the value */
        return ct_json_fail(j, "chat_template is %.*s%s, expected a string or a list of named templates", n,
                            spelled, n ? "" : "an object");
    }
    struct marks only = {0};
    int n = 0;
    while ((token = ct_json_next(j)) == CT_JSON_OBJECT) {
        struct marks entry = {0};
        bool is_default = false;
        CT_TRY(template_entry(j, &entry, &is_default));
        if (is_default)
            *m = entry;
        only = entry;
        n++;
    }
    if (token != CT_JSON_ARRAY_END)
        return ct_json_fail(j, "chat_template: the list must hold objects with name and template");
    if (n == 1)
        *m = only;
    else if (n && !m->present) /* several, and none is the default: treated as an unknown template */
        *m = (struct marks){.present = true, .sound = true};
    return CARAT_OK;
}

static carat_status template_side(const struct ct_file *f, const char *name, struct marks *m,
                                  carat_error *err)
{
    struct ct_bytes text = ct_file_side(f, name);
    if (!text.data)
        return CARAT_OK;
    if (text.size > CT_CHAT_SIDE_MAX)
        return ct_bad_file(err, ct_file_path(f), "%s: %zu bytes found, expected at most %d", name, text.size,
                           CT_CHAT_SIDE_MAX);
    struct ct_json j;
    ct_json_init(&j, name, text);
    enum ct_json_token token = ct_json_next(&j);
    if (token != CT_JSON_OBJECT)
        ct_json_fail(&j, "expected an object");
    while (token != CT_JSON_ERROR && (token = ct_json_next(&j)) == CT_JSON_KEY) {
        if (!ct_str_is(j.string, "chat_template"))
            ct_json_skip(&j);
        else if (template_value(&j, m) != CARAT_OK)
            break;
    }
    if (token == CT_JSON_OBJECT_END)
        ct_json_next(&j); /* refuses text behind the document */
    carat_status status = CARAT_OK;
    if (j.error.code != CARAT_OK)
        status = ct_fail(err, j.error.code, "%s: %s", ct_file_path(f), j.error.message);
    ct_json_free(&j);
    return status;
}

static carat_status template_marks(const struct ct_file *f, struct marks *m, carat_error *err)
{
    if (ct_file_kind(f) == CT_FILE_GGUF) {
        const struct ct_meta *meta = ct_file_meta(f, "tokenizer.chat_template");
        if (meta && meta->type != CT_META_STRING)
            return ct_bad_file(err, ct_file_path(f),
                               "key tokenizer.chat_template at byte %llu: expected a string",
                               (unsigned long long)meta->offset);
        if (meta)
            *m = marks_of(meta->s);
        return CARAT_OK;
    }
    struct ct_bytes jinja = ct_file_side(f, "chat_template.jinja");
    if (jinja.data)
        *m = marks_of((struct ct_str){(const char *)jinja.data, jinja.size});
    if (!m->present)
        CT_TRY(template_side(f, "chat_template.json", m, err));
    if (!m->present)
        CT_TRY(template_side(f, "tokenizer_config.json", m, err));
    return CARAT_OK;
}

/* A word of the template that the chosen built-in one does not have; NULL: none. */
static const char *foreign_word(const struct marks *m, enum ct_chat chat)
{
    const bool has[] = {[NOTHING] = false,
                        [TOOLS] = ct_chat_can_think(chat) || chat == CT_CHAT_FUNCTIONGEMMA,
                        [THOUGHTS] = ct_chat_can_think(chat)};
    for (size_t i = 0; i < CT_COUNT(foreign_words); i++)
        if (m->foreign[i] && !has[foreign_words[i].of])
            return foreign_words[i].word;
    return NULL;
}

/* Writes the note about the choice: the user must be told when a template that differs is replaced. */
static void write_note(const struct ct_file *f, const struct marks *m, const struct ct_chat_found *found,
                       char *note)
{
    const char *word = foreign_word(m, found->chat);

    note[0] = 0;
    if (m->present && found->chat == CT_CHAT_NONE)
        snprintf(note, CT_CHAT_NOTE,
                 "%.300s: its chat template is %s, so none is used; " CT_CHAT_NAMES " are "
                 "built in and can be named",
                 ct_file_path(f),
                 m->sound ? "none of Gemma's" : "no UTF-8 text of at most 1 MiB without NUL");
    else if (found->altered)
        snprintf(note, CT_CHAT_NOTE,
                 "%.300s: its chat template is altered: it is none of the published ones that carat "
                 "knows%s%s%s; the built-in template %s is used in its place",
                 ct_file_path(f), word ? " and has \"" : "", word ? word : "",
                 word ? "\", which the built-in one has not" : "", ct_chat_name(found->chat));
}

/* gemma.cpp stores no template. Its prompt wrapping says whether the model has one, its layers say of
 * which generation. */
static enum ct_chat sbs_chat(const struct ct_sbs_config *s)
{
    const struct ct_sbs_layer *first = s->layer_configs.element;
    if (s->layer_configs.n == 0 || (s->wrapping != CT_SBS_WRAP_IT && s->wrapping != CT_SBS_WRAP_VLM))
        return CT_CHAT_NONE;
    return first->use_qk_norm ? CT_CHAT_GEMMA3 : CT_CHAT_GEMMA;
}

carat_status ct_chat_detect(const struct ct_file *f, const char *architecture, struct ct_chat_found *found,
                            char note[CT_CHAT_NOTE], carat_error *err)
{
    struct marks m = {0};
    CT_TRY(template_marks(f, &m, err));
    bool gemma3 = !architecture || !*architecture || strncmp(architecture, "gemma3", 6) == 0;
    *found = (struct ct_chat_found){.origin = ""};
    if (m.known)
        *found = (struct ct_chat_found){m.known->chat, false, m.known->origin, m.known->state};
    else if (m.gemma4)
        found->chat = m.empty_thought ? CT_CHAT_GEMMA4 : CT_CHAT_GEMMA4_SMALL;
    else if (m.function)
        found->chat = CT_CHAT_FUNCTIONGEMMA;
    else if (m.turns) /* Gemma 1 and 2 are the ones that refuse a system message */
        found->chat = gemma3 && !m.refuses_system ? CT_CHAT_GEMMA3 : CT_CHAT_GEMMA;
    found->altered = found->chat != CT_CHAT_NONE && !m.known;
    if (ct_file_sbs(f))
        found->chat = sbs_chat(ct_file_sbs(f));
    write_note(f, &m, found, note);
    return CARAT_OK;
}
