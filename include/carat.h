/* SPDX-License-Identifier: Apache-2.0 */
/* carat.h: libcarat, to run a model: open it, turn text into tokens, evaluate, sample.
 *
 * A complete program (test/api/test_example.sh compiles and runs exactly this text):
 *
 * example-begin
 * #include <carat_generate.h>
 * #include <stdio.h>
 *
 * static int print(void *user, const carat_given *given)
 * {
 *     (void)user;
 *     fputs(given->text, stdout);
 *     return fflush(stdout);
 * }
 *
 * int main(int argc, char **argv)
 * {
 *     carat_error err;
 *     carat_model *model = NULL;
 *     carat_engine *engine = NULL;
 *     carat_session *session = NULL;
 *     carat_generation *generation = NULL;
 *     carat_tokens prompt = {0};
 *     int failed = 1;
 *
 *     if (argc != 3)
 *         return 2;
 *     if (carat_model_open(&model, argv[1], NULL, &err) != CARAT_OK ||
 *         carat_engine_create(&engine, model, NULL, &err) != CARAT_OK ||
 *         carat_session_create(&session, engine, NULL, &err) != CARAT_OK)
 *         goto done;
 *     carat_message message = {.role = "user", .content = argv[2]};
 *     if (carat_render(model, &message, sizeof message, 1, NULL, &prompt, NULL, &err) != CARAT_OK ||
 *         carat_sync(session, prompt.ids, prompt.n, NULL, &err) != CARAT_OK)
 *         goto done;
 *     carat_generation_options options;
 *     carat_generation_options_default(&options);
 *     options.max_tokens = 256;
 *     options.on_token = print;
 *     if (carat_generation_create(&generation, session, &options, &err) != CARAT_OK ||
 *         carat_generate(generation, &err) != CARAT_OK)
 *         goto done;
 *     char text[256];
 *     carat_stream_text(session, -1, text, sizeof text); // the bytes of an unfinished character
 *     puts(text);
 *     failed = 0;
 * done:
 *     if (failed)
 *         fprintf(stderr, "%s\n", err.message);
 *     carat_tokens_free(&prompt);
 *     carat_generation_close(generation);
 *     carat_session_close(session);
 *     carat_engine_close(engine);
 *     carat_model_close(model);
 *     return failed;
 * }
 * example-end
 *
 * Objects. A carat_model is an open checkpoint; it never changes and is shared by threads. A carat_engine
 * has a memory plan, threads and the KV cache of N sequences over one model. A carat_session is one timeline
 * of tokens in an engine. Close session, engine, model, in this order. Every close function accepts NULL.
 * Threads. Every function may be called from every thread, under one of three rules, which its declaration
 * names. Any thread: the call may overlap with every other call; the passes of an engine run one at a time,
 * in the order in which they were asked for, with the bits they would have alone. One call a session: a
 * session that is inside a call refuses a second one, from another thread or a callback, with CARAT_E_BUSY
 * and does not change; a function without a status then answers as for NULL. Last call: the object ends; the
 * caller makes sure that nobody uses it then or later. A callback runs on the thread that made the call,
 * while the library holds no lock unless the declaration says so. It may call what these rules allow, but
 * must not close an object of the call it serves, and must not throw. A carat_tokens, a carat_error and a
 * struct of options belong to one thread at a time.
 * Errors. A function that can fail returns a carat_status and takes a carat_error * last, which may be NULL
 * and is written on failure only. Output arguments are written on success only, unless the declaration says
 * otherwise. Each declaration lists every status that the function can return besides CARAT_OK. The library
 * never prints, never exits and never reads the environment.
 * Numbers. The same file and prompt give the same bits of logits on every CPU, for every number of threads,
 * batch, chunk and state of the cache, within one arithmetic, KV type and numerics version: NUMERICS.md.
 * Structs that can grow begin with their size in bytes. carat_..._default(&s) sets it and the default
 * values. NULL in place of options means the defaults. A program built with an older header passes a smaller
 * struct: options that it lacks have their defaults, and a result is written as far as it fits. A size that
 * this library does not know is CARAT_E_ARGUMENT. Arrays of structs are passed with the size of one element,
 * for the same reason. */
