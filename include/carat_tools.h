/* SPDX-License-Identifier: Apache-2.0 */
/* carat_tools.h: libcarat, to look at a model and a machine: which model a name stands for, tensors, pieces
 * of text, calls that a model wrote, times of opening, packed files and their cache, the memory of an engine,
 * what passes spend their time on, what the machine is and can do, and whether a model is whole. carat.h runs
 * a model and has the rules on threads, errors and sizes, which hold here too.
 *
 * This header, carat_quality.h and carat_convert.h are for tools, and promise no ABI: a release may change
 * what they declare, so a program that uses them is built again with each. */
#ifndef CARAT_TOOLS_H
#define CARAT_TOOLS_H

#include "carat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------- names of models ---- */

/* Places where the programs of this machine keep models; NULL: nowhere. All of it is only read. */
typedef struct carat_places {
    size_t size;
    const char *hub; /* the hub's cache, which holds folders models--OWNER--NAME; NULL: there is none */
    const char *ollama, *ollama_system; /* stores of ollama, with blobs/: the user's, then the machine's */
    const char *llama_cpp;              /* llama.cpp's cache of files OWNER_NAME_FILE */
    const char *lm_studio;              /* LM Studio's directory of OWNER/NAME/FILE */
    const char *kaggle;                 /* kagglehub's cache, with models/ */
    const char *litert;                 /* LiteRT-LM's: it is listed, and nothing in it can be read */
    const char *own; /* carat's: ollama/ laid as ollama does, files/HOST/PATH of addresses */
} carat_places;
CARAT_DEFAULT(carat_places)

/* The kinds of names, in the order in which they are tried. */
typedef enum carat_named {
    CARAT_NAMED_PATH = 0,   /* a path: of something that exists, or of no other form */
    CARAT_NAMED_REPOSITORY, /* OWNER/NAME of the hub, perhaps behind its host; @REVISION and :PART */
    CARAT_NAMED_FAMILY,     /* gemma3:4b and so on, which stand for repositories */
    CARAT_NAMED_ADDRESS,    /* another address, with :// in it */
    CARAT_NAMED_OLLAMA,     /* MODEL:TAG of a store of ollama, or of its registry behind its host */
    CARAT_NAMED_KAGGLE,     /* kaggle://OWNER/MODEL/FRAMEWORK/VARIATION, perhaps /VERSION */
} carat_named;

/* A model by its name. Strings live until carat_location_free. */
typedef struct carat_location {
    size_t size;
    void *memory; /* the library's */
    carat_named named;
    const char *path;       /* for carat_model_open; NULL: it is not complete on this machine */
    const char *repository; /* OWNER/NAME; NULL: it is none, nor has it a revision */
    const char *revision;   /* branch, tag or commit: "main", unless the name says another */
    const char *commit;     /* of what was found; NULL: nothing was */
    const char *part;       /* quantisation or file that the name asks for, or "" */
    const char *drafter;    /* repository of the model's drafter, or NULL */
    const char *missing;    /* what the revision that was found lacks; NULL: nothing */
    int word; /* 1: of a path, of which nothing exists and that has not the form of one: no / and no ending */
    const char *store; /* whose store it was found in: "Hugging Face", "ollama", "llama.cpp", "LM Studio",
                           "Kaggle", "carat"; NULL: in none */
    const char
        *handle;       /* the whole name for its source, or the store of ollama that has it, where that is not
                           the hub: "registry.ollama.ai/library/gemma3:1b", the address,
                           "OWNER/MODEL/FRAMEWORK/VARIATION/VERSION"; NULL: the hub's, or a path */
    const char *place; /* where the file of an address is kept once it is fetched, or NULL */
    /* what ollama's store keeps beside the weights, or NULL */
    const char *params;       /* an object of JSON: temperature, top_k, stop and so on */
    const char *system;       /* system prompt */
    const char *template_odd; /* its template, where that has text that the family's own has not */
    const char *snapshot;     /* of a path to a hub's folder: what its refs/main names, or NULL */
} carat_location;
CARAT_DEFAULT(carat_location)

