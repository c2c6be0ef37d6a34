/* SPDX-License-Identifier: Apache-2.0 */
/* texts.h: what help and man pages say beside verbs and options. */
#ifndef OPTIONS_TEXTS_H
#define OPTIONS_TEXTS_H

/* The exit codes with their meaning, ended by text NULL; the variables that are obeyed and the files that are
 * read or written unasked, each ended by name NULL. verbs: those whose man page has it, in the words of
 * option.h; carat(1) has all. */
struct exit_text {
    int code;
    const char *verbs, *text;
};
extern const struct exit_text exit_texts[];
struct named_text {
    const char *name, *verbs, *text;
};
extern const struct named_text variable_texts[], file_texts[];
/* Paragraphs about what MODEL may be and about compatibility; commands as in struct verb. */
extern const char model_text[], llama_text[], command_examples[];

#endif
