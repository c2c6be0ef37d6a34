/* SPDX-License-Identifier: Apache-2.0 */
/* carat.h: the one public header of libcarat, an inference engine for Google's Gemma models.
 *
 * A complete program (test/api/test_example.sh compiles and runs exactly this text):
 *
 * example-begin
 * #include <carat.h>
 * #include <stdio.h>
 *
 * int main(int argc, char **argv)
 * {
 *     carat_error err;
 *     carat_model *model = NULL;
 *     carat_engine *engine = NULL;
 *     carat_session *session = NULL;
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
 *     if (carat_render(model, &message, 1, NULL, &prompt, NULL, &err) != CARAT_OK ||
 *         carat_sync(session, prompt.ids, prompt.n, NULL, &err) != CARAT_OK)
 *         goto done;
 *     char piece[256];
 *     for (int i = 0; i < 256; i++) {
 *         int32_t id;
 *         if (carat_sample(session, NULL, &id, &err) != CARAT_OK)
 *             goto done;
 *         if (carat_is_stop(model, id))
 *             break;
 *         carat_stream_text(session, id, piece, sizeof piece);
 *         fputs(piece, stdout);
 *         fflush(stdout);
 *         if (carat_append(session, &id, 1, &err) != CARAT_OK)
 *             goto done;
 *     }
 *     carat_stream_text(session, -1, piece, sizeof piece); // what was held back
 *     puts(piece);
 *     failed = 0;
 * done:
 *     if (failed)
 *         fprintf(stderr, "%s\n", err.message);
 *     carat_tokens_free(&prompt);
 *     carat_session_close(session);
 *     carat_engine_close(engine);
 *     carat_model_close(model);
 *     return failed;
 * }
 * example-end
 *
 * Objects. A carat_model is an open checkpoint: immutable, shared freely by threads. A carat_engine holds
 * a memory plan, threads and the KV cache of N sequences over one model. A carat_session is one timeline of
 * tokens in an engine. Close in the order session, engine, model; every close function accepts NULL.
 *
 * Threads. Everything may be called from any thread, under three rules, which the declarations cite:
 *   - any thread: the call may overlap with every other one. A model never changes, and the sessions of one engine
 *     may be used by different threads at once: inside, their passes run one at a time, in the order in which they
 *     were asked for, with the bits they would have alone. Different engines run side by side.
 *   - one call a session: a call on a session that is inside another call, be it of another thread or of its own
 *     callback, changes nothing and gives CARAT_E_BUSY; a function without a status then answers as for NULL.
 *   - last call: closing ends an object; the caller sees to it that nobody uses it then or later.
 * Callbacks run on the calling thread while the library holds no lock, but for a session's watch, which says more. They may call whatever the rules allow; what
 * they must not do is close an object of the call they serve, or throw through it. A carat_tokens, carat_error or options struct belongs to
 * one thread at a time, as any variable.
 *
 * Errors. Functions that can fail return carat_status and take an optional carat_error * last, which is
 * written only on failure: a code and one finished English sentence. Output arguments are untouched on
 * failure unless said otherwise. The library never prints, exits or reads the environment.
 *
 * Numbers. The same file and prompt give bit-equal logits on every CPU, for any thread count, batch,
 * chunking and cache state, within one (arithmetic, KV type, numerics version): NUMERICS.md.
 *
 * Structs named ..._options begin with their size: initialise with the matching CARAT_..._OPTIONS macro, or
 * pass NULL for the defaults. A size this library does not know is CARAT_E_ARGUMENT. */
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

/* The value of a struct that begins with its size, for the macros below. */
#define CARAT_INIT(type, ...)                                                                                \
    {                                                                                                        \
        sizeof(type), __VA_ARGS__                                                                            \
    }

#define CARAT_VERSION          "0.1.0"
#define CARAT_NUMERICS_VERSION 1

/* What went wrong, by kind. */
typedef enum carat_status {
    CARAT_OK = 0,
    CARAT_E_ARGUMENT,  /* the caller's arguments are wrong: null, out of range, an id beyond the vocabulary */
    CARAT_E_NOT_FOUND, /* no such file, or nothing of that kind in it (no tokenizer, no template) */
    CARAT_E_IO,        /* the system could not read or map */
    CARAT_E_FORMAT,    /* a file is corrupt or contradicts itself */
    CARAT_E_UNSUPPORTED, /* a sound file of a kind, model or type this library does not run */
    CARAT_E_MEMORY,      /* out of memory, or the plan is larger than the budget */
    CARAT_E_CONTEXT,     /* no position left in the context */
    CARAT_E_REWIND,      /* the ring of a local layer no longer holds what the rewind needs */
    CARAT_E_NUMERIC,     /* NaN or infinity in logits */
    CARAT_E_CANCELLED,   /* a callback asked to stop */
    CARAT_E_BUSY,        /* the session is inside another call; nothing has changed */
} carat_status;