/* Finds what a name stands for on this machine, and changes nothing. PART is the quantisation that the name
 * of a GGUF file ends in, in any case, or that name. Without it a repository of safetensors is taken as such;
 * of GGUF files Q4_K_M, then Q4_0 (one trained for it first), then the first by name. *location is for
 * carat_location_free. places may be NULL. Any thread. CARAT_E_NOT_FOUND (a model that carat does not run, an
 * address of the hub without a repository, or one of several files, which are listed), CARAT_E_FORMAT (what
 * a store says of itself is damaged), CARAT_E_UNSUPPORTED (ollama's model has layers that carat does not
 * read), CARAT_E_IO, CARAT_E_MEMORY, CARAT_E_ARGUMENT. */
CARAT_API carat_status carat_locate(carat_location *location, const char *name, const carat_places *places,
                                    carat_error *err);
/* Leaves it empty; NULL is allowed. */
CARAT_API void carat_location_free(carat_location *location);
/* Which of the n files of a repository make the model that PART asks for: wanted[i] becomes 1 for those, 0
 * for the others. called: the repository, for messages. Any thread. CARAT_E_NOT_FOUND (none makes a model, or
 * several are meant, which are listed), CARAT_E_MEMORY, CARAT_E_ARGUMENT. */
CARAT_API carat_status carat_choose_files(const char *called, const char *const *names, int n,
                                          const char *part, int *wanted, carat_error *err);

/* A model in a store. Strings live until the visit returns. */
typedef struct carat_stored {
    size_t size;
    const char *store;   /* as carat_location says it, or "LiteRT-LM" */
    const char *name;    /* for carat_locate; "": it is not found by a name */
    const char *path;    /* of the model, or of what there is of it */
    const char *missing; /* NULL: it is complete */
    const char *trouble; /* why carat cannot read it; NULL: nothing is known against it */
    uint64_t bytes;      /* of its files */
} carat_stored;
CARAT_DEFAULT(carat_stored)
/* Return other than 0 to end the walk. */
typedef int (*carat_stored_visit)(void *user, const carat_stored *model);
/* Visits what all stores hold, in no order; files are looked at by their names, not opened. What is damaged
 * is visited with its trouble. Any thread. CARAT_E_MEMORY, CARAT_E_ARGUMENT. */
CARAT_API carat_status carat_list_models(const carat_places *places, carat_stored_visit visit, void *user,
                                         carat_error *err);
/* Name i of the family, as "gemma3:4b"; NULL behind the last one. Static. */
CARAT_API const char *carat_family_name(int i);

/* ------------------------------------------------------ files of a model ----
 * Any thread: these functions only read the model. */

/* A key of config.json that says nothing to carat. Strings live until the visit returns. */
typedef struct carat_unread_key {
    size_t size;
    const char *key;        /* where it stands: "text_config.rope_parameters.rope_theta" */
    const char *class_name; /* of transformers: "Gemma3TextConfig" */
    int known; /* 1: of another class, or without effect in this one; 0: carat knows no class that has it */
} carat_unread_key;
CARAT_DEFAULT(carat_unread_key)
/* Return other than 0 to end the walk. */
typedef int (*carat_unread_visit)(void *user, const carat_unread_key *key);
/* Visits the keys of a model's config.json that it depends on in no way though they may be about its numbers;
 * those about training, programs and other parts of a model are not told. No visit for other containers.
 * CARAT_E_ARGUMENT, CARAT_E_MEMORY; and CARAT_E_NOT_FOUND, CARAT_E_FORMAT, CARAT_E_UNSUPPORTED where somebody
 * has written into config.json since the model was opened: it is read once more. */
CARAT_API carat_status carat_model_unread(const carat_model *model, carat_unread_visit visit, void *user,
                                          carat_error *err);

