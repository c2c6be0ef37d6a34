/* tree.c: guards jansson: depth is limited before its recursive parser runs, and its messages are cut down to
 * the part that quotes nothing of the input. */
#include "text/tree.h"

/* The offset of the bracket that goes too deep, or n. Text that is no JSON may be judged wrongly here; the
 * parser refuses it anyway. */
static size_t too_deep(const char *s, size_t n)
{
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        if (quoted) {
            if (s[i] == '\\')
                i++;
            else if (s[i] == '"')
                quoted = false;
        } else if (s[i] == '"') {
            quoted = true;
        } else if (s[i] == '[' || s[i] == '{') {
            if (++depth > CT_TREE_DEPTH)
                return i;
        } else if (s[i] == ']' || s[i] == '}') {
            depth--;
        }
    }
    return n;
}

carat_status ct_tree_parse(json_t **root, carat_status code, const char *name, const char *text, size_t n,
                           carat_error *err)
{
    size_t deep = too_deep(text, n);
    if (deep < n)
        return ct_fail(err, code, "%s: at byte %zu: JSON is nested deeper than %d levels", name, deep,
                       CT_TREE_DEPTH);

    json_error_t why;
    json_t *tree = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
    if (!tree) {
        if (json_error_code(&why) == json_error_out_of_memory)
            return ct_fail(err, CARAT_E_MEMORY, "%s: out of memory while reading JSON of %zu bytes", name, n);
        const char *near = strstr(why.text, " near '");
        int length = near ? (int)(near - why.text) : (int)strlen(why.text);
        return ct_fail(err, code, "%s: at byte %d: not valid JSON: %.*s", name, why.position, length,
                       why.text);
    }
    *root = tree;
    return CARAT_OK;
}