typedef struct carat_error {
    carat_status code;
    char message[1024]; /* UTF-8, terminated, no newline */
} carat_error;

/* "CARAT_E_FORMAT" for CARAT_E_FORMAT; never NULL. */
CARAT_API const char *carat_status_name(carat_status status);
/* CARAT_VERSION of the library that was linked. */
CARAT_API const char *carat_version(void);

typedef struct carat_model carat_model;
typedef struct carat_engine carat_engine;
typedef struct carat_session carat_session;

/* Progress of a long call: done of total units (unitless). Return 0 to go on, else the call ends with
 * CARAT_E_CANCELLED. Runs on the calling thread; what it may call is said under Threads above. */
typedef int (*carat_progress)(void *user, size_t done, size_t total);
/* One finished line without newline about something the user should know (a multimodal checkpoint read as
 * text, a missing template). Runs on the calling thread. */
typedef void (*carat_log)(void *user, const char *line);

/* A growable list of token ids owned by the caller; start from {0}. */
typedef struct carat_tokens {
    int32_t *ids; /* [n] */
    int n, capacity;
} carat_tokens;
CARAT_API void carat_tokens_free(carat_tokens *t); /* leaves {0}; NULL is fine */

/* ---------------------------------------------------------------- model ---- */

typedef struct carat_model_options {
    size_t size;
    carat_log log; /* may be NULL */
    carat_progress progress;
    void *user; /* given to both callbacks */
    int tokenizer_only; /* 1: path may be a tokenizer file, or a directory that holds only one; no weights are opened */
    const char *tokenizer; /* path of a tokenizer to use instead of the model's own; NULL: none */
    const char *cache;     /* directory of packed models, made if absent; NULL: none (see below) */
    uint64_t cache_bytes;  /* that all of them may take; 0: 4 GiB */
    int cache_read_only;   /* 1: what is there is used, nothing is written, logged or counted as use */
    int needs_tokenizer;   /* 1: a model without one is E_NOT_FOUND, before anything is packed */
} carat_model_options;
#define CARAT_MODEL_OPTIONS CARAT_INIT(carat_model_options, NULL, NULL, NULL, 0, NULL, NULL, 0, 0, 0)

/* Opens an HF directory, a GGUF file, a gemma.cpp file or a packed file (decided by content). The folder of a model in a hub
 * cache opens the snapshot that its refs/main names, a directory without safetensors its only GGUF file; image encoders
 * (mmproj*) and parts after the first do not count. Weights are mapped, not read.
 * With a cache the first opening of a model writes its packed form there, with a thread for each processor, and later ones map
 * that: nothing is parsed or copied again, and an engine has no weights of its own. It is used while device, inode, size and
 * times of the origin's files and the hash of their headers are what they were; a copy that was touched since it was made is
 * read whole and checked before it is trusted. The ones used longest ago leave when there are more than cache_bytes, or less
 * than a fifth of the disk is free; whatever is wrong with the cache, the model opens without it, and the log has one line.
 * The directory must belong to the caller's user alone. No copy is made for a tokenizer of one's own or without weights.
 * Reports progress before the first step and after each: container, tokenizer, configuration, weights, templates and
 * sampling, and the same again and again while a vocabulary is read; then in KiB while the packed form is written or checked,
 * and 0 of 1 again and again while another process writes it, for a minute at most. The callback may cancel at every report. Any
 * thread.
 * A file that is cut short while the model is open, or whose storage fails, is met as the signal SIGBUS in the thread that
 * computes, workers included: the library handles no signals, a program that must outlive it installs a handler.
 * E_ARGUMENT, E_NOT_FOUND, E_IO, E_FORMAT, E_UNSUPPORTED, E_MEMORY, E_CANCELLED. */
CARAT_API carat_status carat_model_open(carat_model **model, const char *path,
                                        const carat_model_options *options, carat_error *err);

/* One named buffer of a model in memory: a GGUF file alone, a gemma.cpp file alone or with its "tokenizer.spm" behind it, a
 * packed file alone, at a multiple of 8 bytes, or the files of an HF directory by their names. */
typedef struct carat_buffer {
    const char *name;
    const void *data;
    size_t size;
} carat_buffer;
/* As carat_model_open; the buffers are borrowed until carat_model_close. */
CARAT_API carat_status carat_model_open_memory(carat_model **model, const carat_buffer *buffers, int n,
                                               const carat_model_options *options, carat_error *err);
/* Last call: the model's engines are closed and nothing it lent is used any more. */
CARAT_API void carat_model_close(carat_model *model);

typedef enum carat_model_kind { CARAT_GENERATOR = 0, CARAT_TOKENIZER_ONLY } carat_model_kind;