/* A tensor of the file. Strings live as long as the model. */
typedef struct carat_tensor_info {
    size_t size;
    const char *name, *type;
    int n_dim;
    int64_t dim[4]; /* [n_dim], outermost first */
    size_t bytes;
} carat_tensor_info;
CARAT_DEFAULT(carat_tensor_info)
/* 0 for NULL. */
CARAT_API int carat_model_tensor_count(const carat_model *model);
/* Tensor i in the order of the file, used or not. CARAT_E_ARGUMENT. */
CARAT_API carat_status carat_model_get_tensor(const carat_model *model, int i, carat_tensor_info *info,
                                              carat_error *err);

/* The time that opening took, in seconds, by what it went into. */
typedef struct carat_load_times {
    size_t size;
    double open;          /* finding and mapping the container, reading its headers */
    double tokenizer;     /* reading the vocabulary */
    double parse;         /* configuration, weights, templates and sampling */
    double map;           /* looking into the cache and mapping what is there */
    double pack;          /* writing the packed copy */
    int packed;           /* 1: the weights are mapped from a packed file */
    int made;             /* 1: this opening wrote that file */
    uint64_t cache_needs; /* cache_bytes that the packed copy needs, when it is too small for that; else 0 */
} carat_load_times;
CARAT_DEFAULT(carat_load_times)
/* CARAT_E_ARGUMENT. */
CARAT_API carat_status carat_model_get_load_times(const carat_model *model, carat_load_times *times,
                                                  carat_error *err);

/* 1 when path leads, by whatever name, to a file that the model was read from: its parts, side files,
 * tokenizer, packed file and the origin of that. A program that writes a file asks here first. 0 when it does
 * not, when there is no such file, and for NULL. */
CARAT_API int carat_model_reads(const carat_model *model, const char *path);

/* Writes the packed form of a model to a file, which opens on every processor. The file appears under its
 * name when it is complete, and replaces an older one. Progress is in KiB. CARAT_E_ARGUMENT (also when the
 * model was read from path), CARAT_E_FORMAT (it is a packed file that is damaged where only forms look),
 * CARAT_E_IO, CARAT_E_MEMORY, CARAT_E_BUSY (another process writes the file), CARAT_E_CANCELLED. */
CARAT_API carat_status carat_model_pack(const carat_model *model, const char *path, carat_progress progress,
                                        void *user, carat_error *err);

typedef enum carat_cache_state {
    CARAT_CACHE_CURRENT = 0, /* would be used */
    CARAT_CACHE_STALE,       /* the origin has changed */
    CARAT_CACHE_GONE,        /* there is nothing at the origin's path any more */
    CARAT_CACHE_USELESS,     /* damaged, of another version, or left by a process that was killed */
} carat_cache_state;
/* A file in a cache. Strings live until the visit returns. */
typedef struct carat_cache_entry {
    size_t size;
    const char *file;
    const char *origin; /* path that it was packed from; "" when that is not known */
    uint64_t bytes;
    int64_t used; /* last use, in seconds since 1970 */
    carat_cache_state state;
    uint64_t sum; /* bytes of the current files so far: those where it exceeds the limit leave first */
} carat_cache_entry;
/* Return 1 to remove the file, 0 to leave it. A process that has mapped a removed file can still use it. */
typedef int (*carat_cache_visit)(void *user, const carat_cache_entry *entry);
/* Visits every packed model of a cache, the one used last first. A directory that does not exist is an empty
 * cache. Any thread. CARAT_E_ARGUMENT, CARAT_E_MEMORY. */
CARAT_API carat_status carat_cache_walk(const char *dir, carat_cache_visit visit, void *user,
                                        carat_error *err);

/* A directory as a cache, and the rules of every cache. */
typedef struct carat_cache_info {
    size_t size;
    int exists;
    int usable;               /* it exists and belongs to this user alone */
    int writable;             /* it is usable and files can be made in it, or it can be made */
    const char *note;         /* the same in words; lives as long as the program */
    uint64_t disk, disk_free; /* bytes of its disk, and those this user may still take; 0: not known */
    double disk_reserve;      /* share of the disk that is left free */
    uint64_t limit;           /* bytes of all its files, where cache_bytes is 0 */
} carat_cache_info;
CARAT_DEFAULT(carat_cache_info)
/* Makes nothing. dir may be NULL: then info has only the rules. Any thread. CARAT_E_ARGUMENT. */
CARAT_API carat_status carat_cache_look(const char *dir, carat_cache_info *info, carat_error *err);