#ifndef CARAT_H
#define CARAT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CARAT_API __attribute__((visibility("default")))
#else
#define CARAT_API
#endif

/* Defines type_default(type *s), which zeroes a struct and sets its size. */
#define CARAT_DEFAULT(type)                                                                                  \
    static inline void type##_default(type *s)                                                               \
    {                                                                                                        \
        static type zero;                                                                                    \
        *s = zero;                                                                                           \
        s->size = sizeof *s;                                                                                 \
    }

#define CARAT_VERSION          "0.1.0"
#define CARAT_NUMERICS_VERSION 1
#define CARAT_DRAWING_VERSION  2 /* of the rules by which ids are drawn from logits */

typedef enum carat_status {
    CARAT_OK = 0,
    CARAT_E_ARGUMENT,    /* an argument is wrong: NULL, out of range, an id outside the vocabulary */
    CARAT_E_NOT_FOUND,   /* there is no such file, or the model has no tokenizer or template */
    CARAT_E_IO,          /* the system could not open, read, map or write */
    CARAT_E_FORMAT,      /* a file is corrupt or contradicts itself */
    CARAT_E_UNSUPPORTED, /* the file is sound, but this library does not run its kind, model or type */
    CARAT_E_MEMORY,      /* the system has no memory left, or a plan is larger than its limit */
    CARAT_E_CONTEXT,     /* no position of the context is left */
    CARAT_E_REWIND,      /* is returned no more: a session can go back to every position */
    CARAT_E_NUMERIC,     /* the logits hold NaN or infinity; the message names file and weight */
    CARAT_E_CANCELLED,   /* a callback asked to stop */
    CARAT_E_BUSY,        /* another call uses the session, or another process the file. Nothing has changed */
    CARAT_E_CONSTRAINT,  /* no id that the form of the answer allows may be drawn (carat_constrain.h) */
} carat_status;

typedef struct carat_error {
    carat_status code;
    char message[1024]; /* one sentence in UTF-8, terminated, without newline and full stop */
} carat_error;

/* "CARAT_E_FORMAT" for CARAT_E_FORMAT; never NULL. Any thread. */
CARAT_API const char *carat_status_name(carat_status status);
CARAT_API const char *carat_version(void); /* CARAT_VERSION of the library that was linked. Any thread. */

typedef struct carat_model carat_model;
typedef struct carat_engine carat_engine;
typedef struct carat_session carat_session;

/* Progress of a long call. Return 0 to go on; anything else ends the call with CARAT_E_CANCELLED. */
typedef int (*carat_progress)(void *user, size_t done, size_t total);
/* Gets one line without newline that the user should read: a multimodal checkpoint is run as text, say. */
typedef void (*carat_log)(void *user, const char *line);

/* A list of token ids that belongs to the caller. Start from {0}. */
typedef struct carat_tokens {
    int32_t *ids; /* [n] */
    int n, capacity;
} carat_tokens;
CARAT_API void carat_tokens_free(carat_tokens *t); /* frees the ids and leaves {0}; NULL is allowed */
CARAT_API void carat_free(void *p);                /* a char * that this library returned, or NULL */

/* ---------------------------------------------------------------- model ---- */

typedef struct carat_model_options {
    size_t size;
    carat_log log;           /* may be NULL */
    carat_progress progress; /* may be NULL */
    void *user;              /* passed to both callbacks */
    int tokenizer_only;      /* 1: open no weights; path may be a tokenizer file or a directory with one */
    const char *tokenizer;   /* path of another tokenizer; NULL: the model's own */
    const char *cache;       /* directory for packed models, made if absent; NULL: no cache */
    uint64_t cache_bytes;    /* limit on all files of the cache; 0: 4 GiB */
    int cache_read_only;     /* 1: use what the cache has, write nothing */
    int needs_tokenizer;     /* 1: a model without a tokenizer is CARAT_E_NOT_FOUND */
    const char *drafter;     /* path of what drafts for it; "self": its own GGUF file has it; NULL: nothing */
    struct carat_model *opened; /* in its place, a model that is open; with success the new one owns it */
    int drafter_alone;          /* 1: path may be of a drafter, to convert it (carat_convert.h) */
    /* Sees the model, for which every function on a model works, before a copy of it is made; anything but 0
     * ends the call with CARAT_E_CANCELLED, and the cache is as before. NULL: every model is taken. */
    int (*takes)(void *user, const struct carat_model *model);
} carat_model_options;
CARAT_DEFAULT(carat_model_options)