/* Facts about a model. Strings live as long as the model. Any thread, as all functions on a model below. */
typedef struct carat_model_info {
    size_t size; /* set by the caller to sizeof(carat_model_info) */
    carat_model_kind kind;
    const char *architecture; /* "gemma", "gemma2", "gemma3" */
    const char *container;    /* "safetensors", "GGUF", "SBS" or "tokenizer" */
    const char *name;         /* from the file, or "" */
    int n_layer, hidden, ffn, n_head, n_kv_head, head_dim, n_vocab;
    int n_text_vocab;   /* ids >= this are never generated */
    int max_context;    /* positions the model was made for */
    int sliding_window; /* 0: none */
    int n_local;        /* layers with a sliding window */
    double rope_base, rope_base_local, rope_factor, attention_scale, embedding_scale;
    double attention_cap, logit_cap; /* 0: none */
    double norm_eps;
    uint64_t n_parameter; /* of the text tower as stored, tied head once */
    size_t weight_bytes;  /* of the tensors used, as stored */
    int tied;             /* head = embedding */
    int multimodal;       /* a vision tower is there and not used */
    int has_tokenizer, has_chat_template;
    const char *tokenizer;     /* "tokenizer.json", "tokenizer.model", "gguf", or "" */
    const char *chat_template; /* "gemma", "gemma3", "functiongemma", or "" */
    int bos;                   /* -1: none */
    /* 1: the checkpoint's own template is none that was published, and chat_template is used in its place */
    int template_altered;
    /* whose template the checkpoint's own is and of when: "Google's for Gemma 3 of March 2025"; "": not known */
    const char *template_origin;
    uint64_t file_bytes; /* of all files that make up the model: its parts, side files and tokenizer */
    /* of the packed file that the weights are mapped from, out of the cache or given; "": none */
    const char *packed_path;
} carat_model_info;
CARAT_API carat_status carat_model_get_info(const carat_model *model, carat_model_info *info,
                                            carat_error *err);

/* Where the time of opening went, in seconds. */
typedef struct carat_load_times {
    size_t size;      /* set by the caller to sizeof(carat_load_times) */
    double open;      /* finding and mapping the container, reading its headers */
    double tokenizer; /* reading the vocabulary */
    double parse;     /* configuration, weights, templates and sampling */
    double map;       /* looking into the cache and mapping what is there */
    double pack;      /* writing the packed form */
    int packed;       /* 1: the weights are mapped from a packed file */
    int made;         /* 1: and this opening has written it */
    uint64_t cache_needs; /* what cache_bytes has to be for the packed form to fit; 0: it is not that which is in the way */
} carat_load_times;
CARAT_API carat_status carat_model_get_load_times(const carat_model *model, carat_load_times *times, carat_error *err);

/* 1 when path leads, by whatever name (a link, another directory), to a file that the model was read from: its parts, side
 * files, tokenizer and packed form, and what that was made from. Whoever writes a file asks here first. 0 when it does not,
 * when nothing is there, and for NULL. Any thread. */
CARAT_API int carat_model_reads(const carat_model *model, const char *path);

/* Writes the packed form of a model to a file of its own, which opens wherever the model does, on every processor. The file
 * comes to its name when it is whole, and replaces one that is there. Progress is in KiB. E_ARGUMENT (also where path is a
 * file that the model was read from), E_IO, E_MEMORY, E_BUSY (another process writes it), E_CANCELLED. Any thread. */
CARAT_API carat_status carat_model_pack(const carat_model *model, const char *path, carat_progress progress,
                                        void *user, carat_error *err);

typedef enum carat_cache_state {
    CARAT_CACHE_CURRENT = 0, /* would be mapped */
    CARAT_CACHE_STALE,       /* the origin has changed */
    CARAT_CACHE_GONE,        /* nothing is at the origin's path any more */
    CARAT_CACHE_USELESS,     /* damaged, of another version, or left by a process that was killed */
} carat_cache_state;
/* A file in a cache; strings live during the visit. */
typedef struct carat_cache_entry {
    size_t size;
    const char *file;
    const char *origin; /* path it was packed from; "" when that is not known */
    uint64_t bytes;
    int64_t used; /* seconds since 1970 of the last use */
    carat_cache_state state;
} carat_cache_entry;
/* Return 1 to remove the file, 0 to keep it; who has it mapped keeps it until closing. */
typedef int (*carat_cache_visit)(void *user, const carat_cache_entry *entry);
/* Visits every packed model of a cache, the one used last first. A directory that is not there is empty. Any thread.
 * E_ARGUMENT, E_MEMORY. */
CARAT_API carat_status carat_cache_walk(const char *dir, carat_cache_visit visit, void *user, carat_error *err);

/* Tensor i of the model file in file order (used or not). E_ARGUMENT past the end. */
typedef struct carat_tensor_info {
    size_t size; /* set by the caller */
    const char *name, *type;
    int n_dim;
    int64_t dim[4]; /* outermost first */
    size_t bytes;
} carat_tensor_info;
CARAT_API int carat_model_tensor_count(const carat_model *model);
CARAT_API carat_status carat_model_get_tensor(const carat_model *model, int i, carat_tensor_info *info,
                                              carat_error *err);

