/* SPDX-License-Identifier: Apache-2.0 */
/* chat.c: the public side of the chat templates: their names, which one a checkpoint asks for, rendering;
 * and what the templates share. The templates themselves are chat_gemma.c and chat_functiongemma.c;
 * chat_encode.c turns what was rendered into ids. */
#include "text/chat/chat_parts.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "file/sbs.h"

static const char *const chat_names[] = {[CT_CHAT_NONE] = "",
                                         [CT_CHAT_GEMMA] = "gemma",
                                         [CT_CHAT_GEMMA3] = "gemma3",
                                         [CT_CHAT_FUNCTIONGEMMA] = "functiongemma"};

const char *ct_chat_name(enum ct_chat chat)
{
    return chat_names[chat];
}

bool ct_chat_from_name(const char *name, enum ct_chat *chat)
{
    for (int i = CT_CHAT_GEMMA; i < (int)CT_COUNT(chat_names); i++)
        if (strcmp(name, chat_names[i]) == 0) {
            *chat = (enum ct_chat)i;
            return true;
        }
    return false;
}

/* ---- detection: by the hash of the whole text, else by some words of it; a template is never run ---- */

/* Words of templates that no built-in one has; "tools" counts only where the built-in one has no tools. */
static const struct foreign {
    const char *word;
    bool tools;
} foreign_words[] = {
    {"tool_calls", true}, {"tools", true}, {"enable_thinking", false}, {"reasoning_content", false},
    {"<think", false},    {"<|", false},   {"[INST]", false}};