/* Opens a checkpoint: an HF directory, a GGUF file, a gemma.cpp file or a packed file. The content decides,
 * not the name. The folder of a model in a hub cache opens the snapshot of refs/main; a directory without
 * safetensors opens its only GGUF file. Weights are mapped, not read. Cache: the first opening of a model
 * writes a packed copy, later ones map it. The table of layer inputs stays in the origin. A copy is used
 * while the origin's files have the same identity, size, times and headers. One that was touched is read and
 * checked first. Those used longest ago are removed when the cache exceeds cache_bytes or less than a fifth
 * of the disk is free. The directory belongs to the caller's user alone. When the cache cannot be used, the
 * model opens without it and the log gets one line. No copy is made without weights or with another
 * tokenizer. carat_engine_create adds what a head makes to the copy; its progress counts those KiB last.
 * Progress: before the first step and after each of container, tokenizer, configuration, weights, sampling;
 * in KiB while a copy is written or checked; 0 of 1 while another process writes it. A mapped file that is
 * cut short later raises SIGBUS where it is read; the library handles no signals. Any thread.
 * CARAT_E_ARGUMENT, CARAT_E_NOT_FOUND, CARAT_E_IO, CARAT_E_FORMAT, CARAT_E_UNSUPPORTED, CARAT_E_MEMORY,
 * CARAT_E_CANCELLED. */
CARAT_API carat_status carat_model_open(carat_model **model, const char *path,
                                        const carat_model_options *options, carat_error *err);
/* One file of a model in memory: a GGUF file, a gemma.cpp file (with "tokenizer.spm" as a second buffer if it
 * has one), a packed file at a multiple of 8 bytes, or the files of an HF directory by name. */
typedef struct carat_buffer {
    const char *name;
    const void *data; /* [size], borrowed until carat_model_close */
    size_t size;
} carat_buffer;
/* As carat_model_open. buffer_size is sizeof(carat_buffer). */
CARAT_API carat_status carat_model_open_memory(carat_model **model, const carat_buffer *buffers,
                                               size_t buffer_size, int n, const carat_model_options *options,
                                               carat_error *err);
/* Last call: the engines of the model are closed. */
CARAT_API void carat_model_close(carat_model *model);

typedef enum carat_model_kind { CARAT_GENERATOR = 0, CARAT_TOKENIZER_ONLY, CARAT_EMBEDDER } carat_model_kind;

/* Facts about a model, of layers those of the first. Strings live as long as the model, never NULL. */
typedef struct carat_model_info {
    size_t size;
    carat_model_kind kind;
    const char *architecture; /* "gemma", "gemma2", "gemma3", "gemma3n", "gemma4", "gemma-embedding", ... */
    const char *container;    /* "safetensors", "GGUF", "SBS" or "tokenizer" */
    const char *name;         /* from the file, or "" */
    int n_layer, hidden, ffn, n_head, n_kv_head, head_dim, n_vocab;
    int n_text_vocab, max_context; /* ids from here on are never generated; positions it was made for */
    int sliding_window, n_local;   /* 0: none (of embedders: tokens on each side); layers that have it */
    double rope_base, rope_base_local, rope_factor, attention_scale, embedding_scale;
    double attention_cap, logit_cap, norm_eps; /* a cap of 0: none */
    uint64_t n_parameter;                      /* of the text model as stored, a tied head once */
    size_t weight_bytes;                       /* of the tensors used, as stored */
    int tied, multimodal; /* 1: the head is the embedding; 1: the file also has a vision model, not used */
    int has_tokenizer, has_chat_template;
    const char *tokenizer;       /* "tokenizer.json", "tokenizer.model", "gguf", or "" */
    const char *chat_template;   /* a name as in carat_render_options, or "" */
    int bos;                     /* id; -1: none */
    int template_altered;        /* 1: the checkpoint has its own template; chat_template is used instead */
    const char *template_origin; /* who published the checkpoint's template, and when; "": not known */
    uint64_t file_bytes;         /* of all files of the model: parts, side files, tokenizer */
    const char *packed_path;     /* packed file that the weights are mapped from; "": none */
    const char *content;         /* carat_model_content, where a packed file says it; else "" */
    int can_think;               /* 1: chat_template knows carat_render_options.thinking */
    int n_kv_head_global, head_dim_global;   /* of layers without a window; 0: all layers have one */
    int n_kv_shared, ffn_shared;             /* the last layers, which read earlier K and V; of these */
    int n_expert, n_expert_used, expert_ffn; /* in each layer, for each token; of each of them; 0: none */
    int ple_width;                           /* of the input that each layer has of its own; 0: none */
    uint64_t n_active; /* parameters that a token goes through: without experts all of them */
} carat_model_info;
CARAT_DEFAULT(carat_model_info)
/* Any thread, as for all functions on a model. CARAT_E_ARGUMENT. */
CARAT_API carat_status carat_model_get_info(const carat_model *model, carat_model_info *info,
                                            carat_error *err);