/* 1 when generation ends at this id. */
CARAT_API int carat_is_stop(const carat_model *model, int32_t id);
/* The ids that end generation: the union of config, generation_config, tokenizer and family; count returned,
 * *ids lives as long as the model. */
CARAT_API int carat_stop_ids(const carat_model *model, const int32_t **ids);

/* ----------------------------------------------------------------- text ----
 * Any thread: the model is only read. */

typedef enum carat_text_flags {
    CARAT_BOS = 1, /* put <bos> first, unless the text already begins with it */
    CARAT_SPECIAL =
        2, /* encode: control tokens spelled in the text are recognised; decode: they are printed */
} carat_text_flags;

/* Appends the ids of n bytes of UTF-8 (invalid bytes are treated as U+FFFD, like the reference).
 * E_NOT_FOUND (model without a tokenizer), E_MEMORY, E_ARGUMENT. */
CARAT_API carat_status carat_tokenize(const carat_model *model, const char *text, size_t n, int flags,
                                      carat_tokens *out, carat_error *err);

typedef struct carat_tokenize_options {
    size_t size;
    int flags;               /* carat_text_flags */
    carat_progress progress; /* bytes of the text that were looked at, every few milliseconds of a long one; may be NULL */
    void *user;
} carat_tokenize_options;
#define CARAT_TOKENIZE_OPTIONS CARAT_INIT(carat_tokenize_options, 0, NULL, NULL)
/* The same with options (NULL: the defaults), which may end it: E_CANCELLED. */
CARAT_API carat_status carat_tokenize_with(const carat_model *model, const char *text, size_t n,
                                           const carat_tokenize_options *options, carat_tokens *out,
                                           carat_error *err);
/* The text of ids as one malloc'd, terminated string (*n its length without the terminator; free with
 * carat_free). Control tokens are left out unless CARAT_SPECIAL. E_NOT_FOUND, E_ARGUMENT, E_MEMORY. */
CARAT_API carat_status carat_detokenize(const carat_model *model, const int32_t *ids, int n_ids, int flags,
                                    char **text, size_t *n, carat_error *err);
/* A piece as the vocabulary stores it (U+2581 for a space, "<0x0A>" for a byte): *n bytes without a terminator, which live
 * as long as the model. NULL and 0: no such id, or no tokenizer. */
CARAT_API const char *carat_piece(const carat_model *model, int32_t id, size_t *n);
/* Frees what this library returned as char *. */
CARAT_API void carat_free(void *p);

/* One turn of a conversation. */
typedef struct carat_message {
    const char *role;    /* "system", "developer", "user", "assistant" or "model", "tool" */
    const char *content; /* UTF-8, terminated; NULL when json is given */
    const char *
        json; /* the whole message as a JSON object in OpenAI's form (content lists, tool_calls); NULL otherwise */
} carat_message;

typedef struct carat_render_options {
    size_t size;
    const char *tools;         /* JSON array of OpenAI function tools, or NULL */
    const char *chat_template; /* "gemma", "gemma3", "functiongemma"; NULL: the model's own */
    int no_generation_prompt;
    int special_in_content; /* 1: control tokens in message texts are recognised, as transformers does; 0: they stay text */
    carat_log log; /* hears of what in tools the template cannot say; may be NULL */
    carat_progress progress; /* while ids are made: bytes of the prompt that were looked at; may be NULL */
    void *user; /* given to both callbacks */
} carat_render_options;
#define CARAT_RENDER_OPTIONS CARAT_INIT(carat_render_options, NULL, NULL, 0, 0, NULL, NULL, NULL)

/* The prompt that a conversation becomes: ids appended to *ids (NULL: not wanted), its text in *text (NULL:
 * not wanted; free with carat_free). Begins with <bos>, exactly once. E_NOT_FOUND: neither the model nor the options name a
 * template. E_ARGUMENT: a conversation the template refuses, or JSON that is not what is described above.
 * E_CANCELLED. */
CARAT_API carat_status carat_render(const carat_model *model, const carat_message *messages, int n,
                                    const carat_render_options *options, carat_tokens *ids, char **text,
                                    carat_error *err);
/* The same for a JSON array of messages in OpenAI's form. */
CARAT_API carat_status carat_render_json(const carat_model *model, const char *messages,
                                         const carat_render_options *options, carat_tokens *ids, char **text,
                                         carat_error *err);