/* ----------------------------------------------------------------- text ---- */

typedef struct carat_tokenize_options {
    size_t size;
    int flags;               /* carat_text_flags */
    carat_progress progress; /* bytes of the text, every few milliseconds; may be NULL */
    void *user;
} carat_tokenize_options;
CARAT_DEFAULT(carat_tokenize_options)
/* carat_tokenize with options. CARAT_E_NOT_FOUND (no tokenizer), CARAT_E_ARGUMENT, CARAT_E_MEMORY,
 * CARAT_E_CANCELLED. */
CARAT_API carat_status carat_tokenize_with(const carat_model *model, const char *text, size_t n,
                                           const carat_tokenize_options *options, carat_tokens *out,
                                           carat_error *err);
/* A piece as the vocabulary stores it (U+2581 for a space, "<0x0A>" for a byte): *n bytes, not terminated,
 * that live as long as the model. NULL and 0 without such an id or without a tokenizer. */
CARAT_API const char *carat_piece(const carat_model *model, int32_t id, size_t *n);
/* The bytes that an id stands for, put into out, and their number: a piece with a space for each U+2581, the
 * byte of a byte token, a control token as it is spelled. 0 without such an id or without a tokenizer. */
enum { CARAT_PIECE_BYTES = 256 };
CARAT_API size_t carat_piece_bytes(const carat_model *model, int32_t id, char out[CARAT_PIECE_BYTES]);
/* The chat template that the checkpoint brings, as it stands there, terminated, for carat_free; NULL: it
 * brings none. carat_render has templates of its own and never runs it. CARAT_E_ARGUMENT, CARAT_E_FORMAT (a
 * side file is not JSON, or says it otherwise), CARAT_E_MEMORY. */
CARAT_API carat_status carat_model_get_template(const carat_model *model, char **text, carat_error *err);

/* A part of what a model wrote: text, or the call of a function. */
typedef struct carat_part {
    int is_call;
    int first, n;     /* the part is ids[first] to ids[first + n - 1] */
    const char *text; /* terminated; a call has its control tokens spelled out */
    size_t n_text;
    /* of a call; NULL for text and for what cannot be read */
    const char *name;
    const char *arguments; /* a JSON object in one line; numbers and the order of keys are as written */
    const char *error;     /* what is wrong and where, one sentence; NULL: nothing */
    int error_id;          /* index into ids of the wrong place */
    size_t error_byte;     /* index into text of the wrong place */
    /* of a call that has a name and was cut off before its end: how its arguments begin, in JSON, as far as
     * they are known, perhaps ""; else NULL */
    const char *begun;
} carat_part;
typedef struct carat_calls {
    size_t size;      /* set by the caller to sizeof(carat_part) */
    carat_part *part; /* [n] in the order of the ids */
    int n;
} carat_calls;
/* The control tokens around a call: FunctionGemma's, and Gemma 4's. */
#define CARAT_CALL_START      "<start_function_call>"
#define CARAT_CALL_END        "<end_function_call>"
#define CARAT_TOOL_CALL_START "<|tool_call>"
#define CARAT_TOOL_CALL_END   "<tool_call|>"
/* FunctionGemma's others: around declarations, around what a tool answered, and around a string in either. */
#define CARAT_DECLARATION_START "<start_function_declaration>"
#define CARAT_DECLARATION_END   "<end_function_declaration>"
#define CARAT_RESPONSE_START    "<start_function_response>"
#define CARAT_RESPONSE_END      "<end_function_response>"
#define CARAT_ESCAPE            "<escape>"

