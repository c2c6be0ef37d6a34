/* SPDX-License-Identifier: Apache-2.0 */
/* texts.c: what help and man pages say beside verbs and options: exit codes, variables, files, and a few
 * paragraphs, as data. */
#include "options/texts.h"

#include <stddef.h>

#include "options/option.h"
#include "term/exit.h"

const struct exit_text exit_texts[] = {
    {DONE, "any", "success"},
    {FAILED, "any", "a failure while running, reading or writing"},
    {USAGE, "any", "wrong usage"},
    {NOT_FOUND, "opens doctor pull rm cp search", "model, or its tokenizer, not found or not readable"},
    {BAD_MODEL, "opens doctor pull",
     "unsupported or corrupt model; also one whose logits or vectors hold NaN or infinity"},
    {NO_MEMORY, "any", "out of memory"},
    {NO_CONNECTION, FETCHES " pull search",
     "no connection, or one that broke off again and again; of serve also an address that is taken"},
    {CHECK_FAILED, "decode bench compare eval verify", "a check failed"},
    {INTERRUPTED, "any", "interrupted"},
    {PIPE_CLOSED, "any", "the reader of the output has gone"},
    {143, "any", "terminated"},
    {0, NULL, NULL},
};

const struct named_text variable_texts[] = {
    {"CARAT_ARG_<OPTION>", "any",
     "the value of an option that is not on the command line, as in CARAT_ARG_THREADS=4 or "
     "CARAT_ARG_TOP_P=0.9; for every option that takes a number or one of several words, and for every flag "
     "(1 or 0)"},
    {"LLAMA_ARG_<OPTION>", "any", "the same, when CARAT_ARG_<OPTION> is not set"},
    {"HF_HUB_CACHE", "opens doctor pull ls rm",
     "the cache of the Hugging Face hub, where names of models are looked up (default $HF_HOME/hub, else "
     "$XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub)"},
    {"HF_HOME", "opens doctor pull ls rm",
     "the folder that holds the hub's cache, where HF_HUB_CACHE is not set, and the token"},
    {"OLLAMA_MODELS", "opens doctor pull ls rm",
     "ollama's store, which is read in place, and where models of ollama's registry go, if it is there and "
     "yours (default ~/.ollama/models, then /usr/share/ollama/.ollama/models)"},
    {"LLAMA_CACHE", "opens doctor pull ls rm",
     "llama.cpp's cache, which is read in place (default $XDG_CACHE_HOME/llama.cpp, else "
     "~/.cache/llama.cpp)"},
    {"KAGGLEHUB_CACHE", "opens doctor pull ls rm", "kagglehub's cache (default ~/.cache/kagglehub)"},
    {"HF_ENDPOINT", FETCHES " pull search show",
     "the hub that models are fetched from (default https://huggingface.co)"},
    {"HF_TOKEN", FETCHES " pull search show",
     "opens private and gated repositories; else it is read from your own .env in the working directory, "
     "from the file HF_TOKEN_PATH, or as 'hf auth login' left it, unless HF_HUB_DISABLE_IMPLICIT_TOKEN is 1. "
     "Only the hub gets it"},
    {"KAGGLE_API_TOKEN", FETCHES " pull search show",
     "opens models of Kaggle: a token, or a file with one; else ~/.kaggle/access_token; else KAGGLE_USERNAME "
     "and KAGGLE_KEY; else kaggle.json in KAGGLE_CONFIG_DIR (default ~/.kaggle). These are also read from "
     "your own .env in the working directory"},
    {"KAGGLE_API_ENDPOINT", FETCHES " pull search show",
     "where Kaggle is asked, below /api (default https://api.kaggle.com)"},
    {"CARAT_OLLAMA_REGISTRY", FETCHES " pull",
     "where names behind the host of ollama's registry are asked for (default https://registry.ollama.ai)"},
    {"HF_HUB_OFFLINE", FETCHES " pull search show",
     "1: nothing is fetched; TRANSFORMERS_OFFLINE says the same"},
    {"https_proxy", FETCHES " pull search show",
     "the proxy for connections; no_proxy and SSL_CERT_FILE are obeyed, too"},
    {"XDG_CACHE_HOME", "opens cache doctor ls rm",
     "the folder that holds the cache; a path that does not begin with / is ignored (default ~/.cache)"},
    {"XDG_CONFIG_HOME", "opens pull ls rm cp",
     "the folder that holds names given with carat cp (default ~/.config)"},
    {"XDG_STATE_HOME", GENERATES,
     "the folder that holds the lines typed in conversations (default ~/.local/state)"},
    {"HOME", "opens cache doctor ls rm", "your home folder, ~"},
    {"TMPDIR", "bench", "where bench timeline writes a file, which it removes (default /tmp)"},
    {"NO_COLOR", "any", "no colours, except with --color on"},
    {"CLICOLOR_FORCE", "any", "use colours also without a terminal"},
    {"TERM", "any", "dumb: no colours"},
    {"COLUMNS", "any", "the width of help, instead of the terminal's"},
    {NULL, NULL, NULL},
};