/* A stretch of what a model wrote: text, or a call of a function. */
typedef struct carat_part {
    int is_call;      /* 0: text */
    int first, n;     /* it is ids[first] to ids[first + n - 1] */
    const char *text; /* as carat_stream_text streams it, terminated; in a call, control tokens are spelled too */
    size_t n_text;
    /* Of a call; NULL is what cannot be read, and the three are NULL for text. */
    const char *name;
    const char *arguments; /* a JSON object in one line; numbers and the order of keys are as written */
    const char *error;     /* what is wrong and where, a sentence; NULL: nothing */
    int error_id;          /* the place: an index into ids, */
    size_t error_byte;     /* and a byte of text */
} carat_part;
/* Text and calls in their order. Nothing is left out but control tokens in text. */
typedef struct carat_calls {
    carat_part *part; /* [n] */
    int n;
} carat_calls;
/* Takes what a model wrote, ids[0..n), apart into text and calls. A call is FunctionGemma's
 * <start_function_call>call:NAME{KEY:VALUE,...}<end_function_call>, with strings between <escape> tokens, and lists and
 * objects to 64 levels. The tokens count: text that only spells one of them is content. This is the inverse of
 * carat_render for names without { and keys without :,{}[], both without NUL. A call that is not exactly of this form
 * is there with its error; nothing in it is repaired. tools is the JSON array that carat_render was given, so
 * that a name or key that is not declared there is an error too, of a call that keeps its arguments; or NULL. Without
 * such tokens in the vocabulary all is text. *calls is for carat_calls_free.
 * E_NOT_FOUND (model without a tokenizer), E_ARGUMENT (an id outside the vocabulary, tools that are no JSON array),
 * E_MEMORY. */
CARAT_API carat_status carat_parse_calls(const carat_model *model, const int32_t *ids, int n,
                                         const char *tools, carat_calls *calls, carat_error *err);
CARAT_API void carat_calls_free(carat_calls *calls); /* leaves {0}; NULL is fine */

/* --------------------------------------------------------------- engine ---- */

typedef enum carat_kv { CARAT_KV_DEFAULT = 0, CARAT_KV_BF16, CARAT_KV_F16, CARAT_KV_F32, CARAT_KV_Q8 } carat_kv;

typedef struct carat_engine_options {
    size_t size;
    int threads;  /* 0: as many as carat_get_host says */
    int context;  /* positions per session; 0: min(8192, the model's maximum) */
    int sessions; /* sequences that fit at once; 0: 1 */
    int chunk;    /* most rows in one pass; 0: 256 */
    int exact;    /* 1: f32 arithmetic, the oracle (NUMERICS.md section 1); KV default is then f32 */
    carat_kv kv;  /* default bf16, or f32 with exact */
    const char *isa; /* the highest level of kernels to use, a name of carat_isa_name; NULL: any */
    size_t max_bytes; /* refuse a plan of more bytes than this (E_MEMORY); 0: no limit */
    /* During creation: KiB of weights packed or asked from the disk of all there are, some hundred times a second; may be NULL */
    carat_progress progress;
    void *user;
} carat_engine_options;
#define CARAT_ENGINE_OPTIONS CARAT_INIT(carat_engine_options, 0, 0, 0, 0, 0, CARAT_KV_DEFAULT, NULL, 0, NULL, NULL)

/* Names, as "bf16" of a KV type and "avx2" of the kernel level i (all architectures', weaker ones first), and of the
 * carat_host_level that a kernel level needs ("": none). NULL for what there is not, CARAT_KV_DEFAULT too. Any thread. */
CARAT_API const char *carat_kv_name(carat_kv kv);
CARAT_API const char *carat_isa_name(int i), *carat_isa_needs(int i);

/* The memory of an engine with these options, in bytes, all of it whole pages; nothing is allocated. It is reserved at
 * creation and touched only as positions are used. Not in it: the model's own (tokenizer tables, norms) and the library's
 * code. */
typedef struct carat_plan {
    size_t size; /* set by the caller */
    int context, sessions, chunk, threads;
    const char *kv;      /* as carat_kv_name has it */
    const char *isa;     /* kernel level that would be used */
    size_t kv_bytes;     /* all sessions, full context */
    size_t work_bytes;   /* activations, logits, tables */
    size_t stack_bytes;  /* of all threads but the caller's */
    size_t weight_bytes; /* matrices: packed for this CPU at creation, or the pages of the file with them */
    size_t packed_bytes; /* the part of weight_bytes that creation packs; the rest is mapped already */
    size_t bytes;        /* weight_bytes + kv_bytes + work_bytes + stack_bytes */
} carat_plan;
/* E_ARGUMENT (negative or out of range, unknown isa), E_MEMORY (over max_bytes; the message says what would fit). Any
 * thread. */
CARAT_API carat_status carat_plan_engine(const carat_model *model, const carat_engine_options *options,
                                         carat_plan *plan, carat_error *err);
/* Chooses what options leave open, so that carat_plan.bytes is at most bytes:
 *   - context 0 becomes the largest that fits, up to the model's maximum, with the default KV type;
 *   - kv CARAT_KV_DEFAULT becomes that default (bf16, or f32 with exact), or q8 without exact, when this makes the context
 *     longer and the default type leaves less than min(8192, the model's maximum), or when a given context fits only so.
 * What is given stays and is only checked; max_bytes takes no part. E_MEMORY: it does not fit, or no context of 256 does;
 * the message says what would; options are unchanged. E_ARGUMENT. Any thread. */
CARAT_API carat_status carat_fit_engine(const carat_model *model, carat_engine_options *options, size_t bytes,
                                        carat_error *err);