/* Divides ids[n], which a model wrote, into text and calls. A call is FunctionGemma's
 * <start_function_call>call:NAME{KEY:VALUE,...}<end_function_call>, strings between <escape> tokens, or,
 * where the vocabulary has its tokens, Gemma 4's <|tool_call>call:NAME{KEY:VALUE,...}<tool_call|>, strings
 * between <|"|> tokens; at most 64 levels deep. Only the tokens count, not text that spells them. A thought,
 * with the control tokens around it, is a text of its own, and a call in it is none. A call of another form
 * is returned with its error and is not repaired: a string without its second token, a text in other quotes,
 * a bracket or the end that is missing. A <tool_call|> too many has no text and is no part.
 * Where the vocabulary has no such tokens, a call is JSON, {"name": NAME, "parameters": {KEY: VALUE, ...}},
 * at the beginning of the answer (blanks before it do not count), and several are a list or follow each
 * other; a fence of Markdown around them, ```json, ```tool_code, ```tool_call or ```, counts for nothing. An
 * answer that begins otherwise has no calls, so ask only where the model was told of tools. Of two parts one
 * may end in the id that the next one begins in, and what stands between calls is no part.
 * tools, the JSON array that carat_render got, or NULL: a name or key that it does not declare is an error
 * too. *calls is for carat_calls_free. CARAT_E_NOT_FOUND (no tokenizer), CARAT_E_ARGUMENT, CARAT_E_MEMORY. */
CARAT_API carat_status carat_parse_calls(const carat_model *model, const int32_t *ids, int n,
                                         const char *tools, carat_calls *calls, carat_error *err);
/* Frees the parts; size stays. NULL is allowed. */
CARAT_API void carat_calls_free(carat_calls *calls);
/* For who shows an answer while it is written: whether text[n], its beginning, is the beginning of calls that
 * are JSON. 1: it is; 0: it is not, and never becomes it; -1: it is too short to tell. Always 0 where the
 * vocabulary has tokens for calls. */
CARAT_API int carat_begins_calls(const carat_model *model, const char *text, size_t n);

/* Divides ids[n], which a model wrote, into its answer and its thoughts, as carat_given.thought does: *answer
 * gets the ids outside thoughts, appended, and *text (may be NULL) the text of all thoughts, an empty line
 * between two, terminated, for carat_free; *n_text (may be NULL) its bytes. in_thought: 1 when the ids begin
 * within the text of a thought. CARAT_E_NOT_FOUND (no tokenizer), CARAT_E_ARGUMENT, CARAT_E_MEMORY. */
CARAT_API carat_status carat_split_thoughts(const carat_model *model, const int32_t *ids, int n,
                                            int in_thought, carat_tokens *answer, char **text, size_t *n_text,
                                            carat_error *err);

/* --------------------------------------------------------------- memory ---- */

/* The memory of an engine in bytes, in whole pages. It is reserved at creation and becomes memory as
 * positions are used. The model's own memory (tokenizer tables, norms) is not in it. */
typedef struct carat_plan {
    size_t size;
    int context, sessions, chunk, threads;
    const char *kv;        /* a name of carat_kv_name */
    const char *isa;       /* level of kernels */
    size_t kv_bytes;       /* K and V of all sessions at full context, and of snapshots */
    size_t work_bytes;     /* activations, logits, tables */
    size_t stack_bytes;    /* of all threads but the caller's */
    size_t weight_bytes;   /* matrices: packed at creation, or mapped from the file */
    size_t packed_bytes;   /* the part of weight_bytes that creation packs */
    size_t bytes;          /* weight_bytes + kv_bytes + work_bytes + stack_bytes */
    size_t snapshot_bytes; /* the part of kv_bytes that snapshots may keep */
    size_t snapshot_least; /* of one, at most; 0: the model has no local layers and needs none */
    const char *head;      /* strategy of the head, a name of carat_head_name */
    size_t head_bytes;     /* that it adds to the model's: a sketch with its bounds, or tiles that are made */
    int head_tiles, head_tile, head_kept; /* tiles, rows of one, and how many are kept; 0: it has none */
    size_t disk_bytes; /* table of layer inputs, whose rows are read as tokens need them; not part of bytes */
} carat_plan;
CARAT_DEFAULT(carat_plan)
/* Plans an engine; allocates nothing. ple_resident -1 counts the table of layer inputs as one on the disk
 * though the model was opened from memory, where no engine can be so. Any thread. CARAT_E_ARGUMENT,
 * CARAT_E_MEMORY (over max_bytes; the message says what fits), CARAT_E_IO (no such GPU), CARAT_E_UNSUPPORTED
 * (a model for no GPU). */