/* 1 when generation ends at this id; 0 for NULL. */
CARAT_API int carat_is_stop(const carat_model *model, int32_t id);
/* The ids that end generation. Returns their number; *ids (may be NULL) lives as long as the model. */
CARAT_API int carat_stop_ids(const carat_model *model, const int32_t **ids);

/* ----------------------------------------------------------------- text ----
 * Any thread: these functions only read the model. */
typedef enum carat_text_flags {
    CARAT_BOS = 1,     /* put <bos> first, unless the text begins with it */
    CARAT_SPECIAL = 2, /* tokenize: recognise control tokens in the text; detokenize: print them */
} carat_text_flags;

/* Appends the ids of text[n] in UTF-8 to *out; flags are carat_text_flags. Invalid bytes count as U+FFFD, as
 * in the reference. CARAT_E_NOT_FOUND (no tokenizer), CARAT_E_ARGUMENT, CARAT_E_MEMORY. */
CARAT_API carat_status carat_tokenize(const carat_model *model, const char *text, size_t n, int flags,
                                      carat_tokens *out, carat_error *err);
/* The text of ids[n_ids], terminated, for carat_free; *n (may be NULL) gets its bytes. Without CARAT_SPECIAL
 * control tokens are left out. CARAT_E_NOT_FOUND (no tokenizer), CARAT_E_ARGUMENT, CARAT_E_MEMORY. */
CARAT_API carat_status carat_detokenize(const carat_model *model, const int32_t *ids, int n_ids, int flags,
                                        char **text, size_t *n, carat_error *err);
/* One message of a conversation: role and content, or json alone. Strings are UTF-8, terminated. */
typedef struct carat_message {
    const char *role; /* "system", "developer", "user", "assistant" or "model", "tool" */
    const char *content;
    const char *json; /* the message as a JSON object in OpenAI's form (lists of content, tool_calls) */
} carat_message;

typedef struct carat_render_options {
    size_t size;
    const char *tools; /* JSON array of tools in OpenAI's form; NULL: none */
    /* "gemma", "gemma3", "functiongemma", "gemma4", "gemma4-small" (E2B, E4B); NULL: the model's own */
    const char *chat_template;
    int no_generation_prompt; /* 1: do not begin the model's turn */
    int special_in_content;   /* 1: recognise control tokens in messages; 0: they stay text */
    carat_log log;            /* gets what the template cannot say about the tools; may be NULL */
    carat_progress progress;  /* bytes of the prompt that were tokenised; may be NULL */
    void *user;               /* passed to both callbacks */
    int thinking; /* 1: the model thinks before it answers; gemma4 and gemma4-small only, else an error */
    int continue_last; /* 1: the last message is an answer that goes on, and the prompt ends with its text */
    /* gets for each message the index in *ids of the first id with a byte of it or its turn; may be NULL */
    carat_tokens *begins;
    size_t most_text; /* a prompt of more bytes is CARAT_E_CONTEXT, before it is tokenised; 0: any number */
} carat_render_options;
CARAT_DEFAULT(carat_render_options)
/* The prompt of a conversation of n messages; message_size is sizeof(carat_message). Appends ids to *ids and
 * puts the text into *text, for carat_free; both may be NULL. The prompt begins with one <bos>.
 * CARAT_E_NOT_FOUND (no tokenizer or no template), CARAT_E_ARGUMENT (also a conversation that the template
 * refuses, or JSON of another form; what is before the first ": " of its message is the place:
 * "messages[3].content", "tools[2].function.name"), CARAT_E_CONTEXT (of which *text is given all the same),
 * CARAT_E_MEMORY, CARAT_E_CANCELLED. */