/* Reads all weights and packs them for this CPU, with the engine's threads, where its kernels ask for that; weights that stay
 * in the file are asked from the disk. Errors as carat_plan_engine; E_CANCELLED; E_MEMORY also when the plan is more than the memory that this process may use, or the system refuses
 * memory or threads. Any thread. */
CARAT_API carat_status carat_engine_create(carat_engine **engine, const carat_model *model,
                                           const carat_engine_options *options, carat_error *err);
/* Last call: its sessions are closed. */
CARAT_API void carat_engine_close(carat_engine *engine);
/* Any thread. */
CARAT_API int carat_engine_context(const carat_engine *engine);

/* -------------------------------------------------------------- profile ---- */

/* What the multiplications of a product are made with; a processor has its own speed for each. */
typedef enum carat_arithmetic {
    CARAT_BY_F32 = 0, /* weights of f32 and f16, and all of exact arithmetic */
    CARAT_BY_BF16,    /* bf16 and SFP, summed in f32 */
    CARAT_BY_INT8,    /* int8 by int8 */
    CARAT_BY_INT4,    /* int8 by weights of 4 bits */
    CARAT_N_ARITHMETIC
} carat_arithmetic;

/* One kind of step of a pass, all layers together. */
typedef struct carat_operation {
    const char *name; /* "qkv", "attention", "gate+up", "down", "head", ...; lives for ever */
    uint64_t calls;
    double seconds;
    uint64_t bytes; /* of weights, K and V, each counted once a pass; activations are not counted */
    /* of products and attention; a multiplication and an addition are two */
    uint64_t operations[CARAT_N_ARITHMETIC];
} carat_operation;

enum { CARAT_MOST_OPERATIONS = 24 };
typedef struct carat_profile {
    size_t size;           /* set by the caller to sizeof(carat_profile) */
    uint64_t passes, rows; /* rows: tokens evaluated */
    int n;
    carat_operation operation[CARAT_MOST_OPERATIONS]; /* [n] in the order of a pass */
} carat_profile;

/* Notes from now on what the engine's passes spend their time on, which costs a microsecond or so a layer and changes no
 * bit; what was noted before is forgotten. NULL is fine. Any thread. */
CARAT_API void carat_profile_begin(carat_engine *engine);
/* What was noted since; from now on nothing is. E_ARGUMENT. Any thread. */
CARAT_API carat_status carat_profile_end(carat_engine *engine, carat_profile *profile, carat_error *err);

/* -------------------------------------------------------------- session ----
 * One call a session: functions that take a carat_session are for one thread at a time and return E_BUSY to a second;
 * sessions of the same engine may be in calls at once. */

typedef struct carat_session_options {
    size_t size;
    uint32_t number;         /* the session number that enters random draws (NUMERICS.md section 8) */
    carat_progress progress; /* of carat_sync alone: tokens done of tokens to evaluate */
    void *user;              /* given to both callbacks */
    /* May be NULL. Asked in every evaluation, from within its passes: for each operation of a layer, and every few
     * milliseconds of a long one, so that a call ends soon whatever it costs. Gets tokens done of tokens to evaluate, where
     * a token counts in parts, layer by layer. Other than progress it is called while the engine is in use: calls that need
     * the engine (on its sessions, and those that create and close them) would wait for ever and must not be made. */
    carat_progress watch;
} carat_session_options;
#define CARAT_SESSION_OPTIONS CARAT_INIT(carat_session_options, 0, NULL, NULL, NULL)

/* E_MEMORY: all sequences of the engine are taken. Any thread. */
CARAT_API carat_status carat_session_create(carat_session **session, carat_engine *engine,
                                            const carat_session_options *options, carat_error *err);
/* Last call on this session; others of the engine go on meanwhile. */
CARAT_API void carat_session_close(carat_session *session);

/* Makes the session's timeline equal tokens[0..n): keeps the common prefix it already holds, evaluates the
 * rest, leaves the logits after the last token. *reused (may be NULL) gets the number of tokens kept. When the
 * rings no longer allow the rewind this needs, everything is evaluated anew. n >= 1.
 * E_ARGUMENT (n < 1 or an id outside the vocabulary), E_CONTEXT, E_NUMERIC, E_CANCELLED (what was evaluated stays). */
CARAT_API carat_status carat_sync(carat_session *session, const int32_t *tokens, int n, int *reused,
                                  carat_error *err);
/* Evaluates n more tokens after what is held, as a generation does token by token. It reports no progress, but the
 * session's watch is asked. Errors as carat_sync. */
CARAT_API carat_status carat_append(carat_session *session, const int32_t *tokens, int n, carat_error *err);
/* Tokens held; *tokens (may be NULL) points at them until the next call on the session. 0 and NULL while it is busy. */
CARAT_API int carat_tokens_held(const carat_session *session, const int32_t **tokens);
/* Forgets all but the first n tokens; no logits are held then (n equal to the tokens held changes nothing). E_ARGUMENT (n < 0 or more than held), E_REWIND. */
CARAT_API carat_status carat_rewind(carat_session *session, int n, carat_error *err);

