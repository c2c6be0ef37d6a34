/* SPDX-License-Identifier: Apache-2.0 */
/* completion.c: `carat completion`: scripts for bash, zsh and fish, made of the tables of verbs and options.
 * After the verb, they offer its options; after an option, its words or files; else what the verb's first
 * argument may be. Where neither words nor files fit, they offer nothing. */
#include <string.h>

#include "options/table.h"
#include "term/output.h"

/* "a|b|c" as words between spaces; other text up to its first space. */
static const char *words(char *out, size_t capacity, const char *choices)
{
    size_t n = strcspn(choices, " "), shown = choices_shown(choices);

    n = n < shown ? n : shown;
    n = n < capacity ? n : capacity - 1;
    memcpy(out, choices, n);
    out[n] = 0;
    for (char *p = out; *p; p++)
        *p = *p == '|' ? ' ' : *p;
    return out;
}

static bool takes_file(const struct option *option)
{
    return option->kind >= MODEL && option->kind <= WRITES;
}

static bool takes_word(const struct option *option)
{
    return option->kind == CHOICE || option->kind == SWITCH;
}

/* The next word is the value, whatever it is. */
static bool takes_next(const struct option *option)
{
    return option->kind != FLAG && !may_stand_alone(option);
}

static void print_verbs(void)
{
    for (const struct verb *v = verb_table; v->name; v++)
        out_print("%s%s", v == verb_table ? "" : " ", v->name);
}

/* verb:0:(a|b) for every verb that has words before its first argument, as a pattern. */
static void print_worded(const char *format)
{
    const char *between = "";

    for (const struct verb *v = verb_table; v->name; v++) {
        if (!v->words)
            continue;
        out_print(format, between, v->name, v->words);
        between = "|";
    }
}

/* The kind of a verb's first argument: a model, one of some words (prints them), or neither. */
enum first { NOTHING, A_MODEL, A_WORD };

static enum first first_argument(const struct verb *verb)
{
    return verb->opens ? A_MODEL : verb_belongs("help", verb) || strchr(verb->args, '|') ? A_WORD : NOTHING;
}

static void print_first_words(const struct verb *verb)
{
    char list[CHOICES_TEXT];

    if (verb_belongs("help", verb))
        print_verbs();
    else
        out_print("%s", words(list, sizeof list, verb->args));
}

/* verb:option for every verb and spelling, which is how the scripts tell options apart. */
static void print_spellings(const struct option *option, const char *before, const char *between)
{
    for (const struct verb *verb = verb_table; verb->name; verb++) {
        for (int k = 0; verb_belongs(option->verbs, verb) && k < MOST_NAMES && option->names[k]; k++) {
            out_print("%s%s:%s", before, verb->name, option->names[k]);
            before = between;
        }
    }
}

/* ---- bash ---- */

static void bash_values(void)
{
    char list[CHOICES_TEXT];

    for (const struct option_row *r = table_rows(); r->option; r++) {
        const struct option *o = r->option;
        if (o->kind == FLAG)
            continue;
        print_spellings(o, "    ", "|");
        if (takes_word(o))
            out_print(") kind='%s %s' ;;\n", takes_next(o) ? "words" : "maybe",
                      words(list, sizeof list, o->value));
        else
            out_print(") kind=%s ;;\n", o->kind == MODEL     ? "model"
                                        : takes_file(o)      ? "files"
                                        : may_stand_alone(o) ? "'maybe '"
                                                             : "text");
    }
}

static void bash_options(const struct verb *verb)
{
    out_print("    %s:*:-*) _carat_words '", verb->name);
    for (const struct option_row *r = table_rows(); r->option; r++) {
        const struct option *o = r->option;
        for (int k = 0; verb_belongs(o->verbs, verb) && k < MOST_NAMES && o->names[k]; k++)
            out_print("%s ", o->names[k]);
    }
    out_print("' ;;\n");
}

static void bash_arguments(const struct verb *verb)
{
    enum first first = first_argument(verb);
    char list[CHOICES_TEXT];

    if (first == NOTHING)
        return;
    out_print("    %s:0:*) ", verb->name);
    if (first == A_WORD) {
        out_print("_carat_words '");
        print_first_words(verb);
        out_print("' ;;\n");
    } else {
        out_print("_carat_model %s ;;\n", verb->words ? words(list, sizeof list, verb->words) : "");
    }
}