CARAT_API carat_status carat_render(const carat_model *model, const carat_message *messages,
                                    size_t message_size, int n, const carat_render_options *options,
                                    carat_tokens *ids, char **text, carat_error *err);
/* carat_render for a JSON array of messages in OpenAI's form. Errors as carat_render. */
CARAT_API carat_status carat_render_json(const carat_model *model, const char *messages,
                                         const carat_render_options *options, carat_tokens *ids, char **text,
                                         carat_error *err);

/* A conversation, member by member, without a text of JSON. One thread at a time. Texts are UTF-8 and are
 * copied; each is added to the message that was begun last. After CARAT_E_MEMORY it can only be closed.
 * CARAT_E_ARGUMENT, CARAT_E_MEMORY. */
typedef struct carat_talk carat_talk;
CARAT_API carat_status carat_talk_create(carat_talk **talk, carat_error *err);
CARAT_API void carat_talk_close(carat_talk *talk);
/* Begins a message; role as in carat_message. CARAT_E_ARGUMENT, CARAT_E_MEMORY. */
CARAT_API carat_status carat_talk_message(carat_talk *talk, const char *role, carat_error *err);
/* A part of its content, text[n]. CARAT_E_ARGUMENT (also without a message, or no UTF-8), CARAT_E_MEMORY. */
CARAT_API carat_status carat_talk_text(carat_talk *talk, const char *text, size_t n, carat_error *err);
/* A part of the thought before an answer. Errors as carat_talk_text. */
CARAT_API carat_status carat_talk_thought(carat_talk *talk, const char *text, size_t n, carat_error *err);
/* A call of an answer. arguments: a JSON object, or NULL; id: NULL for none. CARAT_E_ARGUMENT,
 * CARAT_E_MEMORY. */
CARAT_API carat_status carat_talk_call(carat_talk *talk, const char *id, const char *name,
                                       const char *arguments, carat_error *err);
/* Begins a message with the result of a call: of the id, or of the function of that name, one of which may be
 * NULL. Its text is added by carat_talk_text. CARAT_E_ARGUMENT, CARAT_E_MEMORY. */
CARAT_API carat_status carat_talk_result(carat_talk *talk, const char *call, const char *name,
                                         carat_error *err);
/* A whole message in OpenAI's form, a JSON object of n bytes. CARAT_E_ARGUMENT, CARAT_E_MEMORY. */
CARAT_API carat_status carat_talk_json(carat_talk *talk, const char *message, size_t n, carat_error *err);
/* Messages so far; 0 for NULL. */
CARAT_API int carat_talk_count(const carat_talk *talk);
typedef enum carat_talk_member { CARAT_TALK_ROLE, CARAT_TALK_TEXT, CARAT_TALK_THOUGHT } carat_talk_member;
/* Gets what message i says: a text, for carat_free. CARAT_E_NOT_FOUND (it has none of that),
 * CARAT_E_ARGUMENT, CARAT_E_MEMORY. */
CARAT_API carat_status carat_talk_get(carat_talk *talk, int i, carat_talk_member member, char **text,
                                      carat_error *err);
/* carat_render of a conversation, to which more may be added later. Errors as carat_render. */
CARAT_API carat_status carat_talk_render(const carat_model *model, carat_talk *talk,
                                         const carat_render_options *options, carat_tokens *ids, char **text,
                                         carat_error *err);

/* --------------------------------------------------------------- engine ---- */