const struct named_text file_texts[] = {
    {"$XDG_CACHE_HOME/carat", "opens cache doctor ls rm",
     "the cache of packed models; ~/.cache/carat when that variable is not set. Everything in it can be "
     "removed at any time; 'carat cache clear' does so."},
    {"$XDG_CACHE_HOME/carat/models", "opens doctor pull",
     "what was fetched from elsewhere than the hub and Kaggle: in ollama/ what ollama's registry had, laid "
     "as ollama lays its store; ~/.cache/carat/models when that variable is not set"},
    {"~/.lmstudio/models", "opens doctor pull",
     "LM Studio's models, which are read in place; or models in the folder that ~/.lmstudio-home-pointer "
     "names"},
    {"$XDG_CONFIG_HOME/carat/names.json", "opens pull ls rm cp",
     "names given with carat cp, and what they stand for; ~/.config/carat/names.json when that variable is "
     "not set"},
    {"$XDG_STATE_HOME/carat/history", GENERATES,
     "the lines typed in conversations; ~/.local/state/carat/history when that variable is not set. It can "
     "be removed at any time."},
    {"$XDG_CACHE_HOME/carat/machine.json", "doctor",
     "the measured limits of this machine's memory and arithmetic"},
    {"$XDG_CACHE_HOME/carat/costs.json", DRAWS " doctor",
     "the measured cost of passes of models in the cache, on this machine"},
    {"MODEL/carat.json", EVALUATES " -bench embed show compare",
     "settings beside the weights, read unless --no-profile is given: {\"prefill\": {...}, \"decode\": "
     "{...}}, each with chunk, threads and isa. What decode lacks it takes from prefill. Options go first. "
     "No setting changes the text."},
    {"MODEL/config.json", "opens",
     "the configuration of a model in a directory. Beside it are read: model.safetensors, or "
     "model.safetensors.index.json and the files that it names; tokenizer.json or tokenizer.model; "
     "tokenizer_config.json, chat_template.jinja, chat_template.json, generation_config.json, "
     "special_tokens_map.json and added_tokens.json."},
    {NULL, NULL, NULL},
};

const char command_examples[] = "carat run tiny \"Turn on the kitchen lights\"\n"
                                "carat run MODEL \"Why is the sky blue?\"\n"
                                "carat show MODEL --memory\n"
                                "carat help run\n";
const char model_text[] =
    "MODEL is a Hugging Face directory, a GGUF file or a gemma.cpp file; or the name of one in the hub's "
    "cache: OWNER/NAME, with @REVISION behind it for a branch or commit and :QUANT or :FILE for one of "
    "several GGUF files, or a name of the family, as gemma3:4b. What is missing of it is fetched into that "
    "cache by verbs that compute or write models, after a line that says how much it is. The name tiny is "
    "the small model inside this command (./tiny is a path). For any file that is read, MODEL included, - is "
    "standard input.\n";
const char llama_text[] =
    "Options of llama.cpp are understood. Those that cannot change the text (threads of a batch, layers on a "
    "GPU, locking of memory) are accepted with a note. Those that would change it, and that carat does not "
    "have, are refused by name. A command line without a verb is understood, too: --weights F --prompt TEXT "
    "is run, --encode is tokenize, --decode detokenize, --print-config show and --bench bench.\n";