CARAT_API carat_status carat_plan_engine(const carat_model *model, const carat_engine_options *options,
                                         carat_plan *plan, carat_error *err);
/* Sets the options that are left open so that carat_plan.bytes is at most bytes. context 0 becomes the
 * largest that fits. CARAT_KV_DEFAULT becomes bf16 (f32 with exact), or q8 where only q8 lets a given
 * context, or one of min(8192, the model's maximum), fit. Options that are given are only checked; max_bytes
 * is ignored. Any thread. CARAT_E_ARGUMENT, CARAT_E_IO, CARAT_E_UNSUPPORTED, CARAT_E_MEMORY (the message says
 * what fits; options are unchanged). */
CARAT_API carat_status carat_fit_engine(const carat_model *model, carat_engine_options *options, size_t bytes,
                                        carat_error *err);
/* -------------------------------------------------------------- profile ---- */

/* The arithmetic of a product; a processor has another speed for each. */
typedef enum carat_arithmetic {
    CARAT_BY_F32 = 0, /* weights of f32 and f16, and all of exact arithmetic */
    CARAT_BY_BF16,    /* bf16 and SFP, summed in f32 */
    CARAT_BY_INT8,    /* int8 by int8 */
    CARAT_BY_INT4,    /* int8 by weights of 4 bits */
    CARAT_N_ARITHMETIC
} carat_arithmetic;

/* One kind of step of a pass, all layers together. */
typedef struct carat_operation {
    const char *name; /* "qkv", "attention", "gate+up", "down", "head", ...; static */
    uint64_t calls;
    double seconds;
    uint64_t bytes;                          /* weights, K and V that were read, each once a pass */
    uint64_t operations[CARAT_N_ARITHMETIC]; /* of products and attention; multiply and add are two */
} carat_operation;

enum { CARAT_MOST_OPERATIONS = 24 };
typedef struct carat_profile {
    size_t size;
    uint64_t passes, rows; /* rows: tokens evaluated */
    int n;
    carat_operation operation[CARAT_MOST_OPERATIONS]; /* [n] in the order of a pass */
} carat_profile;
CARAT_DEFAULT(carat_profile)

/* Starts to record what the passes of an engine spend their time on. It costs about a microsecond a layer and
 * changes no bit. An earlier record is dropped. NULL is allowed. Any thread. */
CARAT_API void carat_profile_begin(carat_engine *engine);
/* Gives the record and ends it. Any thread. CARAT_E_ARGUMENT (also when no record was begun). */
CARAT_API carat_status carat_profile_end(carat_engine *engine, carat_profile *profile, carat_error *err);

/* ----------------------------------------------------------------- taps ---- */

/* The rows of float32 that an operation of a pass has written. */
typedef struct carat_tap {
    size_t size;
    const char *operation; /* a verb of the forward pass: "embed", "norm", "project", "attend", ...; static */
    const char *name;      /* of carat_tap_name, or "" */
    int layer;             /* -1: none */
    int rows, width;
    const int32_t *positions; /* [rows] of the tokens in their sessions */
    float *values;            /* [rows][width]; the pass goes on with what the callback writes here */
} carat_tap;
CARAT_DEFAULT(carat_tap)
/* The engine is locked meanwhile, as for a watch. A session of the pass answers every call with CARAT_E_BUSY
 * and does not change; carat_cancel ends its call. A call on another session of the engine, or on the engine,
 * also carat_tap_begin and carat_tap_end, would wait for ever. Everything lives until it returns. */