/* bash makes three words of --option=value. */
static void print_bash(void)
{
    out_print("# bash completion for carat %s\n"
              "_carat_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$word\"); }\n"
              "_carat_files() { mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); }\n"
              "_carat_model() {\n"
              "    local other\n"
              "    _carat_files\n"
              "    for other in tiny \"$@\"; do\n"
              "        case $other in \"$word\"*) COMPREPLY+=(\"$other\") ;; esac\n"
              "    done\n"
              "}\n"
              "# what follows an option; false when nothing does\n"
              "_carat_value() {\n"
              "    case $1 in\n",
              carat_version());
    bash_values();
    out_print("    *) return 1 ;;\n"
              "    esac\n"
              "}\n"
              "_carat() {\n"
              "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
              "    local verb=${COMP_WORDS[1]} kind i n=0\n"
              "    COMPREPLY=()\n"
              "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
              "        _carat_words '");
    print_verbs();
    out_print("'\n"
              "        return\n"
              "    fi\n"
              "    if [ \"$word\" = = ]; then\n"
              "        word=\n"
              "    elif [ \"$before\" = = ]; then\n"
              "        before=${COMP_WORDS[COMP_CWORD-2]}\n"
              "    fi\n"
              "    if _carat_value \"$verb:$before\"; then\n"
              "        case $kind in\n"
              "        words*|maybe*) _carat_words \"${kind#* }\" ;;\n"
              "        model) _carat_model ;;\n"
              "        files) _carat_files ;;\n"
              "        esac\n"
              "        [[ $kind == maybe* && ${#COMPREPLY[@]} -eq 0 ]] || return\n"
              "    fi\n"
              "    # how many arguments stand before this word\n"
              "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
              "        case ${COMP_WORDS[i]} in\n"
              "        -m|--model) n=$((n + 1)) i=$((i + 1)) ;;\n"
              "        -?*)\n"
              "            [ \"${COMP_WORDS[i+1]}\" != = ] || { i=$((i + 2)); continue; }\n"
              "            _carat_value \"$verb:${COMP_WORDS[i]}\" || continue\n"
              "            [[ $kind == maybe* && \" ${kind#* } \" != *\" ${COMP_WORDS[i+1]} \"* ]] || "
              "i=$((i + 1)) ;;\n"
              "        *) [[ \"$verb:$n:${COMP_WORDS[i]}\" =~ ^(");
    print_worded("%s%s:0:(%s)");
    out_print(")$ ]] || n=$((n + 1)) ;;\n"
              "        esac\n"
              "    done\n"
              "    case $verb:$n:$word in\n");
    for (const struct verb *verb = verb_table; verb->name; verb++) {
        bash_options(verb);
        bash_arguments(verb);
    }
    out_print("    esac\n"
              "}\n"
              "complete -o filenames -F _carat carat\n");
}

/* ---- zsh and fish ---- */

/* Between single quotes, where `also` (a set of bytes) needs a backslash: brackets and colons in zsh. */
static void quoted(const char *text, const char *escape, const char *also)
{
    for (const char *p = text; *p; p++) {
        if (*p == '\'')
            out_print("%s", escape);
        else
            out_print("%s%c", strchr(also, *p) ? "\\" : "", *p);
    }
}

static void zsh_option(const struct option *option)
{
    char list[CHOICES_TEXT], help[HELP_TEXT];

    for (int k = 0; k < MOST_NAMES && option->names[k]; k++) {
        out_print("            '%s[", option->names[k]);
        quoted(option_help(help, option), "'\\''", "[]:\\");
        out_print("]");
        if (option->kind != FLAG)
            out_print(may_stand_alone(option) ? "::" : ":");
        if (takes_word(option))
            out_print("word:(%s)", words(list, sizeof list, option->value));
        else if (option->kind != FLAG)
            out_print("%s:%s", option->value,
                      option->kind == MODEL ? "_carat_model"
                      : takes_file(option)  ? "_files"
                                            : " ");
        out_print("' \\\n");
    }
}

static void zsh_arguments(const struct verb *verb)
{
    enum first first = first_argument(verb);
    char list[CHOICES_TEXT];

    if (first == A_WORD) {
        out_print("            '1:word:(");
        print_first_words(verb);
        out_print(")'");
    } else if (first == A_MODEL) {
        if (verb->words)
            out_print("            '1:model:{ compadd %s; _carat_model }' '2:model:_carat_model'",
                      words(list, sizeof list, verb->words));
        else
            out_print("            '1:model:_carat_model' '2:text: '");
    }
    out_print("\n        ;;\n");
}