typedef enum { CARAT_KV_DEFAULT, CARAT_KV_BF16, CARAT_KV_F16, CARAT_KV_F32, CARAT_KV_Q8 } carat_kv;

typedef struct carat_engine_options {
    size_t size;
    int threads;      /* 0: as many as carat_get_host says */
    int context;      /* positions of a session; 0: 8192, or the model's maximum if that is less */
    int sessions;     /* sessions that exist at once; 0: 1 */
    int chunk;        /* most tokens in one pass; 0: 256 */
    int exact;        /* 1: float32 arithmetic, as the reference (NUMERICS.md section 1) */
    carat_kv kv;      /* CARAT_KV_DEFAULT: bf16, or f32 with exact */
    const char *isa;  /* highest level of kernels to use, a name of carat_isa_name; NULL: the best one */
    size_t max_bytes; /* a plan of more bytes is CARAT_E_MEMORY; 0: no limit */
    carat_progress progress; /* of carat_engine_create, in KiB of weights; may be NULL */
    void *user;
    size_t kv_bytes; /* of K and V in blocks of 256 positions, which sessions share; 0: full contexts */
    int logits_rows; /* logits computed together for carat_row.deliver and drafts; 0: 4 */
    int first_layer, layers;         /* that run; layers 0: all behind; sharers of K and V need their owner */
    size_t snapshot_bytes;           /* of snapshots (carat_generate.h), beside kv_bytes; 0: none are taken */
    const struct carat_costs *costs; /* of passes, from another engine (carat_generate.h); NULL: not known */
    int decode_threads, decode_chunk; /* of passes that decode (carat_generate.h), at most chunk; 0: as all */
    const char *decode_isa;           /* likewise; NULL: as all */
    const struct carat_head_options *head; /* which logits are computed (carat_generate.h); NULL: all */
    int ple_resident;    /* 1: the table of layer inputs (Gemma 3n and 4) is in memory; 0: it stays on disk */
    int activations_f16; /* 1: results of operations are rounded to f16 (NUMERICS.md section 14) */
    const char *device;  /* "cuda", "cuda:N": a GPU, equal bits; "auto": the faster one; NULL, "cpu" */
    int gpu_layers;      /* of "cuda": the last so many are there, and the CPU has the others; 0: all are */
    int fast8, tensor; /* 1, as exact: floats become Q8_0; "cuda" alone: not these bits (NUMERICS.md 4, 16) */
} carat_engine_options;
CARAT_DEFAULT(carat_engine_options)

/* Creates an engine. Reads all weights, and packs those that its kernels want packed. Any thread.
 * CARAT_E_ARGUMENT, CARAT_E_MEMORY (also a plan larger than the memory that may be used), CARAT_E_IO (no such
 * GPU; the file of the layer inputs is gone), CARAT_E_UNSUPPORTED (a model for no GPU), CARAT_E_CANCELLED. */
CARAT_API carat_status carat_engine_create(carat_engine **engine, const carat_model *model,
                                           const carat_engine_options *options, carat_error *err);
CARAT_API void carat_engine_close(carat_engine *engine); /* last call: its sessions are closed */
/* Positions of a session; 0 for NULL. Any thread. */
CARAT_API int carat_engine_context(const carat_engine *engine);

/* -------------------------------------------------------------- session ----
 * One call a session, unless said otherwise. Sessions of one engine may be in calls at once. */

typedef struct carat_session_options {
    size_t size;
    uint32_t reserved;       /* was the number of draws, which carat_sampling has */
    carat_progress progress; /* of carat_sync: tokens evaluated; may be NULL */
    void *user;              /* passed to both callbacks */
    /* Asked inside every pass, every few milliseconds; may be NULL. A token counts in parts, layer by layer.
     * The engine is locked meanwhile: a call on it or its sessions would wait for ever. */
    carat_progress watch;
    const struct carat_sampling *sampling; /* of what will be drawn: spares other logits; NULL: not known */
    uint64_t owner; /* whose sessions find what others of them evaluated (carat_generate.h); 0: nobody's */
} carat_session_options;
CARAT_DEFAULT(carat_session_options)