typedef void (*carat_tap_callback)(void *user, const carat_tap *tap);
/* From now on the callback hears of every operation of every pass, with each of its outputs, in order. An
 * earlier callback is dropped, and stays when the call fails. In the last layer only rows that want logits
 * are left. A pass that is not tapped pays nothing. Any thread. CARAT_E_ARGUMENT, CARAT_E_MEMORY. */
CARAT_API carat_status carat_tap_begin(carat_engine *engine, carat_tap_callback callback, void *user,
                                       carat_error *err);
/* NULL is allowed. Any thread. */
CARAT_API void carat_tap_end(carat_engine *engine);
/* Writes name i of the values that have one and returns their width; 0: there are no more. They are those of
 * modules of the reference: "embed", "final_norm", and of each layer N that runs "layer.N" (what it leaves in
 * the residual stream, of Gemma 3n in the first), "layer.N.attn" (what attention adds, before its norm),
 * "layer.N.q", ".k" and ".v" (what the projections give, before norm and rope). */
CARAT_API int carat_tap_name(const carat_engine *engine, int i, char name[32]);

/* -------------------------------------------------------------- machine ---- */

/* The name of a KV type, as "bf16"; NULL for CARAT_KV_DEFAULT and for no type. Any thread. */
CARAT_API const char *carat_kv_name(carat_kv kv);
/* Level i of the kernels of all processors, weakest first: its name, as "avx2", and the carat_host_level that
 * it needs ("": none). NULL: there is no level i. Any thread. */
CARAT_API const char *carat_isa_name(int i);
CARAT_API const char *carat_isa_needs(int i);

/* A set of instructions that kernels use. */
typedef struct carat_host_level {
    char name[24]; /* "avx2+fma+f16c"; "" after the last one */
    int present;   /* 1: the processor has all of it */
    int usable;    /* 1: and the system lets programs use it */
} carat_host_level;

/* The tightest limit of the control groups of this process. */
typedef struct carat_host_limit {
    double value;   /* 0: none is known */
    char file[512]; /* the file that has it; "" without a limit */
    char text[64];  /* its content, of two files with a space between */
} carat_host_limit;

/* Facts about this machine, and what an engine with default options uses of it. A text that is not known is
 * "unknown", a number 0. */
typedef struct carat_host_info {
    size_t size;
    /* the library */
    char version[16]; /* CARAT_VERSION */
    int numerics;     /* CARAT_NUMERICS_VERSION */
    char compiler[64];
    char build[64]; /* "release" or "debug", and its sanitizers */
    /* the system */
    char system[256]; /* kernel, its release, type of machine */
    char libc[32];
    /* the processor */
    char cpu[64];                /* brand */
    char vendor[16];             /* of CPUID; on Arm the implementer */
    int family, model, stepping; /* on Arm: implementer, part, 16 * variant + revision */
    carat_host_level level[16];  /* weakest first */
    char isa[16];                /* level of kernels that an engine uses, as "avx2" */
    /* hardware threads; cores are physical */
    int threads;             /* of an engine with threads = 0: the least of the following, at least 1 */
    char threads_by[16];     /* which of them that was: "online", "affinity", "cpuset", "cores", "quota" */
    int online;              /* of the machine */
    int allowed;             /* in the affinity mask of the calling thread, which includes the cpuset */
    char allowed_list[128];  /* that mask, as "0-3,8"; ends with "..." when it is longer */
    carat_host_limit cpuset; /* processors */
    int cores;               /* physical cores in the mask */
    carat_host_limit quota;  /* processors' worth of time */
    /* memory, in bytes */
    uint64_t memory_total, memory_available; /* of the machine; available without swapping */
    carat_host_limit memory_limit;
    char huge_pages[16]; /* transparent huge pages: "always", "madvise", "never" */
    size_t page;
} carat_host_info;
CARAT_DEFAULT(carat_host_info)
/* Reads /proc and /sys, a few milliseconds. Any thread. CARAT_E_ARGUMENT. */
CARAT_API carat_status carat_get_host(carat_host_info *info, carat_error *err);