static void print_zsh(void)
{
    out_print(
        "#compdef carat\n# zsh completion for carat %s\n_carat_model() {\n    compadd tiny\n    _files\n}\n"
        "_carat() {\n    local -a verbs\n    verbs=(",
        carat_version());
    print_verbs();
    out_print(")\n    if (( CURRENT == 2 )); then\n        compadd -- $verbs\n        return\n    fi\n"
              "    local verb=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $verb in\n");
    for (const struct verb *verb = verb_table; verb->name; verb++) {
        out_print("    %s)\n        _arguments \\\n", verb->name);
        for (const struct option_row *r = table_rows(); r->option; r++)
            if (verb_belongs(r->option->verbs, verb))
                zsh_option(r->option);
        zsh_arguments(verb);
    }
    out_print("    esac\n}\n_carat \"$@\"\n");
}

static void fish_option(const struct verb *verb, const struct option *option)
{
    char list[CHOICES_TEXT], help[HELP_TEXT];

    out_print("complete -c carat -n '__carat_verb %s'", verb->name);
    for (int k = 0; k < MOST_NAMES && option->names[k]; k++) {
        const char *name = option->names[k];
        /* fish tells -x, -word and --word apart by the option that names them */
        out_print(name[1] == '-' ? " -l %s" : name[2] ? " -o %s" : " -s %s", name + 1 + (name[1] == '-'));
    }
    if (takes_file(option))
        out_print(" -r -F%s", option->kind == MODEL ? " -a tiny" : "");
    else if (takes_word(option))
        out_print(" -x -a '%s'", words(list, sizeof list, option->value));
    else if (takes_next(option))
        out_print(" -x");
    out_print(" -d '");
    quoted(option_help(help, option), "\\'", "\\");
    out_print("'\n");
}

static void print_fish(void)
{
    char list[CHOICES_TEXT];

    out_print("# fish completion for carat %s\nset -g __carat_takes", carat_version());
    for (const struct option_row *r = table_rows(); r->option; r++) {
        const struct option *o = r->option;
        if (takes_next(o))
            print_spellings(o, " ", " ");
    }
    out_print("\nfunction __carat_verb\n"
              "    set -l words (commandline -opc)\n"
              "    test (count $words) -ge 2; and test $words[2] = $argv[1]\n"
              "end\n"
              "# the verb is this one, and no argument stands between it and the cursor\n"
              "function __carat_first\n"
              "    __carat_verb $argv[1]; or return 1\n"
              "    set -l value 0\n"
              "    for word in (commandline -opc)[3..-1]\n"
              "        if test $value = 1\n"
              "            set value 0\n"
              "        else if string match -qr '^(");
    print_worded("%s%s (%s)");
    out_print(")$' -- \"$argv[1] $word\"\n"
              "            continue\n"
              "        else if contains -- $word -m --model; or not string match -q -- '-?*' $word\n"
              "            return 1\n"
              "        else if contains -- $argv[1]:$word $__carat_takes\n"
              "            set value 1\n"
              "        end\n"
              "    end\n"
              "end\n"
              "complete -c carat -f\n");
    for (const struct verb *verb = verb_table; verb->name; verb++) {
        enum first first = first_argument(verb);
        out_print("complete -c carat -n __fish_use_subcommand -a %s -d '", verb->name);
        quoted(verb->summary, "\\'", "\\");
        out_print("'\n");
        for (const struct option_row *r = table_rows(); r->option; r++)
            if (verb_belongs(r->option->verbs, verb))
                fish_option(verb, r->option);
        if (first == NOTHING)
            continue;
        out_print("complete -c carat -n '__carat_first %s' -%s '", verb->name,
                  first == A_MODEL ? "F -a" : "a");
        if (first == A_MODEL)
            out_print("tiny%s%s", verb->words ? " " : "",
                      verb->words ? words(list, sizeof list, verb->words) : "");
        else
            print_first_words(verb);
        out_print("'\n");
    }
}

int verb_completion(const struct options *o)
{
    static const struct {
        const char *shell;
        void (*print)(void);
    } scripts[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    char choices[CHOICES_TEXT];

    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        if (strcmp(o->model, scripts[i].shell) == 0) { /* the first argument */
            scripts[i].print();
            return DONE;
        }
    }
    return term_fail(USAGE, "completion: '%.80s' must be one of %s", o->model,
                     choices_text(choices, o->verb->args));
}