/* Any thread. CARAT_E_ARGUMENT, CARAT_E_MEMORY (also when all sessions of the engine exist). */
CARAT_API carat_status carat_session_create(carat_session **session, carat_engine *engine,
                                            const carat_session_options *options, carat_error *err);
/* Last call. Other sessions of the engine are not disturbed. */
CARAT_API void carat_session_close(carat_session *session);

/* Makes the session hold tokens[n], n >= 1, and the logits after the last one. Keeps the common prefix, as
 * carat_rewind does, and evaluates the rest; *reused (may be NULL) gets the number of tokens that are not
 * evaluated. After CARAT_E_CANCELLED the session keeps what was evaluated; after CARAT_E_NUMERIC it is empty.
 * CARAT_E_ARGUMENT, CARAT_E_CONTEXT, CARAT_E_MEMORY (no block of K and V is free), CARAT_E_NUMERIC,
 * CARAT_E_IO (a row of the layer inputs on the disk cannot be read; the session keeps what was evaluated),
 * CARAT_E_CANCELLED, CARAT_E_BUSY. */
CARAT_API carat_status carat_sync(carat_session *session, const int32_t *tokens, int n, int *reused,
                                  carat_error *err);
/* Evaluates tokens[n] after those that are held, without progress. Errors as carat_sync. */
CARAT_API carat_status carat_append(carat_session *session, const int32_t *tokens, int n, carat_error *err);
/* The number of tokens held; *tokens (may be NULL) points at them until the next call on the session. */
CARAT_API int carat_tokens_held(const carat_session *session, const int32_t **tokens);
/* Forgets all but the first n tokens, and the logits if tokens were forgotten. Evaluates nothing. Local
 * layers may no longer have the K and V of some tokens before n: the next call that evaluates computes these
 * tokens once more, in the same passes, and progress and watch count them. CARAT_E_ARGUMENT, CARAT_E_BUSY. */
CARAT_API carat_status carat_rewind(carat_session *session, int n, carat_error *err);
/* A new session of the same engine that holds the first n tokens of `from`, by reference: no K and V is
 * copied before one of the two writes into a block of 256 positions that both hold. With all tokens it holds
 * the logits, too; with fewer it stands as after carat_rewind. It has the callbacks of `from` and begins a
 * new text. CARAT_E_ARGUMENT (n tokens are not held), CARAT_E_MEMORY (all sessions exist, or what `from`
 * reserved would not be kept), CARAT_E_BUSY. */
CARAT_API carat_status carat_fork(carat_session *from, int n, carat_session **session, carat_error *err);
/* Promises that there are blocks for so many positions; 0 ends a promise, as does a rewind into blocks that
 * others hold when too few are free. CARAT_E_ARGUMENT (beyond the context), CARAT_E_MEMORY, CARAT_E_BUSY. */
CARAT_API carat_status carat_reserve(carat_session *session, int positions, carat_error *err);
/* Blocks of K and V of an engine, for 256 positions of its global or of its local layers. */
typedef struct carat_use {
    size_t size;
    int blocks, held, shared, free; /* in all; held by a session; by several; by none */
    size_t held_bytes;
    int cached; /* of those held: by no session, but by snapshots and prefixes */
} carat_use;
CARAT_DEFAULT(carat_use)
/* Any thread. CARAT_E_ARGUMENT. */
CARAT_API carat_status carat_engine_use(carat_engine *engine, carat_use *use, carat_error *err);

/* Which logits a row wants: the head computes no others. Those of its last token are the session's, too. */
typedef enum {
    CARAT_WANTS_DEFAULT, /* all where `logits` is given, else the last */
    CARAT_WANTS_NONE,
    CARAT_WANTS_LAST,
    CARAT_WANTS_ALL,
    CARAT_WANTS_SOME, /* those of `wanted` */
} carat_wants;
/* Gets the logits [n_vocab] of tokens[token], in ascending order, until it returns. Nonzero ends the row. The
 * engine is locked meanwhile, as for a watch. */
typedef int (*carat_deliver)(void *user, int token, const float *logits);