/* The most that this machine can do, measured. No pass reads or multiplies faster. */
typedef struct carat_limits {
    size_t size;
    int threads;                           /* that measured */
    const char *isa;                       /* level of kernels whose instructions were measured */
    double read;                           /* bytes a second from memory */
    double operations[CARAT_N_ARITHMETIC]; /* a second, as in carat_operation; 0: not known */
} carat_limits;
CARAT_DEFAULT(carat_limits)
/* Measures for half a second, with at least 256 MiB of memory. threads and isa as in carat_engine_options.
 * progress (may be NULL) gets 0 of 1 every millisecond. Any thread. CARAT_E_ARGUMENT, CARAT_E_MEMORY,
 * CARAT_E_CANCELLED. */
CARAT_API carat_status carat_measure_limits(int threads, const char *isa, carat_progress progress, void *user,
                                            carat_limits *limits, carat_error *err);

/* --------------------------------------------------------------- verify ---- */

/* The result of one check of a model. */
typedef struct carat_check {
    size_t size;
    const char *name; /* "values", "content", "shapes", ...; static */
    /* 1: passed. 0: failed. -1: there was nothing to check. 2: nothing is broken, but detail says what carat
     * does otherwise than the files ask for */
    int verdict;
    const char *detail; /* one line of UTF-8, until the callback returns */
    double seconds;
} carat_check;
/* Called after each check. Return 0 to go on; anything else ends the call with CARAT_E_CANCELLED. */
typedef int (*carat_check_report)(void *user, const carat_check *check);

typedef struct carat_verify_options {
    size_t size;
    int threads;               /* as in carat_engine_options */
    const char *isa;           /* highest level of kernels to check; NULL: the best one */
    carat_check_report report; /* may be NULL */
    carat_progress progress;   /* may be NULL */
    void *user;                /* passed to both callbacks */
} carat_verify_options;
CARAT_DEFAULT(carat_verify_options)

typedef struct carat_verdict {
    size_t size;
    int passed, failed; /* numbers of checks */
    /* XXH3-128 in hexadecimal over configuration and weights, the same for the same types and values in every
     * container (src/check/verify_weights.c says over what); "" when only a tokenizer is open */
    char content[33];
} carat_verdict;
CARAT_DEFAULT(carat_verdict)

/* Checks a model, in this order:
 *   packed      a packed file is what was written, and, out of the cache, what its origin packs to
 *   values      every weight is a finite number
 *   content     gives the hash of carat_verdict
 *   shapes      a model with the depth and width of a published member has its other published numbers too
 *   tokenizer   pieces, bytes, control tokens and texts in many scripts survive the way to ids and back
 *   vocabulary  a vocabulary of the family gives the reference's ids for known texts
 *   chat        the template and the ids that end generation are known
 *   kernels     every level up to isa gives the bits of "ref" on this model's weights and shapes
 * A check that fails is not an error of this function: it returns CARAT_OK and counts the check. Reads each
 * weight once; needs about 10 MB a thread. Any thread. CARAT_E_ARGUMENT, CARAT_E_MEMORY,
 * CARAT_E_CANCELLED. */
CARAT_API carat_status carat_verify(const carat_model *model, const carat_verify_options *options,
                                    carat_verdict *verdict, carat_error *err);
/* The hash of carat_verdict alone: two models with the same one have the same configuration, types and
 * values. A packed file says it; of other models each weight is read once. progress may be NULL. Any thread.
 * CARAT_E_ARGUMENT (also without weights), CARAT_E_MEMORY, CARAT_E_CANCELLED. */
CARAT_API carat_status carat_model_content(const carat_model *model, carat_progress progress, void *user,
                                           char content[33], carat_error *err);

#ifdef __cplusplus
}
#endif
#endif
