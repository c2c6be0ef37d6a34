/* completion.c: `carat completion`: scripts for bash, zsh and fish, made of the tables of option_table.c. After the verb,
 * they offer its options; after an option, its words or files; else files and the name tiny. */
#include <string.h>

#include "cli.h"

/* ---- bash ---- */

/* "a|b|c" as words between spaces. */
static const char *words(char *out, size_t capacity, const char *choices)
{
    size_t n = strlen(choices) < capacity ? strlen(choices) : capacity - 1;

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

/* The words that stand before a value: verb:option for every verb and spelling. */
static void bash_pattern(const struct option *option)
{
    bool first = true;

    for (int verb = 0; verb < N_VERB; verb++) {
        for (int k = 0; option->verbs & ON(verb) && k < MOST_NAMES && option->names[k]; k++) {
            out_print("%s%s:%s", first ? "    " : "|", verb_texts[verb].name, option->names[k]);
            first = false;
        }
    }
}

static void bash_values(void)
{
    char list[96];

    for (int i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        if (option->kind == FLAG || may_stand_alone(option))
            continue;
        bash_pattern(option);
        if (option->kind == CHOICE)
            out_print(") _carat_words '%s' ;;\n", words(list, sizeof list, option->value));
        else
            out_print(") %s ;;\n", takes_file(option) ? "_carat_files" : "");
    }
}

static void bash_options(int verb)
{
    out_print("    %s:-*) _carat_words '", verb_texts[verb].name);
    for (int i = 0; i < option_count; i++) {
        for (int k = 0; option_table[i].verbs & ON(verb) && k < MOST_NAMES && option_table[i].names[k]; k++)
            out_print("%s ", option_table[i].names[k]);
    }
    out_print("' ;;\n");
}

static void print_verbs(void)
{
    for (int verb = 0; verb < N_VERB; verb++)
        out_print("%s%s", verb ? " " : "", verb_texts[verb].name);
}

static void print_bash(void)
{
    out_print("# bash completion for carat %s\n"
              "_carat_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$word\"); }\n"
              "_carat_files() { mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); }\n"
              "_carat() {\n"
              "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
              "    local verb=${COMP_WORDS[1]}\n"
              "    COMPREPLY=()\n"
              "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
              "        _carat_words '",
              carat_version());
    print_verbs();
    out_print("'\n"
              "        return\n"
              "    fi\n"
              "    case $verb:$before in\n");
    bash_values();
    out_print("    *) case $verb:$word in\n");
    for (int verb = 0; verb < N_VERB; verb++)
        bash_options(verb);
    out_print("    help:*) _carat_words '");
    print_verbs();
    out_print("' ;;\n"
              "    completion:*) _carat_words 'bash zsh fish' ;;\n"
              "    doctor:*|version:*) ;;\n"
              "    *) _carat_files\n"
              "        case tiny in \"$word\"*) [ \"$COMP_CWORD\" -ne 2 ] || COMPREPLY+=(tiny) ;; esac ;;\n"
              "    esac ;;\n"
              "    esac\n"
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
    char list[96];

    for (int k = 0; k < MOST_NAMES && option->names[k]; k++) {
        out_print("            '%s[", option->names[k]);
        quoted(option->help, "'\\''", "[]:\\");
        out_print("]");
        if (takes_file(option))
            out_print(":%s:_files", option->value);
        else if (option->kind == CHOICE)
            out_print(":word:(%s)", words(list, sizeof list, option->value));
        else if (option->kind != FLAG && !may_stand_alone(option))
            out_print(":%s: ", option->value);
        out_print("' \\\n");
    }
}

static const char *zsh_argument(int verb)
{
    return verb == HELP          ? "'1:verb:($verbs)'"
           : verb == COMPLETION  ? "'1:shell:(bash zsh fish)'"
           : ON(verb) & NO_MODEL ? ""
                                 : "'1:model:_files' '2:text:'";
}

static void print_zsh(void)
{
    out_print("#compdef carat\n# zsh completion for carat %s\n_carat() {\n    local -a verbs\n    verbs=(",
              carat_version());
    print_verbs();
    out_print(")\n    if (( CURRENT == 2 )); then\n        compadd -- $verbs\n        return\n    fi\n"
              "    local verb=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $verb in\n");
    for (int verb = 0; verb < N_VERB; verb++) {
        out_print("    %s)\n        _arguments \\\n", verb_texts[verb].name);
        for (int i = 0; i < option_count; i++) {
            if (option_table[i].verbs & ON(verb))
                zsh_option(&option_table[i]);
        }
        out_print("            %s\n        ;;\n", zsh_argument(verb));
    }
    out_print("    esac\n}\n_carat \"$@\"\n");
}

static void fish_option(int verb, const struct option *option)
{
    char list[96];

    out_print("complete -c carat -n '__fish_seen_subcommand_from %s'", verb_texts[verb].name);
    for (int k = 0; k < MOST_NAMES && option->names[k]; k++) {
        const char *name = option->names[k];
        /* fish tells -x, -word and --word apart by the option that names them */
        out_print(name[1] == '-' ? " -l %s" : name[2] ? " -o %s" : " -s %s", name + 1 + (name[1] == '-'));
    }
    if (takes_file(option))
        out_print(" -r -F");
    else if (option->kind == CHOICE)
        out_print(" -x -a '%s'", words(list, sizeof list, option->value));
    else if (option->kind != FLAG && !may_stand_alone(option))
        out_print(" -x");
    out_print(" -d '");
    quoted(option->help, "\\'", "\\");
    out_print("'\n");
}

static void print_fish(void)
{
    out_print("# fish completion for carat %s\n", carat_version());
    for (int verb = 0; verb < N_VERB; verb++) {
        out_print("complete -c carat -f -n __fish_use_subcommand -a %s -d '", verb_texts[verb].name);
        quoted(verb_texts[verb].summary, "\\'", "\\");
        out_print("'\n");
        for (int i = 0; i < option_count; i++) {
            if (option_table[i].verbs & ON(verb))
                fish_option(verb, &option_table[i]);
        }
        if (ON(verb) & NO_MODEL)
            out_print("complete -c carat -f -n '__fish_seen_subcommand_from %s'\n", verb_texts[verb].name);
        else
            out_print("complete -c carat -n '__fish_seen_subcommand_from %s' -a tiny\n",
                      verb_texts[verb].name);
    }
    out_print("complete -c carat -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n"
              "complete -c carat -n '__fish_seen_subcommand_from help' -a '");
    print_verbs();
    out_print("'\n");
}

int verb_completion(const struct options *o)
{
    static const struct {
        const char *shell;
        void (*print)(void);
    } scripts[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};

    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        if (strcmp(o->model, scripts[i].shell) == 0) { /* the first argument */
            scripts[i].print();
            return DONE;
        }
    }
    return fail(USAGE, "completion: '%.80s' is none of %s", o->model, verb_texts[COMPLETION].args);
}
