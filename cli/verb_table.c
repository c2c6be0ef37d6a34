/* SPDX-License-Identifier: Apache-2.0 */
/* verb_table.c: the verbs of the command as data: what they are called, take and say of themselves. Their
 * options are option_table.c's, what they do is in a file of each. */
#include "options.h"

const char bench_words[] = "timeline|lm-head";
const struct verb_text verb_texts[N_VERB] = {
    [RUN] =
        {"run", "MODEL [PROMPT]", "generate text from a prompt", 1, 2,
         "The prompt is PROMPT, -p, -f, --messages or --ids; without any of them, or when PROMPT is -, it is "
         "standard input, byte for byte.\n"
         "A PROMPT that follows MODEL is continued by standard input, after an empty line and with a note, "
         "when that is a file at its beginning, or a pipe that brings something within 0.2 s. With -m, -p, "
         "-f, --messages or --ids standard input is not touched.\n"
         "The prompt becomes the user's turn of the model's chat template, and may be empty; --raw runs it "
         "as it is, control tokens recognised.\n"
         "With --tools, or --json, a call of a function comes out as {\"name\": ..., \"arguments\": ...}, "
         "one a line, or in the list \"calls\"; one that is not of the form, or not declared, has its text "
         "and what is wrong with it, too.\n"
         "Generated text alone goes to standard output, and ends with a newline. Speed, and the seed if it "
         "was random, go to standard error with -v, or where both are terminals. A given seed repeats a "
         "run.\n"
         "A rate counts the tokens whose passes its time contains: the first one generated comes from the "
         "pass of the prompt. Where there was no pass it is left out, in JSON null.\n",
         "carat run tiny \"Turn on the kitchen lights\"\n"
         "carat run MODEL \"Summarise:\" <notes.txt\n"
         "carat run MODEL -n 100 --temp 0.7 --seed 1 \"Once upon a time\"\n"
         "carat run MODEL --messages messages.json\n"
         "carat run tiny --tools tools.json \"Turn on the kitchen lights\"\n"},
    [CHAT] =
        {"chat", "MODEL", "talk with a model", 1, 1,
         "At a terminal lines are edited, and remembered in $XDG_STATE_HOME/carat/history. Three quotes "
         "(\"\"\") begin and end a message of several lines. A line that begins with / and a word is a "
         "command: /help lists them. /regen answers again, /edit changes the last message, /undo takes it "
         "back: what was evaluated before it is not evaluated again. /save FILE keeps the conversation with "
         "all that was evaluated, and /load FILE goes on with it, also with another model or on another "
         "machine. Ctrl-C ends an answer, which stays in the conversation; at an empty prompt it leaves, as "
         "Ctrl-D does.\n"
         "With --tools, the calls of functions in an answer are printed as JSON, and the result of each is "
         "asked for, as a line.\n"
         "Where standard input is no terminal, a line is a message or a command, answers alone go to "
         "standard "
         "output, and the first mistake ends the conversation with its exit code. On a terminal control "
         "bytes of the model are shown, as \\x1b.\n"
         "run MODEL without a prompt, on a terminal, is the same.\n",
         "echo \"Turn on the kitchen lights\" | carat chat tiny\n"
         "carat chat MODEL -sys \"Be brief.\" <notes.txt\n"},
    [LOGITS] =
        {"logits", "MODEL", "next-token logits after a prompt", 1, 1,
         "The prompt is -p, -f, --messages or --ids, as for run; standard input is read only where one of "
         "them is -. Without --out, --top or --json the ten highest logits are printed.\n",
         "carat logits tiny --ids 2,5,9\n"
         "carat logits MODEL --ids 2,5,9 --all --out logits.npy\n"},
    [DECODE] =
        {"decode", "MODEL --ids IDS", "generate ids step by step and say what each one took", 1, 1,
         "The bench of the loop over tokens: no text, no template, no end before --steps. All of IDS but the "
         "last "
         "are the prompt. A step evaluates one id and draws the next: the highest logit, unless --seed or "
         "another option of sampling is given, where --seed is 0 by default and the rest the model's. One "
         "engine "
         "serves all rounds; each begins from nothing and gives the same ids.\n"
         "With --json, or --jsonl a line each: a step has round, step, id, piece, top (lists of id and "
         "logit) and "
         "ms; a round prefill_ms, decode_ms_per_token (the mean), decode_ms_p50, decode_ms_p90, tok_s, hits, "
         "misses, evictions, avg_eval_tiles, rows_finished, head_bytes, recall and top1 (of audits, else "
         "null); "
         "the result setup_ms with its parts, and the means over rounds.\n"
         "Where --audit finds that a strategy which is exact differs from dense, the exit code is 7.\n",
         "carat decode tiny --ids 2,105,621,107 --steps 8 --top 5\n"
         "carat decode MODEL --ids 2,5,9 --lm-head exact-pruned --audit 1 --json\n"},
    [TOKENIZE] = {"tokenize", "MODEL [TEXT]", "text to token ids", 1, 2,
                  "MODEL may be a tokenizer file, or a directory that holds only one. Without TEXT, standard "
                  "input is read.\n",
                  "carat tokenize tiny \"Turn on the kitchen lights\"\n"
                  "carat tokenize MODEL --json <notes.txt\n"},
    [DETOKENIZE] =
        {"detokenize", "MODEL [IDS]", "token ids to text", 1, 2,
         "MODEL is as for tokenize. IDS are separated by commas or white space, or are the JSON that "
         "tokenize prints; without them, standard input is read.\n",
         "carat tokenize tiny \"kitchen lights\" | carat detokenize tiny\n"},
    [RENDER] = {"render", "MODEL --messages FILE", "the exact prompt that a conversation becomes", 1, 1,
                "MODEL is as for tokenize. FILE holds a JSON array of messages as the OpenAI API has them.\n",
                "carat render MODEL --messages messages.json\n"
                "carat render tiny --messages messages.json --tools tools.json --ids\n"},
    [BENCH] =
        {"bench", "[timeline|lm-head] MODEL", "measure prompt and generation speed", 1, 1,
         "Random ids, one warm-up; tokenising and sampling are not in the time. What was read and "
         "computed is compared with what the machine can do at most, measured in the same run.\n"
         "The first table is llama-bench's. In the second, \"first token\" is a prompt and one draw, "
         "ms/token are single steps of generation, and behind the median stands how far runs differ, "
         "in per cent. Notes say what else the machine did meanwhile.\n"
         "CSV and JSON have llama-bench's fields, and under \"carat\" what it lacks: noise is the "
         "standard deviation by the median, estimated from the median distance to it; limit_ts the "
         "speed that memory and arithmetic allow; ttft_ms the first token; setup_ms the start; "
         "foreign_load and steal shares of all processors' time.\n"
         "bench timeline MODEL times what a session does with what it has evaluated: finding that nothing "
         "is new, going back, taking a snapshot, saving and loading a file, and after a prompt of -d "
         "tokens (default 4096) the last answer again and a further turn, beside fresh prompts as long as "
         "what is new. A model called timeline is ./timeline.\n"
         "--draft-right A times -npl generations of -n ids (default 256) behind a prompt of -p (default 64), "
         "without drafts and with some whose ids are right with probability A, beside a loop of carat_step "
         "and carat_sample.\n"
         "bench lm-head MODEL goes through strategies of the head, capacities (all, half, 32, 8 tiles), "
         "lists (0, "
         "8, 16, 24, 32) and weights of tiles, as far as the model has tiles for them; --lm-head and the "
         "options "
         "with it choose some. Every row takes the ids that dense drew from its best 64 behind --ids. Told "
         "are "
         "steps of one token, the head alone, bytes that it read, set-up without and with the cache, memory, "
         "divergence of what is drawn, the share of dense's best that is found, rows finished behind a "
         "sketch, "
         "and the tokens after which a longer set-up pays. A model called lm-head is ./lm-head.\n"
         "Which head when; figures are of a model like Gemma 3 270M in BF16, whose head's spectrum falls, on "
         "two cores "
         "of a Zen 4 server:\n"
         "dense to bring a model up, and where every logit is read: nothing is made, 14 ms a token.\n"
         "exact-pruned for the same ids sooner: 1.7 times as fast for draws from the best 64, 1.8 times "
         "greedily, "
         "with 0.31 and 0.28 of the head read, for 95 MB; 0.4 s of set-up once, then 4 ms from the cache. A "
         "flat "
         "spectrum gains greedily alone; auto finds out.\n"
         "preload for long runs, with --lm-quant group where int8 weights will do: 1.5 times as fast, and "
         "154 MB "
         "less; 0.3 s of set-up once, then 3 ms. The best id was the same in all of 32 steps, divergence "
         "0.00002.\n"
         "lazy for little memory, with a capacity near the tiles: native, 50 of 100 tiles take 168 MB less, "
         "and 1.2 "
         "times as long; 32 of them 228 MB, and 1.3 times. int8 tiles that come and go take 8 times as "
         "long.\n"
         "a shortlist for less than that: 16 tiles take half as long as dense, but have a fifth of its best "
         "64 ids and "
         "its best one in 7 of 10 steps, so --audit should look at it.\n",
         "carat bench MODEL -p 512 -n 64 -r 5\n"
         "carat bench MODEL -d 0,512,1024 --plot depth.svg\n"
         "carat bench MODEL -o json >before.json\n"
         "carat bench MODEL --compare before.json\n"
         "carat bench timeline tiny -d 1024\n"
         "carat bench MODEL --draft-right 0.8 -n 64\n"
         "carat bench lm-head tiny --lm-head exact-pruned\n"},
    [PERPLEXITY] =
        {"perplexity", "MODEL [FILE]", "how well a model expects a text", 1, 2,
         "FILE is a text, - is standard input. It is cut into windows of -c ids as llama-perplexity cuts it: "
         "each begins with <bos> in place of its first id, the second half of it is scored, what is left at "
         "the end is not, and there are two at least. So numbers compare where -c is the same. The result is "
         "e to the mean of minus the log-probabilities, with its standard error.\n"
         "With --stride N every id is scored once: a window scores N ids behind those before them, so many "
         "as -c allows. It is slower and says more.\n"
         "With --messages FILE the model's turns of conversations are scored, each behind what the template "
         "puts before it, up to the id that ends it. That is the number to look at for a model that was "
         "tuned to answer: of plain text its perplexity is in the thousands, and means nothing.\n",
         "carat perplexity tiny notes.txt --stride 8\n"
         "carat perplexity MODEL notes.txt -c 4 --json\n"},
    [EVAL] =
        {"eval", "MODEL FILE", "questions of multiple choice, and how many are answered right", 1, 2,
         "A line of FILE is an object with question, choices (2 to 26 texts), answer (an index from 0, or a "
         "letter), and perhaps subject and context, a text that stands before the question; - is standard "
         "input.\n"
         "letter: the choices are listed behind the question, then stands Answer:, and the likeliest letter "
         "is the model's choice, as in MMLU. likelihood: Answer: follows the question, and the choice is the "
         "text with the highest log-probability; per byte: with the highest one divided by the text's bytes. "
         "Behind each accuracy stands Wilson's interval of 95 %.\n"
         "With --chat the question is the user's turn, and the letter or text begins the model's.\n",
         "carat eval MODEL items.jsonl --chat\n"
         "carat eval MODEL items.jsonl --min 0.25 --json\n"},
    [SHOW] =
        {"show", "MODEL", "describe a model and the memory it needs", 1, 1,
         "Memory is that of weights, cache of keys and values, work and the stacks of threads, as run would "
         "reserve it. Sizes are bytes, or with K, M or G powers of 1024: 1500M, 2G, 2GiB.\n",
         "carat show tiny\n"
         "carat show MODEL --memory\n"
         "carat show MODEL --memory 2G --json\n"},
    [COMPARE] = {"compare", "REF [TEST]", "say how far two models, or two modes of one, are apart", 1, 2,
                 "REF and TEST are models; without TEST, REF is run in two modes, --ref and --test. The "
                 "prompt is -p, -f, "
                 "--messages or --ids, as for run. Both evaluate it and what follows, and their logits are "
                 "compared position "
                 "by position. QUALITY.md says what the numbers mean.\n"
                 "The verdict is healthy, watch or concerning, which is exit code 7; --limits moves its "
                 "limits. The numbers "
                 "are the same for every number of threads, level and chunk.\n",
                 "carat compare tiny --ref exact -p \"Where is the bed?\" -n 32\n"
                 "carat compare MODEL tiny --driver free -p \"Hello\" --json\n"},
    [VERIFY] =
        {"verify", "MODEL", "check a model file and how this machine computes it", 1, 1,
         "Compares a packed form with its checksums and with what packing gives, looks for NaN and infinity "
         "in every weight, compares shapes with the family's published members, "
         "sends texts and all pieces of the vocabulary through the tokenizer and back, and compares every "
         "kernel that this processor can run with the plain ones, bit for bit, on this model's weights. The "
         "content hash is the same for the same configuration, types and values, whatever the container. A "
         "failed check is exit code 7.\n",
         "carat verify MODEL\n"},
    [PACK] = {"pack", "MODEL", "write a model in the form that starts at once", 1, 1,
              "Without -o the packed form goes into the cache, as the first run of a model puts it there. "
              "With it, FILE is a model of its own, which can be moved to other machines and processors.\n",
              "carat pack MODEL -o packed.carat\n"},
    [CACHE] =
        {"cache", "list|prune|clear|remove [NAME]", "look after the cache of packed models", 1, 2,
         "list: what is there, the one used last first. prune: removes what is of no use (its model has "
         "changed or is gone, it is damaged or of another version), and the ones used longest ago until the "
         "rest fits. clear: removes all. remove NAME: removes one, by the name of its model, its path or "
         "that of the packed file. A process that runs one keeps it until it ends.\n",
         "carat cache list\n"
         "carat cache prune --cache-size 2G\n"},
    [DOCTOR] =
        {"doctor", "[MODEL]", "describe this machine and how carat would use it", 0, 1,
         "The lines from ``` to ``` are meant to be pasted into a bug report. What memory and arithmetic "
         "can do at most is measured in two seconds and remembered in the cache. The last lines are advice, "
         "one for each thing that makes this machine slow.\n"
         "With MODEL also what its passes cost here, by number of tokens, as runs of it have measured.\n",
         "carat doctor\n"
         "carat doctor --measure off --json\n"},
    [COMPLETION] = {"completion", "bash|zsh|fish", "print a completion script for a shell", 1, 1,
                    "bash: source <(carat completion bash)\n"
                    "zsh: carat completion zsh >DIR/_carat, where DIR is in $fpath\n"
                    "fish: carat completion fish | source\n",
                    "source <(carat completion bash)\n"
                    "carat completion zsh >_carat\n"
                    "carat completion fish >carat.fish\n"},
    [VERSION] = {"version", "", "print the version", 0, 0, "", "carat version --json\n"},
    [HELP] = {"help", "[VERB]", "describe a verb and its options", 0, 1, "",
              "carat help run\n"
              "carat help --man run | man -l -\n"},
};