/* Advances several sessions of one engine in one pass: row i appends tokens to its session (prompts and
 * single tokens mixed). Each session at most once. The watch of the first one is
 * asked. Errors as carat_append. On an argument error, or when one of
 * the sessions is busy, nothing has changed; after E_NUMERIC every session of the step is empty. */
typedef struct carat_row {
    carat_session *session;
    const int32_t *tokens; /* [n] */
    int n;
    float *all_logits; /* [n][n_vocab], or NULL: only the last row's logits are computed */
} carat_row;
CARAT_API carat_status carat_step(carat_engine *engine, const carat_row *rows, int n, carat_error *err);

/* Logits after the last token, [n_vocab], valid until the next call that evaluates or rewinds this session; NULL when
 * nothing was evaluated since creation or rewind, and while the session is busy. */
CARAT_API const float *carat_logits(const carat_session *session);

/* Below the smallest temperature, logits / temperature could leave the range of a float. */
#define CARAT_TEMPERATURE_MIN 1e-6f
#define CARAT_TEMPERATURE_MAX 100.0f
#define CARAT_TOP_P_MIN       1e-6f
typedef struct carat_sampling {
    size_t size;
    float temperature; /* 0: greedy, the highest logit; else from CARAT_TEMPERATURE_MIN to CARAT_TEMPERATURE_MAX */
    int top_k;         /* 0: all; never negative */
    float top_p;       /* from CARAT_TOP_P_MIN to 1; 1: off */
    float min_p;       /* from 0 to 1; 0: off; relative to the most likely survivor */
    uint64_t seed;
    const int32_t *banned; /* ids never produced, besides the model's own list; may be NULL */
    int n_banned;          /* at most 1024 */
} carat_sampling;
#define CARAT_SAMPLING CARAT_INIT(carat_sampling, 1.0f, 64, 0.95f, 0.0f, 0, NULL, 0)
/* The model's own: generation_config or GGUF keys, else Gemma's card (1.0, 64, 0.95). Seed 0. */
CARAT_API carat_sampling carat_default_sampling(const carat_model *model);

/* Draws the next id from the held logits in the order of NUMERICS.md section 8; the same state gives the same id. NULL
 * sampling: the model's default with seed 0. Does not append. Padding rows and placeholder ids are never drawn.
 * E_ARGUMENT (no logits held, a parameter out of range), E_NUMERIC. */
CARAT_API carat_status carat_sample(carat_session *session, const carat_sampling *sampling, int32_t *id,
                                    carat_error *err);

/* Streams text: writes the bytes that id completes, terminated, and returns their number; a partial UTF-8 character is held
 * back until it is whole. id -1 flushes what is held. capacity >= 256 is always enough. Control tokens give "" unless they are
 * FunctionGemma's call syntax. Order of calls is the order of the text; carat_sync and carat_rewind reset it. While the session is
 * busy: "" and 0. */
CARAT_API size_t carat_stream_text(carat_session *session, int32_t id, char *out, size_t capacity);

/* ----------------------------------------------------------------- host ---- */

/* One level of instructions on which kernels may stand. */
typedef struct carat_host_level {
    char name[24]; /* "avx2+fma+f16c"; "" in the places after the last level */
    int present;   /* 1: the processor has all of it */
    int usable;    /* 1: and the system lets programs use it (it saves the registers) */
} carat_host_level;

/* A limit that the control groups of this process set, the tightest on the way to the root. */
typedef struct carat_host_limit {
    double value;   /* 0: none is known */
    char file[512]; /* the file that says it; "" without a limit */
    char text[64];  /* what stands there, of two files with a space between */
} carat_host_limit;

/* What this machine is, and what an engine with default options makes of it. Text that cannot be told (a foreign
 * processor, no /proc or /sys) is "unknown", a number 0. */
typedef struct carat_host_info {
    size_t size; /* set by the caller to sizeof(carat_host_info) */
    /* the linked library */
    char version[16]; /* CARAT_VERSION */
    int numerics;     /* CARAT_NUMERICS_VERSION */
    char compiler[64];
    char build[64]; /* "release" or "debug", and the sanitizers in it */
    /* the system */
    char system[256]; /* kernel, its release, the machine type */
    char libc[32];
    /* the processor */
    char cpu[64];                /* brand */
    char vendor[16];             /* of CPUID; on Arm the implementer */
    int family, model, stepping; /* on Arm: implementer, part, 16 * variant + revision */
    carat_host_level level[16];  /* weakest first */
    char isa[16];                /* the level of kernels an engine uses, as "avx2" */
    /* processors, counted as threads of hardware except for cores */
    int threads;             /* of an engine with threads = 0: the least of the following, at least 1 */
    char threads_by[16];     /* which of them decided: "online", "affinity", "cpuset", "cores", "quota" */
    int online;              /* of the machine */
    int allowed;             /* in the affinity mask of the calling thread, which cpusets narrow too */
    char allowed_list[128];  /* that mask, as in "0-3,8"; cut with "..." when it is longer */
    carat_host_limit cpuset; /* processors; allowed has it in it */
    int cores;               /* physical cores that the mask touches: siblings share one */
    carat_host_limit quota;  /* processors' worth of time; rounded up it limits threads */
    /* memory, in bytes */
    uint64_t memory_total, memory_available; /* of the machine; available without swapping */
    carat_host_limit memory_limit;           /* bytes */
    char huge_pages[16];                     /* transparent huge pages: "always", "madvise", "never" */
    size_t page;
} carat_host_info;
/* Fills *info; reads /proc and /sys, takes a few milliseconds, keeps nothing. Any thread, any time.
 * E_ARGUMENT: info is NULL or of a size that this library does not know. */