/* The tokens of one session in a step. */
typedef struct carat_row {
    carat_session *session;
    const int32_t *tokens; /* [n] */
    int n;
    float *logits; /* [wanted][n_vocab], or NULL */
    carat_wants wants;
    const int *wanted; /* [n_wanted] indices of tokens, ascending */
    int n_wanted;
    carat_deliver deliver; /* gets them in place of `logits`; may be NULL */
    void *user;
    carat_status status; /* result: what became of the row */
} carat_row;
/* Advances n sessions of one engine together: row i appends its tokens to its session, each session once.
 * row_size is sizeof(carat_row). A row that fails ends alone, and the others go on: CARAT_E_NUMERIC (its
 * session is empty), CARAT_E_CONTEXT (nothing of it was evaluated), CARAT_E_MEMORY (no block of K and V is
 * free), CARAT_E_IO and CARAT_E_CANCELLED (these keep what was evaluated). The result is that of the first
 * row that failed. After CARAT_E_ARGUMENT and CARAT_E_BUSY nothing has changed, statuses included. Errors as
 * carat_sync. */
CARAT_API carat_status carat_step(carat_engine *engine, carat_row *rows, size_t row_size, int n,
                                  carat_error *err);
/* Ends the call that is inside the session with CARAT_E_CANCELLED, or else the next one that evaluates. Any
 * thread, also from a callback. */
CARAT_API void carat_cancel(carat_session *session);

/* The logits after the last token, [n_vocab], until the next call that evaluates or rewinds; those that
 * nobody needed so far are computed now. NULL when there are none, or they hold NaN or infinity. */
CARAT_API const float *carat_logits(const carat_session *session);

#define CARAT_TEMPERATURE_MIN 1e-6f /* below, logits / temperature could exceed a float */
#define CARAT_TEMPERATURE_MAX 100.0f
#define CARAT_TOP_P_MIN       1e-6f
/* The way to draw an id; NUMERICS.md section 8 has the order and the formulas. */
typedef struct carat_sampling {
    size_t size;
    float temperature; /* 0: the highest logit; else CARAT_TEMPERATURE_MIN to CARAT_TEMPERATURE_MAX */
    int top_k;         /* 0: all */
    float top_p;       /* CARAT_TOP_P_MIN to 1; 1: off */
    float min_p;       /* 0 to 1, of the most likely id's probability; 0: off */
    uint64_t seed;
    const int32_t *banned; /* [n_banned] ids that are not drawn, besides the model's own list; may be NULL */
    int n_banned;          /* at most 1024 */
    uint32_t number;       /* of the draw: another one draws otherwise with the same seed */
    const struct carat_chain *chain; /* penalties and further cuts (carat_generate.h); NULL: none */
    struct carat_matcher *matcher;   /* what may come next (carat_constrain.h); NULL: anything */
    int left;                        /* ids that may come, this one too, for its ending; 0: any number */
} carat_sampling;
/* Fills s->size bytes with the model's sampling: its generation_config or GGUF keys, else Gemma's card
 * (temperature 1, top_k 64, top_p 0.95), which is also that of NULL. Seed 0. Any thread. */
CARAT_API void carat_get_sampling(const carat_model *model, carat_sampling *s);
static inline void carat_sampling_default(const carat_model *model, carat_sampling *s)
{
    s->size = sizeof *s;
    carat_get_sampling(model, s);
}

/* Draws the next id from the logits that are held. NULL: the model's sampling. The same state gives the same
 * id. Evaluates no token. CARAT_E_ARGUMENT (no logits, a value out of range, every id banned),
 * CARAT_E_NUMERIC, CARAT_E_BUSY, CARAT_E_CONSTRAINT. */
CARAT_API carat_status carat_sample(carat_session *session, const carat_sampling *sampling, int32_t *id,
                                    carat_error *err);

/* Streams text: writes the bytes that id completes to out, terminated, and returns their number. The bytes of
 * an unfinished character wait for the next id; id -1 gives them as they are. Control tokens give "" unless
 * they belong to FunctionGemma's calls. A result of capacity or more says that out is too small: out is then
 * "", nothing was taken, and the same call with more than so many bytes gives the text. 256 bytes are always
 * enough. carat_sync and carat_rewind start a new text. 0 and "" without a tokenizer. */
CARAT_API size_t carat_stream_text(carat_session *session, int32_t id, char *out, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