struct marks {
    const struct ct_chat_known *known; /* NULL: none of the published ones */
    bool present, sound, function, turns, refuses_system;
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
        return ct_fail(err, CARAT_E_FORMAT, "%s: %s: %zu bytes found, expected at most %d", ct_file_path(f),
                       name, text.size, CT_CHAT_SIDE_MAX);
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
            return ct_fail(err, CARAT_E_FORMAT,
                           "%s: key tokenizer.chat_template at byte %llu: expected a string", ct_file_path(f),
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
    for (size_t i = 0; i < CT_COUNT(foreign_words); i++)
        if (m->foreign[i] && !(foreign_words[i].tools && chat == CT_CHAT_FUNCTIONGEMMA))
            return foreign_words[i].word;
    return NULL;
}

/* Writes the note for people about the choice: a template that differs must not be replaced in silence. */
static void write_note(const struct ct_file *f, const struct marks *m, const struct ct_chat_found *found,
                       char *note)
{
    const char *word = foreign_word(m, found->chat);

    note[0] = 0;
    if (m->present && found->chat == CT_CHAT_NONE)
        snprintf(note, CT_CHAT_NOTE,
                 "%.300s: its chat template is %s, so none is used; gemma, gemma3 and functiongemma are "
                 "built in and can be named",
                 ct_file_path(f),
                 m->sound ? "none of Gemma's" : "no UTF-8 text of at most 1 MiB without NUL");
    else if (found->altered)
        snprintf(note, CT_CHAT_NOTE,
                 "%.300s: its chat template is altered: it is none of the published ones that carat "
                 "knows%s%s%s; the built-in "
                 "template %s is used in its place",
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
        *found = (struct ct_chat_found){m.known->chat, false, m.known->origin};
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

/* ---- the writer ---- */

void ct_prompt_free(struct ct_prompt *p)
{
    if (!p)
        return;
    free(p->text);
    free(p->segment);
    *p = (struct ct_prompt){0};
}

static bool extend_segment(struct ct_prompt *p, bool content, size_t n)
{
    struct ct_segment *last = p->n_segment ? &p->segment[p->n_segment - 1] : NULL;
    if (last && last->content == content) {
        last->end += n;
        return true;
    }
    if (!ct_array_grow(&p->segment, &p->segment_capacity, (size_t)p->n_segment + 1, sizeof *p->segment))
        return false;
    p->segment[p->n_segment++] = (struct ct_segment){p->n, p->n + n, content};
    return true;
}

static void writer_append(struct ct_chat_writer *w, bool content, const char *s, size_t n)
{
    struct ct_prompt *p = w->prompt;
    if (n == 0 || w->failed)
        return;
    size_t need;
    if (!ct_add(p->n, n, &need) || !ct_add(need, 1, &need) || p->n_segment == INT_MAX ||
        !ct_array_grow(&p->text, &p->capacity, need, 1) || !extend_segment(p, content, n)) {
        w->failed = true;
        return;
    }
    memcpy(p->text + p->n, s, n);
    p->n += n;
    p->text[p->n] = 0;
}

void ct_chat_literal(struct ct_chat_writer *w, const char *text)
{
    writer_append(w, false, text, strlen(text));
}

void ct_chat_control(struct ct_chat_writer *w, enum ct_control c)
{
    ct_chat_literal(w, ct_controls[c].text);
}

void ct_chat_begin_turn(struct ct_chat_writer *w, const char *role)
{
    ct_chat_control(w, CT_CONTROL_START_OF_TURN);
    ct_chat_literal(w, role);
    ct_chat_literal(w, "\n");
}

void ct_chat_end_turn(struct ct_chat_writer *w)
{
    ct_chat_control(w, CT_CONTROL_END_OF_TURN);
    ct_chat_literal(w, "\n");
}

void ct_chat_content(struct ct_chat_writer *w, struct ct_str text)
{
    writer_append(w, true, text.s, text.n);
}

/* ---- one message ---- */

static const char *const role_names[] = {[CT_ROLE_SYSTEM] = "system",
                                         [CT_ROLE_DEVELOPER] = "developer",
                                         [CT_ROLE_USER] = "user",
                                         [CT_ROLE_MODEL] = "model",
                                         [CT_ROLE_TOOL] = "tool"};

const char *ct_role_name(enum ct_role role)
{
    return role_names[role];
}

carat_status ct_chat_role(const struct ct_json_value *message, size_t i, enum ct_role *role, carat_error *err)
{
    const struct ct_json_value *name = ct_json_get(message, "role");
    if (!ct_json_is(message, CT_JSON_OBJECT))
        return ct_fail(err, CARAT_E_ARGUMENT, "messages[%zu]: expected an object", i);
    if (!ct_json_is(name, CT_JSON_STRING))
        return ct_fail(err, CARAT_E_ARGUMENT, "messages[%zu].role: expected a string", i);
    for (int k = 0; k < (int)CT_COUNT(role_names); k++)
        if (ct_json_is_text(name, role_names[k])) {
            *role = (enum ct_role)k;
            return CARAT_OK;
        }
    if (ct_json_is_text(name, "assistant")) {
        *role = CT_ROLE_MODEL;
        return CARAT_OK;
    }
    return ct_fail(err, CARAT_E_ARGUMENT,
                   "messages[%zu].role: unknown role \"%.*s\"; known are system, developer, user, "
                   "assistant, model and tool",
                   i, CT_QUOTE(ct_json_str(name)));
}

static bool is_python_space(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
           c == 0x3000;
}

/* The character that begins at s; the UTF-8 was checked, and white space has at most three bytes. */
static uint32_t character_at(const char *s, size_t n)
{
    const uint8_t *b = (const uint8_t *)s;
    if (b[0] < 0x80)
        return b[0];
    if (b[0] >= 0xc0 && b[0] < 0xe0 && n >= 2)
        return (b[0] & 0x1fu) << 6 | (b[1] & 0x3fu);
    if (b[0] >= 0xe0 && b[0] < 0xf0 && n >= 3)
        return (b[0] & 0x0fu) << 12 | (b[1] & 0x3fu) << 6 | (b[2] & 0x3fu);
    return 0xfffd;
}

struct ct_str ct_chat_trim(struct ct_str s)
{
    while (s.n && is_python_space(character_at(s.s, s.n))) {
        do {
            s.s++;
            s.n--;
        } while (s.n && ((uint8_t)s.s[0] & 0xc0) == 0x80);
    }
    while (s.n) {
        size_t begin = s.n - 1;
        while (begin && ((uint8_t)s.s[begin] & 0xc0) == 0x80)
            begin--;
        if (!is_python_space(character_at(s.s + begin, s.n - begin)))
            break;
        s.n = begin;
    }
    return s;
}

static carat_status write_content_item(struct ct_chat_writer *w, const struct ct_json_value *item,
                                       bool images, size_t i, size_t k, carat_error *err)
{
    const struct ct_json_value *type = ct_json_get(item, "type"), *text = ct_json_get(item, "text");
    if (!ct_json_is(type, CT_JSON_STRING))
        return ct_fail(err, CARAT_E_ARGUMENT, "messages[%zu].content[%zu]: expected an object with a type", i,
                       k);
    if (ct_json_is_text(type, "text")) {
        if (!ct_json_is(text, CT_JSON_STRING))
            return ct_fail(err, CARAT_E_ARGUMENT, "messages[%zu].content[%zu].text: expected a string", i, k);
        ct_chat_content(w, ct_chat_trim(ct_json_str(text)));
        return CARAT_OK;
    }
    /* OpenAI's items for pictures, sound and documents: without them the question is another one. */
    bool carrier = ct_json_is_text(type, "image_url") || ct_json_is_text(type, "input_audio") ||
                   ct_json_is_text(type, "file");
    if (!images || carrier)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "messages[%zu].content[%zu].type: \"%.*s\" cannot be rendered, only text", i, k,
                       CT_QUOTE(ct_json_str(type)));
    if (ct_json_is_text(type, "image"))
        ct_chat_control(w, CT_CONTROL_START_OF_IMAGE);
    return CARAT_OK;
}

carat_status ct_chat_write_content(struct ct_chat_writer *w, const struct ct_json_value *content, bool images,
                                   size_t i, carat_error *err)
{
    size_t k = 0;
    if (ct_json_is(content, CT_JSON_STRING)) {
        ct_chat_content(w, ct_chat_trim(ct_json_str(content)));
    } else if (ct_json_is(content, CT_JSON_ARRAY)) {
        CT_JSON_EACH(item, content)
        CT_TRY(write_content_item(w, item, images, i, k++, err));
    } else {
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "messages[%zu].content: expected a string or a list of text items", i);
    }
    return CARAT_OK;
}

/* ---- rendering ---- */

static carat_status render_list(struct ct_chat_writer *w, enum ct_chat chat,
                                const struct ct_json_value *messages, const struct ct_json_value *tools,
                                bool generation_prompt, carat_error *err)
{
    size_t n_tool = ct_json_count(tools);
    if (!ct_json_is(messages, CT_JSON_ARRAY) || ct_json_count(messages) == 0)
        return ct_fail(err, CARAT_E_ARGUMENT, "messages: expected a list of at least one message");
    if (tools && !ct_json_is(tools, CT_JSON_ARRAY))
        return ct_fail(err, CARAT_E_ARGUMENT, "tools: expected a list");
    if (n_tool > CT_CHAT_TOOLS_MAX)
        return ct_fail(err, CARAT_E_ARGUMENT, "tools[%d]: %zu tools found, expected at most %d",
                       CT_CHAT_TOOLS_MAX, n_tool, CT_CHAT_TOOLS_MAX);
    ct_chat_control(w, CT_CONTROL_BOS);
    if (chat == CT_CHAT_FUNCTIONGEMMA)
        return ct_chat_render_function(w, messages, tools, generation_prompt, err);
    if (n_tool)
        return ct_fail(err, CARAT_E_ARGUMENT, "tools: the %s template has no tools", ct_chat_name(chat));
    CT_TRY(ct_chat_render_gemma(w, chat == CT_CHAT_GEMMA3, messages, err));
    if (generation_prompt)
        ct_chat_begin_turn(w, ct_role_name(CT_ROLE_MODEL));
    return CARAT_OK;
}

static struct ct_bytes text_bytes(const char *text)
{
    return (struct ct_bytes){(const uint8_t *)text, strlen(text)};
}

static carat_status needs_template(enum ct_chat chat, carat_error *err)
{
    return chat != CT_CHAT_NONE ? CARAT_OK
                                : ct_fail(err, CARAT_E_NOT_FOUND,
                                          "there is no chat template: name gemma, gemma3 or functiongemma");
}

carat_status ct_chat_render_list(enum ct_chat chat, const struct ct_json_value *messages, const char *tools,
                                 bool generation_prompt, carat_log log, void *user, struct ct_prompt *out,
                                 carat_error *err)
{
    struct ct_json_tree tool_tree = {0};
    struct ct_chat_writer w = {.prompt = out, .log = log, .user = user};
    CT_TRY(needs_template(chat, err));
    *out = (struct ct_prompt){0};
    carat_status status = CARAT_OK;
    if (tools)
        status = ct_json_tree_read(&tool_tree, CARAT_E_ARGUMENT, "tools", text_bytes(tools), err);
    if (status == CARAT_OK)
        status = render_list(&w, chat, messages, tool_tree.value, generation_prompt, err);
    if (status == CARAT_OK && w.failed)
        status =
            ct_fail(err, CARAT_E_MEMORY, "out of memory after %zu bytes of a rendered conversation", out->n);
    ct_json_tree_free(&tool_tree);
    if (status != CARAT_OK)
        ct_prompt_free(out);
    return status;
}

carat_status ct_chat_render(enum ct_chat chat, const char *messages, const char *tools,
                            bool generation_prompt, carat_log log, void *user, struct ct_prompt *out,
                            carat_error *err)
{
    struct ct_json_tree list = {0};
    CT_TRY(needs_template(chat, err));
    *out = (struct ct_prompt){0};
    carat_status status = ct_json_tree_read(&list, CARAT_E_ARGUMENT, "messages", text_bytes(messages), err);
    if (status == CARAT_OK)
        status = ct_chat_render_list(chat, list.value, tools, generation_prompt, log, user, out, err);
    ct_json_tree_free(&list);
    return status;
}

/* ---- messages that are not JSON ---- */

static carat_status add_message(struct ct_json_tree *list, const carat_message *m, const char *name,
                                carat_error *err)
{
    if (m->json) {
        size_t at = list->n;
        CT_TRY(ct_json_tree_read(list, CARAT_E_ARGUMENT, name, text_bytes(m->json), err));
        return ct_json_is(&list->value[at], CT_JSON_OBJECT)
                   ? CARAT_OK
                   : ct_fail(err, CARAT_E_ARGUMENT, "%s: a list, expected an object", name);
    }
    if (!m->role || !m->content)
        return ct_fail(err, CARAT_E_ARGUMENT, "%s has no %s", name, m->role ? "content" : "role");
    const char *const texts[] = {"role", m->role, "content", m->content};
    for (size_t i = 1; i < CT_COUNT(texts); i += 2) {
        size_t n = strlen(texts[i]);
        if (!ct_utf8_valid(texts[i], n))
            return ct_fail(err, CARAT_E_ARGUMENT, "%s: its %s is not UTF-8", name, texts[i - 1]);
        if (n > CT_JSON_STRING_MAX)
            return ct_fail(err, CARAT_E_ARGUMENT, "%s: its %s has %zu bytes, expected at most %d", name,
                           texts[i - 1], n, CT_JSON_STRING_MAX);
    }
    ct_json_tree_open(list, CT_JSON_OBJECT, NULL);
    for (size_t i = 0; i < CT_COUNT(texts); i++)
        ct_json_tree_string(list, i % 2 ? CT_JSON_STRING : CT_JSON_KEY,
                            (struct ct_str){texts[i], strlen(texts[i])});
    ct_json_tree_close(list);
    return CARAT_OK;
}

carat_status ct_chat_list(struct ct_json_tree *list, const carat_message *messages, int n, carat_error *err)
{
    if (n > CT_JSON_TREE_MAX / 2)
        return ct_fail(err, CARAT_E_ARGUMENT, "%d messages found, expected at most %d", n,
                       CT_JSON_TREE_MAX / 2);
    ct_json_tree_open(list, CT_JSON_ARRAY, NULL);
    for (int i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "message %d", i);
        CT_TRY(add_message(list, &messages[i], name, err));
    }
    ct_json_tree_close(list);
    return list->failed ? ct_fail(err, CARAT_E_MEMORY, "out of memory for %d messages", n) : CARAT_OK;
}