CARAT_API carat_status carat_get_host(carat_host_info *info, carat_error *err);

/* What this machine can do at most, measured: no pass reads or multiplies faster. */
typedef struct carat_limits {
    size_t size;     /* set by the caller to sizeof(carat_limits) */
    int threads;     /* that measured */
    const char *isa; /* level of kernels whose instructions were measured */
    double read;     /* bytes a second from memory */
    /* a second, counted as in carat_operation; 0: not known at this level */
    double operations[CARAT_N_ARITHMETIC];
} carat_limits;
/* threads and isa as in carat_engine_options. Takes half a second and at least 256 MiB, beyond every cache; the best of
 * many rounds counts, since neighbours only ever take away. progress (may be NULL) is asked every millisecond or so and hears
 * that it lasts, 0 of 1. Any thread. E_ARGUMENT, E_MEMORY, E_CANCELLED. */
CARAT_API carat_status carat_measure_limits(int threads, const char *isa, carat_progress progress, void *user,
                                            carat_limits *limits, carat_error *err);

/* --------------------------------------------------------------- verify ---- */

/* What one check of a model found. */
typedef struct carat_check {
    size_t size;        /* sizeof(carat_check) of the library */
    const char *name;   /* "values", "content", "shapes", ...; lives for ever */
    /* 1: passed, 0: failed, -1: there was nothing to check, 2: nothing is broken, but detail says what is done otherwise than
     * the files ask for */
    int verdict;
    const char *detail; /* in words, UTF-8 without a newline; lives until the callback returns */
    double seconds;
} carat_check;
/* Hears of each check when it is over. Return 0 to go on, else the call ends with CARAT_E_CANCELLED. Runs on the calling
 * thread. */
typedef int (*carat_check_report)(void *user, const carat_check *check);

typedef struct carat_verify_options {
    size_t size;
    int threads;               /* as in carat_engine_options */
    const char *isa;           /* the same: kernels of higher levels are not looked at */
    carat_check_report report; /* may be NULL */
    carat_progress progress;   /* may be NULL */
    void *user;                /* given to both callbacks */
} carat_verify_options;
#define CARAT_VERIFY_OPTIONS CARAT_INIT(carat_verify_options, 0, NULL, NULL, NULL, NULL)

typedef struct carat_verdict {
    size_t size;        /* set by the caller to sizeof(carat_verdict) */
    int passed,
        failed; /* checks; those that had nothing to check, or say what is done otherwise, are neither */
    /* XXH3-128 in hexadecimal over configuration and weights, the same for the same types and values in any container;
     * of what exactly: src/check/verify_weights.c. "" when only a tokenizer is open. */
    char content[33];
} carat_verdict;

/* Looks at all of a model, in this order:
 *   packed      a packed file is what was written, byte for byte; one out of the cache is also what packing its origin,
 *               which is read again, gives
 *   values      every weight, decoded, is a finite number; offenders are named with their place
 *   content     tells the hash of carat_verdict, for comparison with somebody else's
 *   shapes      a model with depth and width of a published member has its other numbers and its parameter count too;
 *               the published numbers are those of Google's reports and checkpoints
 *   tokenizer   pieces, bytes, control tokens and texts in many scripts come back from ids as they went in; there are
 *               no more pieces than rows of the embedding
 *   vocabulary  one of the family's gives the reference's ids for texts that are known
 *   chat        the template and the ids that end generation are known; a template that was altered, and which a
 *               built-in one stands in for, is no failure: its verdict is 2
 *   kernels     every level of instructions that this processor has, up to isa, gives the bits of "ref" on this model's
 *               weights, shapes and parameters (NUMERICS.md)
 * A check that fails is no error: the call goes on, returns CARAT_OK and counts it. Reads each weight once, gives mapped
 * memory back after it, and needs some 10 MB a thread besides. Any thread. E_ARGUMENT, E_MEMORY, E_CANCELLED. */
CARAT_API carat_status carat_verify(const carat_model *model, const carat_verify_options *options,
                                    carat_verdict *verdict, carat_error *err);

#ifdef __cplusplus
}
#endif
#endif
