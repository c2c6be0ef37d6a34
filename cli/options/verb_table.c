/* SPDX-License-Identifier: Apache-2.0 */
/* verb_table.c: the verbs of the command as data: what they are called, take and say of themselves. */
#include "options/verb.h"

/* A row reads as a paragraph, one with a line for each of its small members cannot. */
/* clang-format off */
const struct verb verb_table[] = {
    {.name = "run", .group = TO_BEGIN, .brief = "generate text",
     .args = "MODEL [PROMPT]", .summary = "generate text from a prompt",
     .min_args = 1, .max_args = 2, .opens = true, .tokenizer = TOKENIZER_UNLESS_IDS, .reads = "the prompt",
     .details = "The prompt is PROMPT, -p, -f, --messages or --ids. Without any of them, or when "
                "PROMPT is -, it is standard input, byte for byte.\n"
                "Standard input is also appended to a PROMPT that follows MODEL, after an empty "
                "line, when it is a file at its beginning, or a pipe that delivers something within "
                "0.2 s; a note says so. With -m, -p, -f, --messages or --ids standard input is not "
                "read.\n"
                "The prompt becomes the user's turn in the model's chat template, and may be empty. "
                "--raw leaves the template out; control tokens in the text are recognised.\n"
                "With --tools or --json a function call is printed as {\"name\": ..., \"arguments\": "
                "...}, one a line, or in the list \"calls\". A call that is malformed or not declared "
                "is printed with its text and the reason.\n"
                "Only the answer goes to standard output, and it ends with a newline. What a model "
                "thinks before it goes to standard error, or with --json to \"thinking\". Speed "
                "and a random seed are printed to standard error with -v, or when both are "
                "terminals. The same seed gives the same text.\n"
                "A rate counts the tokens whose passes its time contains: the first token comes from "
                "the pass of the prompt. Without such a pass the rate is left out, or null in JSON.\n"
                "With --jsonl each line of FILE is a prompt, as in a file for carat compare --dataset, with a "
                "\"seed\" of its own where it has one; line N draws with the seed of --seed, and N-1 more. Several are "
                "answered together, which is faster, and each has the bits that it has alone. Lines of "
                "answers, and of --receipt, are in the order of the prompts.\n",
     .examples = "carat run tiny \"Turn on the kitchen lights\"\n"
                 "carat run MODEL \"Summarise:\" <notes.txt\n"
                 "carat run MODEL -n 100 --temp 0.7 --seed 1 \"Once upon a time\"\n"
                 "carat run MODEL --messages messages.json\n"
                 "carat run tiny --tools tools.json \"Turn on the kitchen lights\"\n"
                 "carat run MODEL --jsonl prompts.jsonl -n 100 --receipt receipts.jsonl\n"},
    {.name = "chat", .group = TO_BEGIN, .brief = "talk with a model",
     .args = "MODEL", .summary = "talk with a model",
     .min_args = 1, .max_args = 1, .opens = true, .tokenizer = TOKENIZER_UNLESS_IDS, .reads = "the messages",
     .details = "On a terminal lines can be edited, and are kept in $XDG_STATE_HOME/carat/history. "
                "Three quotes (\"\"\") begin and end a message of several lines. A line that begins "
                "with / and a word is a command; /help lists them. /regen answers again, /edit "
                "changes the last message and /undo takes it back; nothing before it is evaluated "
                "again. /save FILE writes the conversation and what was evaluated for it; /load FILE "
                "continues it, also with another model or on another machine. Ctrl-C stops an "
                "answer, which stays in the conversation. At an empty prompt Ctrl-C or Ctrl-D "
                "leaves.\n"
                "With --tools, function calls in an answer are printed as JSON, and the result of "
                "each is read as one line.\n"
                "When standard input is not a terminal, each line is a message or a command, only "
                "answers go to standard output, and the first mistake ends the conversation with its "
                "exit code. On a terminal, control bytes that the model writes are shown as \\x1b.\n"
                "carat run MODEL without a prompt, on a terminal, does the same.\n",
     .examples = "echo \"Turn on the kitchen lights\" | carat chat tiny\n"
                 "carat chat MODEL -sys \"Be brief.\" <notes.txt\n"},
    {.name = "logits", .group = TO_ASK, .brief = "next-token logits",
     .args = "MODEL", .summary = "next-token logits after a prompt",
     .min_args = 1, .max_args = 1, .opens = true, .tokenizer = TOKENIZER_UNLESS_IDS,
     .details = "The prompt is -p, -f, --messages or --ids, as for run. Standard input is read only "
                "where one of them is -. Without --out, --top or --json the ten highest logits are "
                "printed.\n",
     .examples = "carat logits tiny --ids 2,5,9\n"
                 "carat logits MODEL --ids 2,5,9 --all --out logits.npy\n"},
    {.name = "decode", .group = TO_ASK, .brief = "generate step by step",
     .args = "MODEL --ids IDS", .summary = "generate ids step by step and time each step",
     .min_args = 1, .max_args = 1, .opens = true,
     .details = "Times the loop over tokens alone: no text, no template, no stop before --steps. All "
                "IDS but the last are the prompt. A step evaluates one id and draws the next. It "
                "takes the highest logit, unless --seed or another sampling option is given; --seed "
                "is then 0 by default, and the other options are the model's. All rounds share one "
                "engine; each starts empty and gives the same ids.\n"
                "With --json, or --jsonl line by line: a step has round, step, id, piece, top (lists "
                "of id and logit) and ms. A round has prefill_ms, decode_ms_per_token (the mean), "
                "decode_ms_p50, decode_ms_p90, tok_s, hits, misses, evictions, avg_eval_tiles, "
                "rows_finished, head_bytes, and of audits recall and top1, else null. The result has "
                "setup_ms with its parts, and the means over rounds.\n"
                "When --audit finds that an exact strategy differs from dense, the exit code is 7.\n",
     .examples = "carat decode tiny --ids 2,105,621,107 --steps 8 --top 5\n"
                 "carat decode MODEL --ids 2,5,9 --lm-head exact-pruned --audit 1 --json\n"},
    {.name = "tokenize", .group = TO_ASK, .brief = "text to token ids",
     .args = "MODEL [TEXT]", .summary = "text to token ids",
     .min_args = 1, .max_args = 2, .opens = true, .reads = "TEXT",
     .details = "MODEL may be a tokenizer file, or a directory that holds only one. Without TEXT, "
                "standard input is read.\n",
     .examples = "carat tokenize tiny \"Turn on the kitchen lights\"\n"
                 "carat tokenize MODEL --json <notes.txt\n"},
    {.name = "detokenize", .group = TO_ASK, .brief = "token ids to text",
     .args = "MODEL [IDS]", .summary = "token ids to text",
     .min_args = 1, .max_args = 2, .opens = true, .reads = "IDS",
     .details = "MODEL is as for tokenize. IDS are separated by commas or white space, or are the "
                "JSON that tokenize prints. Without IDS, standard input is read.\n",
     .examples = "carat tokenize tiny \"kitchen lights\" | carat detokenize tiny\n"},
    {.name = "render", .group = TO_ASK, .brief = "print an exact prompt",
     .args = "MODEL --messages FILE", .summary = "print the exact prompt of a conversation",
     .min_args = 1, .max_args = 1, .opens = true,
     .details = "MODEL is as for tokenize. FILE holds a JSON array of messages in the OpenAI API's "
                "form.\n",
     .examples = "carat render MODEL --messages messages.json\n"
                 "carat render tiny --messages messages.json --tools tools.json --ids\n"},
    {.name = "embed", .group = TO_ASK, .brief = "vectors of texts",
     .args = "MODEL [TEXT ...]", .summary = "vectors of texts, by an embedding model",
     .min_args = 1, .max_args = MOST_ARGS, .opens = true, .embeds = true,
     .tokenizer = TOKENIZER_UNLESS_IDS, .reads = "the text",
     .details = "MODEL is EmbeddingGemma 1 or 2. Each TEXT gives one vector of length 1, a line each. "
                "With -f, each line of a file is such a text. Without TEXT, -f, --ids and --jsonl, standard "
                "input is one text. The nearer two texts are, the larger is the scalar product of their "
                "vectors; --similarity prints it for all pairs.\n"
                "What is looked for and what is looked through have sentences of their own: give documents "
                "--task document, and a title if they have one; queries are the default. The other tasks are "
                "for texts that are compared with their like.\n"
                "Many texts go through the model together; each gets the bits that it gets alone. Vectors are "
                "printed as they come, in the order of the texts. A line of --jsonl that is wrong is named, "
                "gives null, and the others go on; the exit code is then 1.\n"
                "With --json: dim, tokens (a number for each text), and vectors, or with --similarity "
                "similarity; with --stats also stats. A GGUF file without its dense heads is refused, unless "
                "--no-dense asks for what it has.\n",
     .examples = "carat embed EMBEDDER --similarity \"red apples\" \"green pears\" \"old cars\"\n"
                 "carat embed EMBEDDER --task document --title Kitchen <notes.txt\n"
                 "carat embed EMBEDDER --ids 2,5,9,1 --dim 12 --json\n"},
    {.name = "bench", .group = TO_BEGIN, .brief = "measure speed",
     .args = "[timeline|lm-head] MODEL", .summary = "measure prompt and generation speed",
     .min_args = 1, .max_args = 1, .words = "timeline|lm-head", .opens = true,
     .details = "Evaluates random ids after one warm-up run; tokenising and sampling are not timed. "
                "The bytes read and the operations computed are compared with the most that this "
                "machine can do, which is measured in the same run. A file carat.json beside the "
                "weights is not read: it may differ between prompts and generation, and a result "
                "names one number of threads, one chunk and one level, those of the options.\n"
                "The first table is llama-bench's. In the second, \"first token\" is a prompt and one "
                "draw, and ms/token are single steps of generation; after the median stands the "
                "spread of the runs in per cent. Notes say what else the machine did meanwhile.\n"
                "CSV and JSON have llama-bench's fields. Under \"carat\" they also have noise (the "
                "standard deviation, estimated from the median distance to the median, divided by "
                "the median), limit_ts (the speed that memory and arithmetic allow), ttft_ms (the "
                "first token), setup_ms (the start), foreign_load and steal (shares of all "
                "processors' time).\n"
                "bench timeline MODEL times what a session does with tokens that it has evaluated: "
                "finding that nothing is new, going back, taking a snapshot, saving and loading a "
                "file, and, after a prompt of -d tokens (default " TIMELINE_DEPTH "), giving the last answer again "
                "and taking another turn. Fresh prompts as long as the new tokens are timed for "
                "comparison. For a model named timeline write ./timeline.\n"
                "--draft-right A times -npl generations of -n ids (default " DRAFT_ANSWER ") after a prompt of -p "
                "(default " DRAFT_PROMPT "): without drafts, with drafts whose ids are right with probability A, "
                "and with a loop of carat_step and carat_sample.\n"
                "--self-check times nothing: see carat doctor --soak.\n"
                "Of an embedding model it times vectors: 64 texts of 16 tokens, 8 of 512, and one of 8, "
                "with -r, -t and -ub.\n"
                "bench lm-head MODEL compares strategies of the head, capacities (all, half, 32, 8 "
                "tiles), shortlists (0, 8, 16, 24, 32) and weights of tiles, as far as the model has "
                "enough tiles; --lm-head and its options choose some. Every strategy is given the "
                "ids that dense drew from its best 64 after --ids. The tables show the time of a "
                "one-token step and of the head alone, bytes that the head read, set-up without and "
                "with the cache, memory, the divergence of the distribution, the share of dense's "
                "best ids that is found, the rows computed in full, and after how many tokens a "
                "longer set-up pays. For a model named lm-head write ./lm-head.\n"
                "Which head to choose; the figures are of a model like Gemma 3 270M in BF16, whose "
                "head's spectrum falls, on two cores of a Zen 4 server:\n"
                "dense: to try a model, or to read every logit. Nothing is prepared; 14 ms a token.\n"
                "exact-pruned: the same ids, faster. 1.7 times as fast for draws from the best 64 "
                "and 1.8 times for the highest logit, reading 0.31 and 0.28 of the head. It takes 95 "
                "MB, and 0.4 s of set-up once, then 4 ms from the cache. With a flat spectrum only "
                "taking the highest logit gains: the published Gemma 3 270M in Q4_K_M gains 1.1 to "
                "1.3 times there, and nothing in draws; auto finds out. Heads of 6 bits a weight or "
                "fewer have nothing to save and are refused.\n"
                "preload: for long runs. With --lm-quant group, where int8 weights are good enough, "
                "1.5 times as fast and 154 MB less; 0.3 s of set-up once, then 3 ms. The best id was "
                "the same in all of 32 steps, the divergence 0.00002.\n"
                "lazy: for little memory, with a capacity near the number of tiles. In the native "
                "type, 50 of 100 tiles take 168 MB less and 1.2 times as long; 32 of them 228 MB "
                "less and 1.3 times as long. int8 tiles that are dropped and made again take 8 times "
                "as long.\n"
                "shortlist: for even less. 16 tiles take half as long as dense, but find a fifth of "
                "its best 64 ids, and its best id in 7 of 10 steps (of the published 270M 87 of 100, "
                "and the best in all); use --audit.\n",
     .examples = "carat bench MODEL -p 512 -n 64 -r 5\n"
                 "carat bench MODEL -d 0,512,1024 --plot depth.svg\n"
                 "carat bench MODEL -o json >before.json\n"
                 "carat bench MODEL --compare before.json\n"
                 "carat bench timeline tiny -d 1024\n"
                 "carat bench MODEL --draft-right 0.8 -n 64\n"
                 "carat bench lm-head tiny --lm-head exact-pruned\n"},
    {.name = "show", .group = TO_BEGIN, .brief = "describe a model",
     .args = "MODEL", .summary = "describe a model and the memory it needs",
     .min_args = 1, .max_args = 1, .opens = true,
     .details = "Memory is what run would reserve: weights, the cache of keys and values, work "
                "space, and the stacks of threads. Sizes are in bytes, or with K, M or G in powers "
                "of 1024: 1500M, 2G, 2GiB.\n"
                "Of a NAME the rule that it goes by is shown, and where the model lies. Of one that is not on "
                "this machine only the heads of its files are fetched and nothing is kept, so that its memory is "
                "known before anything is downloaded; --offline forbids it.\n"
                "--ranges evaluates the text of -f, or one that is built in, in windows of up to 2048 ids, and "
                "lists for every operation of every layer the largest value that it made, the place of its "
                "id in the window, and how often it fits into 65504, the largest number of f16. The residual "
                "scale is the largest power of two, at most 1, that keeps the residual stream at or below "
                "50000: carat convert --residual-scale auto takes it.\n",
     .examples = "carat show tiny\n"
                 "carat show gemma3:1b --memory\n"
                 "carat show MODEL --memory 2G --json\n"
                 "carat show tiny --ranges\n"},
    {.name = "compare", .group = TO_JUDGE, .brief = "two models or modes",
     .args = "REF [TEST]", .summary = "measure how far apart two models, or two modes of one, are",
     .min_args = 1, .max_args = 2, .opens = true,
     .details = "REF and TEST are models; without TEST, REF is run in two modes, --ref and --test. "
                "The prompt is -p, -f, --messages or --ids, as for run; or the lines of --dataset are, whose "
                "results go into the folder of --out: these two belong together. Both models evaluate the "
                "prompt and what follows, and their logits are compared at each position. QUALITY.md "
                "says what the numbers mean.\n"
                "The verdict is healthy, watch or concerning; concerning is exit code 7. --limits "
                "changes where each begins. It follows the better end of each interval, and near-ties "
                "count against nobody. The numbers are the same for every number of threads, "
                "level and chunk.\n",
     .examples = "carat compare tiny --ref exact -p \"Where is the bed?\" -n 32\n"
                 "carat compare MODEL tiny --driver free -p \"Hello\" --json\n"},
    {.name = "sweep", .group = TO_JUDGE, .brief = "which recipe to take",
     .args = "MODEL --recipes FILE --dataset FILE --out DIR",
     .summary = "try recipes of convert, and say which one to take",
     .min_args = 1, .max_args = 1, .opens = true,
     .details = "A line of --recipes is a name and options of convert, as in \"small --type q4_k_m\"; what "
                "follows # is a remark. All lines are checked before anything is made. Each recipe makes "
                "a GGUF file, which is timed, compared with MODEL over the data as carat compare does, "
                "and removed, unless --keep.\n"
                "DIR gets sweep.json and report.html, with a picture of KL over size; and for each "
                "recipe a folder with the results of its comparison and with tensors.json, what was "
                "measured of each tensor. The same command goes on where it was stopped: what DIR has is "
                "not made again.\n"
                "Recommended is the smallest that is healthy and that none beats in size and KL, nor MODEL "
                "itself in size; the best of its size is one that none beats; acceptable where size is "
                "critical one of these whose verdict is watch. With --max-kl the exit code is 7 when no "
                "recipe keeps it.\n",
     .examples = "carat sweep tiny --recipes recipes.txt --dataset prompts.jsonl --out tried\n"},
    {.name = "perplexity", .group = TO_JUDGE, .brief = "how text is predicted",
     .args = "MODEL [FILE]", .summary = "how well a model predicts a text",
     .min_args = 1, .max_args = 2, .opens = true, .tokenizer = TOKENIZER,
     .details = "FILE is a text; - is standard input. It is cut into windows of -c ids, as "
                "llama-perplexity does: <bos> replaces the first id of each window, and its second "
                "half is scored. Ids left over at the end are not scored, and at least two windows "
                "are needed. So compare only results with the same -c. The result is e to the mean "
                "negative log-probability, with its standard error.\n"
                "With --stride N every id is scored once: each window scores N ids after as many "
                "earlier ones as -c allows. It is slower and more telling.\n"
                "With --messages FILE the model's turns of conversations are scored, each after what "
                "the template puts before it, up to the id that ends it. Use this for models tuned "
                "to answer: on plain text their perplexity is in the thousands and means nothing.\n",
     .examples = "carat perplexity tiny notes.txt --stride 8\n"
                 "carat perplexity MODEL notes.txt -c 4 --json\n"},
    {.name = "eval", .group = TO_JUDGE, .brief = "score questions",
     .args = "MODEL FILE", .summary = "score multiple-choice questions",
     .min_args = 1, .max_args = 2, .opens = true, .tokenizer = TOKENIZER,
     .details = "A line of FILE is a JSON object with question, choices (2 to 26 texts) and answer "
                "(an index from 0, or a letter), and optionally subject and context, a text before "
                "the question. - is standard input.\n"
                "letter: the choices are listed after the question, then Answer:, and the likeliest "
                "letter is the model's choice, as in MMLU. likelihood: Answer: follows the question, "
                "and the text with the highest log-probability is the choice. per byte: the same, "
                "divided by the text's bytes. After each accuracy stands its 95 % interval "
                "(Wilson's).\n"
                "With --chat the question is the user's turn, and the letter or text begins the "
                "model's.\n",
     .examples = "carat eval MODEL items.jsonl --chat\n"
                 "carat eval MODEL items.jsonl --min 0.25 --json\n"},
    {.name = "verify", .group = TO_JUDGE, .brief = "check a model file",
     .args = "MODEL", .summary = "check a model file and how this machine computes it",
     .min_args = 1, .max_args = 1, .opens = true,
     .details = "Compares a packed form with its checksums and with what packing gives; looks for "
                "NaN, infinity and bytes that no encoder makes in every weight; compares shapes with "
                "the published models of the family; tokenizes texts and all pieces of the vocabulary "
                "and turns the ids back into text; and compares every kernel that this processor can "
                "run with the reference kernels, bit for bit, on this model's weights. The content "
                "hash is the same for the same configuration, types and values, whatever the file "
                "format. Files in the hub's cache are hashed: their names there are the publisher's hashes; "
                "no connection is needed. When a check fails, the exit code is 7.\n",
     .examples = "carat verify MODEL\n"},
    {.name = "replay", .group = TO_JUDGE, .brief = "check a receipt",
     .args = "RECEIPT... MODEL", .summary = "compute answers once more, and compare them with their receipts",
     .min_args = 2, .max_args = MOST_ARGS, .needs = "a receipt and a model", .opens = true,
     .model_last = true,
     .details = "RECEIPT is a file that run or chat wrote with --receipt, a line for each answer; - is "
                "standard input. Prompt and answer are evaluated once more in the passes of a prompt, each id "
                "is drawn from the logits that it had, and a digest of the numbers behind each token is "
                "compared. The settings are the receipt's; threads, chunk and kernels may be others, and "
                "change nothing. When something else comes out, the exit code is 7, and the message names "
                "the token, what was computed in its place, how far apart the two logits are, and whether the "
                "numbers before were the same. An answer that had a form needs the same option here. A receipt "
                "that is damaged, of another model or of another version has exit code 4, and nothing is "
                "evaluated. Of several receipts each is checked, and none that is refused hides one that "
                "differs.\n"
                "Where two machines disagree, replay --trace FILE on the one that differs, and --against FILE on "
                "the other: it names the first operation whose numbers are not the same, with its layer and "
                "position. Of an answer that is confirmed, --trace writes the last 64 tokens.\n"
                "A file carat.json beside the weights is not read: what moves a result is in the receipt.\n",
     .examples = "carat run tiny \"Turn on the kitchen lights\" --receipt receipt.json\n"
                 "carat replay receipt.json tiny\n"
                 "carat replay receipt.json MODEL --trace trace.jsonl\n"
                 "carat replay receipt.json MODEL --against trace.jsonl\n"},
    {.name = "pull", .other = "fetch", .group = FOR_FILES, .brief = "fetch a model by name",
     .args = "NAME ...", .summary = "fetch models by their names into the hub's cache",
     .min_args = 1, .max_args = MOST_ARGS, .needs = "the name of a model",
     .details = "NAME is OWNER/NAME of a repository of the Hugging Face hub, with @REVISION behind it "
                "for a branch or commit and :QUANT or :FILE for one of several GGUF files; the address of its "
                "page; or a name of the family, as gemma3:4b; or ollama.com/OWNER/MODEL:TAG. Of safetensors, what a model is read from is fetched; of GGUF files "
                "one: Q4_K_M, else Q4_0, else the first by name. The path of each model is printed; its name "
                "serves as MODEL from then on.\n"
                "Models go where huggingface_hub keeps them, and other programs find them there. What is there is "
                "not fetched again. A connection that breaks is tried again, and what has come is kept: the same "
                "command goes on where it ended. A file gets its name when its hash is the publisher's.\n"
                "Gated models need a token: accept the licence on the model's page, then 'hf auth login', "
                "HF_TOKEN or --token-file.\n"
                "--lock writes into models.lock of this directory which commit it is, and the hashes of its files: from "
                "then on every verb takes that commit for the name here.\n"
                "Behind the host of ollama's registry, as in registry.ollama.ai/library/gemma3:4b, a model comes from "
                "there into ollama's store, if that is there and yours, else into carat's own.\n"
                "NAME may also be the address of one file; --out says where it goes. Nobody says what its hash "
                "should be, so only its size is checked. In a PATTERN * stands for anything, and a folder's name "
                "for what is in it.\n",
     .examples = "carat pull gemma3:1b\n"
                 "carat pull gemma3:1b --dry-run\n"
                 "carat pull google/gemma-3-1b-it --include 'tokenizer*' --out tokenizer\n"},
    {.name = "ls", .other = "list", .group = FOR_FILES, .brief = "models that are here",
     .args = "", .summary = "list the models of this machine, and what each takes",
     .details = "Lists what lies in the hub's cache and in the stores of ollama, llama.cpp, LM Studio and "
                "Kaggle, by the names that serve as MODEL; then tiny, and the names given with carat cp. Shared are "
                "bytes that other snapshots need too: carat rm leaves them. Type and kind are what a file says "
                "of itself, used is when it was read last. What is not complete says what it lacks; 'carat "
                "pull NAME' fetches that.\n",
     .examples = "carat ls\n"
                 "carat list --json\n"},
    {.name = "search", .group = FOR_FILES, .brief = "models by words",
     .args = "WORDS ...", .summary = "search the hub or Kaggle for models that carat runs",
     .min_args = 1, .max_args = MOST_ARGS, .needs = "words",
     .details = "Prints how often a model was fetched, whether it has GGUF files, and its name, which serves "
                "as MODEL; the most used first. Those that are on this machine are marked here. What carat can "
                "run is told by a model's name and tags. --source kaggle asks Kaggle, for each variation of a "
                "model and in Kaggle's order.\n",
     .examples = "carat search gemma\n"
                 "carat fetch --search-hf gemma --limit 3\n"},
    {.name = "rm", .group = FOR_FILES, .brief = "remove a model",
     .args = "NAME ...", .summary = "remove models from the hub's cache",
     .min_args = 1, .max_args = MOST_ARGS, .needs = "the name of a model",
     .details = "Removes a model's links, the blobs that no other link needs, and its packed copy; of a name "
                "given with carat cp the name alone. It says how much will be free, and asks; without a "
                "terminal it needs --yes. Other programs' stores are only read: a message says how they remove a "
                "model. What the hub's programs share between repositories stays for 'hf cache prune'.\n",
     .examples = "carat rm gemma3:1b --yes\n"},
    {.name = "cp", .group = FOR_FILES, .brief = "another name for one",
     .args = "MODEL NEW", .summary = "give a model another name",
     .min_args = 2, .max_args = 2, .needs = "a model and its new name",
     .details = "NEW then serves as MODEL wherever a name does. No file is copied: names are kept in "
                "$XDG_CONFIG_HOME/carat/names.json, and carat rm NEW forgets one. What it stands for is a name, "
                "whose branch may move, or a path.\n",
     .examples = "carat cp MODEL mine\n"
                 "carat run mine \"Turn on the kitchen lights\"\n"
                 "carat rm mine\n"},
    {.name = "grammar", .group = TO_JUDGE, .brief = "look at a form of text",
     .args = "FILE [MODEL]", .summary = "what a schema or a grammar costs, and whether a text fits",
     .min_args = 1, .max_args = 2, .needs = "a file", .reads = NULL,
     .details = "FILE holds what --json-schema-file, --grammar-file or --regex of carat run would take; - is "
                "standard input. Tokens are those of MODEL's vocabulary, which is that of tiny without one. With "
                "--check the exit code is 7 where the text does not fit.\n",
     .examples = "carat grammar answer.gbnf --check yes\n"},
    {.name = "pack", .group = FOR_FILES, .brief = "a model that starts fast",
     .args = "MODEL", .summary = "write a model in the form that starts at once",
     .min_args = 1, .max_args = 1, .opens = true,
     .details = "Without -o the packed form goes into the cache, where the first run of a model "
                "would put it. With -o, FILE is a model of its own, which can be moved to other "
                "machines and processors.\n",
     .examples = "carat pack MODEL -o packed.carat\n"},
    {.name = "convert", .group = FOR_FILES, .brief = "a model with other types",
     .args = "MODEL OUT", .summary = "write a model as a GGUF file or a directory, with other types",
     .min_args = 1, .max_args = 2, .opens = true,
     .details = "Writes the model, its vocabulary and its chat template: to a GGUF file where OUT ends in "
                ".gguf, else to a new Hugging Face directory of safetensors, which keeps the texts of one that it "
                "is made from. Other programs open both. --type says which file of llama-quantize it becomes, byte by byte: q4_k_m has Q6_K "
                "in some layers, and a row that is no multiple of a block the type that llama-quantize falls "
                "back to. Vectors become F32. Weights that are not finite and blocks that no encoder makes are "
                "refused with exit code 4. OUT appears under its name when it is complete.\n"
                "An embedding that is also the head is Q6_K in files of fewer bits, or Q8_0 where its rows do not "
                "fit, and the table of layer inputs with it. That costs: for a model of 2 billion weights as "
                "Q4_K_M perplexities of 9.68 so, 9.48 with Q8_0 and 9.13 with F16 are published. --recipe "
                "embed=q8_0 changes it.\n"
                "--recipe names matrices and their types: \"all=q4_k,ffn_down[0-2,5]=q5_k\". Of a "
                "model that is all, embed, ple (layer inputs), head, attn, ffn, experts; "
                "attn_q, attn_k, attn_v, attn_output, ffn_gate, ffn_up, ffn_down, ffn_gate_up_exps, "
                "ffn_down_exps, inp_gate, proj; or the name of a tensor in GGUF, * for any characters. A type is "
                "one of f32 to mxfp4, or keep; int8:tensor, int8:channel, int8:group=N; or a palette, lut4 or "
                "lut4g8 (bits, rows). A head that is the embedding stands alone where it is asked to be "
                "another type.\n"
                "--set KEY=VALUE changes a key of a GGUF file; the value has the type of the key. The file is "
                "opened before it gets its name: what contradicts tensors or cannot be read is refused. "
                "--metadata-only writes keys, vocabulary and template of a GGUF file anew that was made of this "
                "model before, and leaves its tensors and what keys say about them; of a directory config.json "
                "and the files of the tokenizer.\n"
                "A file carat.json beside the weights is not read: no setting in it changes what is "
                "written.\n",
     .examples = "carat convert MODEL small.gguf --type q4_k_m\n"
                 "carat convert small.gguf DIRECTORY\n"
                 "carat convert MODEL mixed.gguf --recipe all=q8_0,ffn_up[0-1]=q4_0\n"},
    {.name = "quantize", .group = FOR_FILES, .brief = "convert, typed otherwise",
     .args = "IN OUT.gguf TYPE [THREADS]",
     .summary = "write a model with other types, typed as llama-quantize is",
     .min_args = 3, .max_args = 4, .opens = true, .needs = "IN, OUT and TYPE",
     .details = "The same as carat convert IN OUT.gguf --type TYPE, with llama-quantize's arguments and "
                "options. IN may be every model that carat opens, not GGUF alone.\n",
     .examples = "carat quantize MODEL small.gguf Q4_K_M\n"
                 "carat quantize --pure --tensor-type 'attn_[qk]=q8_0' MODEL small.gguf Q4_0 2\n"},
    {.name = "imatrix", .group = FOR_FILES, .brief = "what columns matter",
     .args = "MODEL -f TEXT -o OUT.gguf", .summary = "measure how much the columns of matrices matter",
     .min_args = 1, .max_args = 1, .opens = true, .tokenizer = TOKENIZER_UNLESS_IDS,
     .details = "Evaluates a text, or --ids, in windows of -c ids, each behind <bos>, or with --messages "
                "FILE.jsonl the conversation of each line, and writes sums of squares of what every column "
                "is multiplied by, in llama.cpp's form: --imatrix of convert and quantize, and "
                "llama-quantize, read it. What is left over behind the last window is not evaluated. The "
                "bytes are the same for every number of threads and every chunk. A file carat.json beside "
                "the weights is not read: its head strategies change nothing here, and there is nothing to "
                "decode.\n",
     .examples = "carat imatrix tiny -f notes.txt -c 8 -o importance.gguf\n"
                 "carat quantize --imatrix importance.gguf tiny small.gguf Q4_K_M\n"},
    {.name = "cache", .group = FOR_FILES, .brief = "packed models",
     .args = "list|prune|clear|remove [NAME]", .summary = "look after the cache of packed models",
     .min_args = 1, .max_args = 2, .needs = "to be told what to do",
     .details = "list: shows what is there, the last used first. prune: removes what is of no use "
                "(its model has changed or is gone, or it is damaged or of another version), then "
                "the least recently used until the rest fits. clear: removes all. remove NAME: "
                "removes one; NAME is its model's name or path, or the path of the packed file. A "
                "process that runs a removed model keeps it until the process ends.\n",
     .examples = "carat cache list\n"
                 "carat cache prune --cache-size 2G\n"},
    {.name = "doctor", .group = TO_BEGIN, .brief = "describe this machine",
     .args = "[MODEL]", .summary = "describe this machine and how carat would use it",
     .max_args = 1,
     .details = "Paste the lines from ``` to ``` into a bug report. The most that memory and "
                "arithmetic can do is measured in two seconds and kept in the cache. The last lines "
                "are advice, one for each thing that makes this machine slow.\n"
                "It lists the GPUs that NVIDIA's driver shows (CUDA_VISIBLE_DEVICES hides some from it), or why "
                "there is none.\n"
                "With MODEL it also shows what passes of it cost here, by number of tokens, as "
                "earlier runs have measured, and keys of its config.json that do not count.\n"
                "A processor can be wrong without a sign of it. --soak computes the same answer for SECONDS, on "
                "one processor after another, and compares a hash of what each operation of each layer gives; "
                "it names the processor and the operation, and when. With MODEL it needs more memory, which "
                "it tries too.\n",
     .examples = "carat doctor\n"
                 "carat doctor --measure off --json\n"
                 "carat doctor --soak 2\n"},
    {.name = "serve", .group = TO_BEGIN, .brief = "answer over HTTP",
     .args = "MODEL", .summary = "answer clients of OpenAI, Anthropic, Ollama and Google over HTTP",
     .min_args = 1, .max_args = 1, .opens = true, .tokenizer = TOKENIZER,
     .details = "Programs written for the APIs of OpenAI, Anthropic, Ollama or Google work with the base "
                "URLs that are printed: completions, chat completions, responses, /v1/messages, /api/chat, "
                "/api/generate, generateContent, llama.cpp's /completion and what is asked beside them, whole "
                "or streamed, with tools, JSON schemas, log-probabilities and seeds. Each answer is that of "
                "carat run with the same prompt, seed and settings, whoever else is answered meanwhile.\n"
                "An embedding model gives vectors at /v1/embeddings, /api/embed and /api/embeddings, those of "
                "carat embed --no-prompt, or with \"task\" those of its --task.\n"
                "A field that has no effect is named in the reply's header carat-without-effect, one that "
                "nobody knows in carat-ignored and in warnings, the seed in carat-seed. One that cannot be "
                "obeyed is refused.\n"
                "A request for which there is no room in time is refused, and told when to come again; what "
                "one may cost has limits, which --help-all lists.\n"
                "It listens on this machine alone. SIGTERM or Ctrl-C: no further request is taken, answers "
                "under way are given, and the exit code is 0; a second one cuts them. Exit code 6: the "
                "address, or that of --ollama, is taken. /livez, /readyz and /health answer while it works.\n"
                "A file carat.json beside the weights is read.\n",
     .examples = "carat serve tiny\n"
                 "carat serve MODEL -np 4 --alias gemma\n"},
    {.name = "completion", .group = FOR_MORE, .brief = "script for a shell",
     .args = "bash|zsh|fish", .summary = "print a completion script for a shell",
     .min_args = 1, .max_args = 1, .needs = "a shell",
     .details = "bash: source <(carat completion bash)\n"
                "zsh: carat completion zsh >DIR/_carat, where DIR is in $fpath\n"
                "fish: carat completion fish | source\n",
     .examples = "source <(carat completion bash)\n"
                 "carat completion zsh >_carat\n"
                 "carat completion fish >carat.fish\n"},
    {.name = "version", .group = FOR_MORE, .brief = "print the version",
     .args = "", .summary = "print the version",
     .details = "It also says which kernels for GPUs this build has; they are made where clang is.\n",
     .examples = "carat version --json\n"},
    {.name = "help", .group = FOR_MORE, .brief = "describe a verb",
     .args = "[VERB]", .summary = "describe a verb and its options",
     .max_args = 1,
     .details = "",
     .examples = "carat help run\n"
                 "carat help --man run | man -l -\n"},
    {0},
};
/* clang-format on */
