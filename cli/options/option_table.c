/* SPDX-License-Identifier: Apache-2.0 */
/* option_table.c: every option, exit code and variable of the command, as data; verbs are verb_table.c's. Who
 * reads it is in options.h. */
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "carat_generate.h"
#include "carat_quality.h"
#include "carat_tools.h"
#include "options/options.h"
#include "term/exit.h"

/* Words that the library knows, separated by |: options_words writes them. */
static char isa_words[128], kv_words[32], cache_words[40];

#define AT(field) offsetof(struct options, field)
#define GENERATES (ON(RUN) | ON(CHAT))
#define DRAWS     (GENERATES | ON(DECODE))
#define SCORES    (ON(PERPLEXITY) | ON(EVAL))
#define EVALUATES (DRAWS | SCORES | ON(LOGITS) | ON(BENCH))
#define HEADS     (SELDOM(GENERATES) | ON(DECODE) | ON(BENCH) | ON(SHOW))
#define ANY       (ON(N_VERB) - 1)
#define OPENS     (ANY & ~NO_MODEL) /* a model */
#define CACHES    (OPENS | ON(CACHE) | ON(DOCTOR))

/* Help shows the rows in this order, each below the GROUP before it. */
#define GROUP(title)                                                                                         \
    {                                                                                                        \
        .help = title                                                                                        \
    }

/* An entry of two or three lines can be read as a table, one with a line for each value cannot. */
/* clang-format off */
const struct option option_table[] = {
    GROUP("Model"),
    {{"-m", "--model", "--weights"}, MODEL, AT(model), OPENS, "MODEL",
     "the model, instead of the first argument", 0, 0},
    {{"--tokenizer"}, PATH, AT(tokenizer), SELDOM(OPENS), "FILE",
     "a tokenizer file, instead of the model's own", 0, 0},
    {{"--no-cache"}, FLAG, AT(no_cache), SELDOM(OPENS), NULL,
     "neither read nor write the cache of packed models", 0, 0},
    {{"--cache-size"}, SIZE, AT(cache_size),
     SELDOM(EVALUATES | ON(COMPARE)) | ON(PACK) | ON(CACHE) | ON(DOCTOR), "SIZE",
     "the most that all packed models together may take (default 4G)", 1, 1e18},
    GROUP("Input"),
    {{"-p", "--prompt"}, TEXT, AT(prompt), GENERATES | ON(LOGITS) | ON(TOKENIZE) | ON(COMPARE), "TEXT",
     "the prompt, the first message, or the text", 0, 0},
    {{"-f", "--file"}, READS, AT(file), ON(RUN) | ON(LOGITS) | ON(TOKENIZE) | ON(COMPARE) | ON(PERPLEXITY),
     "FILE",
     "read the prompt from FILE", 0, 0},
    {{"-sys", "--system-prompt"}, TEXT, AT(system), GENERATES | SELDOM(ON(LOGITS) | ON(COMPARE)), "TEXT",
     "a system message before the prompt", 0, 0},
    {{"-sysf", "--system-prompt-file"}, READS, AT(system_file),
     SELDOM(GENERATES | ON(LOGITS) | ON(COMPARE)), "FILE",
     "read the system message from FILE", 0, 0},
    {{"--ids"}, TEXT, AT(ids), SELDOM(ON(RUN)) | ON(LOGITS) | ON(DECODE) | ON(BENCH) | ON(COMPARE), "IDS",
     "token ids instead of text, as in 2,5,9; @FILE reads them from FILE", 0, 0},
    {{"--raw", "-no-cnv", "--no-conversation"}, FLAG, AT(raw), ON(RUN) | ON(LOGITS) | ON(COMPARE), NULL,
     "do not use the chat template", 0, 0},
    {{"--messages"}, READS, AT(messages), ON(RUN) | ON(LOGITS) | ON(RENDER) | ON(COMPARE), "FILE",
     "the conversation, a JSON array in OpenAI's form", 0, 0},
    {{"--messages"}, READS, AT(messages), ON(PERPLEXITY), "FILE",
     "score the model's turns of conversations: each line is a JSON array of messages, or an object with "
     "messages and optionally tools", 0, 0},
    {{"--tools"}, READS, AT(tools), GENERATES | SELDOM(ON(LOGITS) | ON(COMPARE)) | ON(RENDER), "FILE",
     "function tools, a JSON array in OpenAI's form", 0, 0},
    {{"--tool-command"}, TEXT, AT(tool_command), SELDOM(GENERATES), "PROGRAM",
     "a program and its arguments, separated by spaces: it reads each call as JSON from standard input "
     "and prints the result", 0, 0},
    {{"--tool-rounds"}, INT, AT(tool_rounds), SELDOM(GENERATES), "N",
     "the most rounds of calls and results with --tool-command (default 8)", 1, 1000},
    {{"--chat-template"}, CHOICE, AT(chat_template),
     SELDOM(GENERATES | SCORES | ON(LOGITS) | ON(COMPARE)) | ON(RENDER), "gemma|gemma3|functiongemma",
     "the chat template to use instead of the model's own", 0, 0},
    {{"-cnv", "--conversation"}, FLAG, AT(talks), SELDOM(GENERATES), NULL,
     "hold a conversation, also when standard input is not a terminal", 0, 0},
    {{"-st", "--single-turn"}, FLAG, AT(single_turn), SELDOM(GENERATES), NULL,
     "end after one message and its answer", 0, 0},
    {{"--no-generation-prompt"}, FLAG, AT(no_generation_prompt), ON(RENDER), NULL,
     "do not open the model's turn", 0, 0},
    {{"--no-bos"}, FLAG, AT(no_bos), ON(TOKENIZE), NULL, "do not begin with <bos>", 0, 0},
    {{"--special"}, FLAG, AT(special), ON(TOKENIZE) | ON(RENDER), NULL,
     "recognise control tokens in the text", 0, 0},
    {{"--special"}, FLAG, AT(special), ON(DETOKENIZE), NULL, "print control tokens", 0, 0},
    {{"--lossy"}, FLAG, AT(lossy),
     SELDOM(GENERATES | ON(LOGITS) | ON(COMPARE) | ON(PERPLEXITY)) | ON(TOKENIZE), NULL,
     "replace invalid UTF-8 by U+FFFD instead of refusing it", 0, 0},
    {{"--jsonl"}, READS, AT(jsonl), ON(TOKENIZE), "FILE",
     "read one {\"text\": ...} a line, print one {\"ids\": ...} a line", 0, 0},
    {{"--jsonl"}, READS, AT(jsonl), ON(DETOKENIZE), "FILE",
     "read one {\"ids\": ...} a line, print one {\"text\": ...} a line", 0, 0},
    GROUP("Generation"),
    {{"-n", "--predict", "--n-predict", "--max-tokens"}, INT, AT(predict), GENERATES, "N",
     "generate at most N tokens (default -1: to the end of the context)", -1, INT_MAX},
    {{"--temp", "--temperature"}, REAL_OR_0, AT(temp), DRAWS, "X",
     "temperature; 0 takes the highest logit (default: the model's)",
     CARAT_TEMPERATURE_MIN, CARAT_TEMPERATURE_MAX},
    {{"--top-k"}, INT, AT(top_k), DRAWS, "N",
     "draw from the N most likely tokens; 0 is all (default: the model's)", 0, INT_MAX},
    {{"--top-p"}, REAL, AT(top_p), DRAWS, "X",
     "draw from the most likely tokens whose probabilities sum up to X (default: the model's)",
     CARAT_TOP_P_MIN, 1},
    {{"--min-p"}, REAL, AT(min_p), SELDOM(DRAWS), "X",
     "drop tokens less likely than X times the likeliest (default: the model's)", 0, 1},
    {{"--samplers"}, TEXT, AT(samplers), SELDOM(DRAWS), "NAMES",
     "the samplers and their order, as in 'top_k;temperature' (default: penalties, dry, top_k, "
     "temperature, typ_p, top_p, min_p, xtc; one without a value does nothing)", 0, 0},
    {{"--sampling-seq", "--sampler-seq"}, TEXT, AT(sampling_seq), SELDOM(DRAWS), "LETTERS",
     "the same in llama.cpp's letters, as in edktypmx", 0, 0},
    {{"-l", "--logit-bias"}, TEXTS, AT(logit_bias), SELDOM(DRAWS), "ID+X",
     "add X to the logit of token ID before all samplers, or with ID-X subtract it; ID-inf bans it; "
     "separate several by commas or repeat the option", 0, MOST_TEXTS},
    {{"--repeat-penalty"}, REAL, AT(repeat_penalty), SELDOM(DRAWS), "X",
     "divide the logits of ids in the recent text by X, or multiply them if negative (default 1: off)",
     0.001, 1000},
    {{"--frequency-penalty"}, REAL, AT(frequency_penalty), SELDOM(DRAWS), "X",
     "subtract X from the logit of an id for each time it occurs in the recent text (default 0)",
     -1000, 1000},
    {{"--presence-penalty"}, REAL, AT(presence_penalty), SELDOM(DRAWS), "X",
     "subtract X from the logits of ids in the recent text (default 0)", -1000, 1000},
    {{"--repeat-last-n"}, INT, AT(repeat_last_n), SELDOM(DRAWS), "N",
     "how many tokens are the recent text for these three penalties; -1 is all, 0 none (default 64)",
     -1, INT_MAX},
    {{"--dry-multiplier"}, REAL, AT(dry_multiplier), SELDOM(DRAWS), "X",
     "subtract X * BASE^n from the logit of an id that would make a repetition n tokens longer than "
     "allowed (default 0: off)", 0, 1000},
    {{"--dry-base"}, REAL, AT(dry_base), SELDOM(DRAWS), "X",
     "BASE of --dry-multiplier (default 1.75)", 1, 1000},
    {{"--dry-allowed-length"}, INT, AT(dry_allowed_length), SELDOM(DRAWS), "N",
     "the longest repetition that --dry-multiplier allows (default 2)", 0, INT_MAX},
    {{"--dry-penalty-last-n"}, INT, AT(dry_penalty_last_n), SELDOM(DRAWS), "N",
     "look for repetitions in the last N tokens; -1 is all, 0 none (default -1)", -1, INT_MAX},
    {{"--dry-sequence-breaker"}, TEXTS, AT(dry_breaker), SELDOM(DRAWS), "TEXT",
     "a token that ends any repetition; may be repeated; the word none removes all (default: newline, "
     "colon, quote and star)", 0, CARAT_MOST_BREAKERS},
    {{"--typical", "--typical-p", "--typ"}, REAL, AT(typical), SELDOM(DRAWS), "X",
     "draw from the tokens whose log-probability is nearest to the expected one and which sum up to X "
     "(default 1: off)", CARAT_TOP_P_MIN, 1},
    {{"--xtc-probability"}, REAL, AT(xtc_probability), SELDOM(DRAWS), "X",
     "with this probability drop all tokens above the threshold except the least likely of them (default "
     "0: off)", 0, 1},
    {{"--xtc-threshold"}, REAL, AT(xtc_threshold), SELDOM(DRAWS), "X",
     "the threshold of --xtc-probability (default 0.1)", 0, 1},
    {{"-s", "--seed"}, INT64, AT(seed), GENERATES, "N",
     "seed of sampling; -1 is random (default -1)", 0, 0},
    {{"-s", "--seed"}, INT64, AT(seed), ON(DECODE), "N",
     "seed of sampling (default 0); without any sampling option the highest logit is taken", 0, 0},
    {{"--ignore-eos"}, FLAG, AT(ignore_eos), SELDOM(GENERATES), NULL,
     "never generate the ids that end generation", 0, 0},
    {{"--context-shift"}, FLAG, AT(context_shift), SELDOM(ON(RUN)), NULL,
     "when the context is full, drop the older half of it and continue", 0, 0},
    {{"--keep"}, INT, AT(keep), SELDOM(ON(RUN)), "N",
     "with --context-shift: how many first tokens of the prompt are kept, besides <bos>; -1 is all "
     "(default 0)", -1, INT_MAX},
    {{"--stop-ids"}, TEXT, AT(stop_ids), SELDOM(GENERATES), "IDS",
     "ids that end generation, instead of the model's own; \"\" for none", 0, 0},
    {{"--stop", "-r", "--reverse-prompt"}, TEXTS, AT(stop), GENERATES, "TEXT",
     "end the answer before TEXT, which is not printed; may be repeated up to 16 times",
     0, CARAT_MOST_STOPS},
    {{"--ban"}, TEXT, AT(ban), SELDOM(GENERATES), "IDS",
     "ids that are never generated, as in 2,5,9; @FILE reads them from FILE", 0, 0},
    {{"--loop-guard"}, OFF_OR_INT, AT(loop_guard), SELDOM(GENERATES), "off|N",
     "end an answer whose last N tokens only repeat themselves while the model is sure of them (default "
     "96)", 1, CARAT_MOST_LOOP},
    {{"--lookup"}, CHOICE, AT(lookup), GENERATES | SELDOM(ON(BENCH)), "on|off|auto",
     "guess next tokens from repetitions in the text: faster, and the same tokens; auto: only where it "
     "pays (default auto)", 0, 0},
    {{"--draft-max", "--draft", "--draft-n", "--spec-draft-n-max"}, INT, AT(draft_max),
     SELDOM(GENERATES | ON(BENCH)), "N",
     "the most ids guessed at once; 0 is none (default 7, the most that a pass checks)", 0, INT_MAX},
    {{"--draft-min", "--draft-n-min", "--spec-draft-n-min"}, INT, AT(draft_min),
     SELDOM(GENERATES | ON(BENCH)), "N",
     "the fewest ids worth guessing (default 1)", 0, INT_MAX},
    {{"--spec-type"}, CHOICE, AT(spec_type), SELDOM(GENERATES),
     "none|ngram-simple|ngram-map-k|ngram-map-k4v|ngram-mod|ngram-cache",
     "llama.cpp's option: none is --lookup off, the others are --lookup on", 0, 0},
    {{"-n", "--max-tokens", "--max-new-tokens"}, INT, AT(predict), ON(COMPARE), "N",
     "positions to compare for each prompt (default 64; with --driver text all)", 1, INT_MAX},
    {{"--ignore-eos"}, FLAG, AT(ignore_eos), ON(COMPARE), NULL,
     "continue after the id that ends an answer; what follows is reported apart", 0, 0},
    GROUP("What is compared"),
    {{"--ref"}, TEXT, AT(ref_mode), ON(COMPARE), "WORDS",
     "the mode of REF, separated by commas: exact, kv=TYPE, isa=LEVEL, chunk=N, threads=N, layers=N, "
     "head=STRATEGY", 0, 0},
    {{"--test"}, TEXT, AT(test_mode), ON(COMPARE), "WORDS", "the mode of TEST, in the same words", 0, 0},
    {{"--hf-reference"}, MODEL, AT(hf_reference), SELDOM(ON(COMPARE)), "MODEL",
     "another way to give REF; TEST is then the only argument", 0, 0},
    {{"--driver"}, CHOICE, AT(driver), ON(COMPARE), "ref|test|free|text|hf|coreml",
     "who chooses the next id: the highest logit of REF, or of TEST (hf and coreml are other names of "
     "these); free: each model its own, until they differ; text: the given ids (default ref)", 0, 0},
    {{"--at"}, INTS, AT(at), ON(COMPARE), "N[,N...]",
     "print a line for each of these lengths, from one run", 1, INT_MAX},
    {{"--ref-logits"}, PATH, AT(ref_logits), ON(COMPARE), "FILE.npy",
     "recorded logits instead of REF, a row for each id of --ids: float32, as carat logits --all and "
     "numpy.save write them", 0, 0},
    {{"--dataset"}, PATH, AT(dataset), ON(COMPARE), "FILE.jsonl",
     "a file of prompts, a JSON object a line with \"ids\", \"messages\", \"prompt\" or \"text\", and "
     "for --driver text \"answer\" or \"answer_ids\"", 0, 0},
    {{"--out", "--out-dir"}, TEXT, AT(out_dir), ON(COMPARE), "DIR",
     "write results, summary and report there; the same command continues where it was stopped", 0, 0},
    {{"--restart"}, FLAG, AT(restart), SELDOM(ON(COMPARE)), NULL,
     "discard what DIR has and begin again", 0, 0},
    {{"--parallel"}, INT, AT(parallel), SELDOM(ON(COMPARE)), "N",
     "prompts evaluated together in a pass (default 4)", 1, 256},
    {{"--limits"}, TEXT, AT(limits), ON(COMPARE), "LIMITS",
     "where healthy ends and concerning begins (default kl=0.01:0.1, correlation=0.99:0.95, match=98:90, "
     "entropy=0.5:0.1)", 0, 0},
    {{"--top"}, INT, AT(top), SELDOM(ON(COMPARE)), "K",
     "compare the K highest ids of both (default 10)", 1, 1024},
    {{"--near-tie"}, REAL, AT(near_tie), SELDOM(ON(COMPARE)), "X",
     "a position is a near-tie when the reference's two highest logits differ by less than X (default "
     "0.05)", 0, 1e6},
    {{"--bisect"}, FLAG, AT(bisect), ON(COMPARE), NULL,
     "find where the two begin to differ: the first operation that is wrong on the reference's own "
     "inputs", 0, 0},
    {{"--rows"}, INT, AT(bisect_rows), SELDOM(ON(COMPARE)), "N",
     "how many tokens --bisect compares, spread over all (default 16)", 1, CARAT_MOST_BISECT_ROWS},
    GROUP("Output"),
    {{"--all"}, FLAG, AT(all), ON(LOGITS), NULL, "logits after every id, not only after the last", 0, 0},
    {{"-o", "--out"}, WRITES, AT(out), ON(LOGITS), "FILE",
     "write float32 NPY, [vocab] or with --all [n][vocab] (- is standard output)", 0, 0},
    {{"-o", "--out"}, WRITES, AT(out), ON(PACK), "FILE",
     "write the packed form there, not into the cache", 0, 0},
    {{"--top"}, INT, AT(top), ON(LOGITS), "K", "print the K highest logits", 1, 1000},
    {{"--top"}, INT, AT(top), ON(DECODE), "K",
     "print the K highest logits of each step (default 1)", 1, 1000},
    {{"--ids"}, FLAG, AT(as_ids), ON(RENDER), NULL, "print token ids instead of text", 0, 0},
    {{"--raw-calls"}, FLAG, AT(raw_calls), SELDOM(ON(RUN)), NULL,
     "print function calls as the model wrote them", 0, 0},
    {{"--logprobs"}, INT, AT(logprobs), SELDOM(DRAWS), "N",
     "print the log-probability of each token and the N most likely ones: with --json in OpenAI's form, "
     "else after the answer", 0, CARAT_MOST_LOGPROBS},
    {{"--pieces"}, FLAG, AT(pieces), ON(TOKENIZE), NULL,
     "print each id with its piece of the vocabulary", 0, 0},
    {{"--tensors"}, FLAG, AT(tensors), ON(SHOW), NULL, "list every tensor", 0, 0},
    {{"--json"}, FLAG, AT(json), ANY & ~(ON(CHAT) | ON(RENDER) | ON(PACK) | ON(COMPLETION) | ON(HELP)),
     NULL,
     "print JSON", 0, 0},
    {{"--jsonl"}, FLAG, AT(lines), ON(DECODE) | SCORES, NULL,
     "print JSON line by line as results arrive", 0, 0},
    GROUP("What is measured"),
    {{"--stride"}, INT, AT(stride), ON(PERPLEXITY), "N",
     "score every id once: N ids in each window, after those before them", 1, INT_MAX},
    {{"--chat"}, FLAG, AT(in_chat), ON(EVAL), NULL,
     "put the question into the user's turn of the chat template", 0, 0},
    {{"--min"}, REAL, AT(least), ON(EVAL), "X",
     "exit with 7 when the accuracy by letter is below X, as in 0.6", 0, 1},
    {{"--steps"}, INT, AT(steps), ON(DECODE), "N",
     "ids to generate in each round (default 16)", 1, 1 << 20},
    {{"--steps"}, INT, AT(steps), ON(BENCH), "N",
     "with lm-head: ids to generate after --ids (default 32)", 2, 1 << 20},
    {{"--spectrum"}, CHOICE, AT(spectrum), ON(BENCH), "flat|falling",
     "with lm-head: use a random model of MODEL's shape and types; the energy of its head is spread "
     "evenly, or falls along common directions as in a trained one", 0, 0},
    {{"--rounds"}, INT, AT(rounds), ON(DECODE), "N", "repeat everything N times (default 1)", 1, 1000},
    {{"--prefill-logits"}, FLAG, AT(prefill_logits), ON(DECODE) | ON(BENCH), NULL,
     "also compute the prompt's logits, which nobody reads", 0, 0},
    {{"-p", "--n-prompt"}, TEXT, AT(n_prompt), ON(BENCH), "N[,N...]",
     "tokens of the prompt tests; 0 is none (default 512)", 0, 0},
    {{"-n", "--n-gen"}, TEXT, AT(n_gen), ON(BENCH), "N[,N...]",
     "tokens of the generation tests; 0 is none (default 64)", 0, 0},
    {{"-pg"}, TEXT, AT(n_pair), ON(BENCH), "N,N[,N,N...]",
     "pairs of prompt and generation, each timed as one test", 0, 0},
    {{"-d", "--n-depth"}, TEXT, AT(n_depth), ON(BENCH), "N[,N...]",
     "tokens in the context before each test (default 0)", 0, 0},
    {{"-npl", "--n-parallel"}, TEXT, AT(n_parallel), SELDOM(ON(BENCH)), "N[,N...]",
     "sequences that the generation tests evaluate together (default 1)", 0, 0},
    {{"-r", "--repetitions"}, INT, AT(repetitions), ON(BENCH), "N",
     "runs of each test (default 5)", 1, 1000},
    {{"-fa", "--flash-attn"}, TEXT, AT(flash), SELDOM(ON(BENCH)), "0|1[,...]",
     "llama-bench's option: a row for each value; carat always uses its one kernel", 0, 0},
    {{"--prompt"}, TEXT, AT(prompt), ON(BENCH), "TEXT",
     "instead of these tests, time whole generations from TEXT, the prompt's evaluation included", 0, 0},
    {{"--draft-right"}, REAL, AT(draft_right), ON(BENCH), "A",
     "instead of these tests, time generation with drafts that are right with probability A, and without",
     0, 1},
    {{"--max-tokens"}, INT, AT(predict), ON(BENCH), "N",
     "with --prompt: generate at most N tokens (default 64)", 1, INT_MAX},
    {{"--bench-iters"}, INT, AT(iterations), ON(BENCH), "N",
     "with --prompt: how many generations (default 3)", 1, 1000},
    {{"--bench-warmup"}, INT, AT(warmup), ON(BENCH), "N",
     "with --prompt: untimed generations before these (default 1)", 0, 1000},
    {{"--bench-json"}, WRITES, AT(bench_json), ON(BENCH), "FILE",
     "with --prompt: write mean, median and p90 as one JSON object", 0, 0},
    {{"-o", "--output"}, CHOICE, AT(output), ON(BENCH), "md|csv|json|jsonl",
     "the form of the result (default md); --json is -o json", 0, 0},
    {{"--compare"}, READS, AT(compare), ON(BENCH), "FILE",
     "compare each test with FILE, an older result of -o json; exit with 7 when one is slower by more "
     "than the noise", 0, 0},
    {{"--plot"}, WRITES, AT(plot), ON(BENCH), "FILE",
     "draw speed over depth and what the machine allows, as SVG", 0, 0},
    {{"--profile"}, FLAG, AT(profile), ON(BENCH), NULL,
     "also print where the time goes, operation by operation", 0, 0},
    {{"--measure"}, SWITCH, AT(measure), ON(DOCTOR), "on|off|auto",
     "measure this machine; auto measures what no earlier run has (default auto)", 0, 0},
    GROUP("Computing"),
    {{"-c", "--ctx-size"}, INT, AT(context), SELDOM(ON(COMPARE)), "N",
     "context size in tokens (default: what the prompts need)", 0, INT_MAX},
    {{"-c", "--ctx-size"}, INT, AT(context), DRAWS | ON(SHOW), "N",
     "context size in tokens (default 0: 8192, or the model's maximum if that is less)", 0, INT_MAX},
    {{"-c", "--ctx-size"}, INT, AT(context), ON(PERPLEXITY), "N",
     "ids in a window (default 512); with --messages the context size in tokens (default: what is "
     "needed)", 4, INT_MAX},
    {{"-c", "--ctx-size"}, INT, AT(context), ON(EVAL), "N",
     "context size in tokens (default: what is needed)", 1, INT_MAX},
    {{"-t", "--threads"}, INTS, AT(thread_list), ON(BENCH), "N[,N...]",
     "number of threads (default 0: the CPUs this process may use)", 0, 256},
    {{"-t", "--threads"}, INT, AT(threads),
     DRAWS | SCORES | ON(LOGITS) | ON(SHOW) | ON(VERIFY) | ON(COMPARE), "N",
     "number of threads (default 0: the CPUs this process may use)", 0, 256},
    {{"--chunk", "-ub", "--ubatch-size"}, INTS, AT(chunk_list), ON(BENCH), "N[,N...]",
     "the most prompt tokens in one pass (default 0: the library chooses); several are timed in turn",
     0, 1 << 20},
    {{"--chunk", "-ub", "--ubatch-size"}, INT, AT(chunk),
     SELDOM(DRAWS | SCORES | ON(LOGITS) | ON(SHOW) | ON(COMPARE)), "N",
     "the most prompt tokens in one pass (default 0: the library chooses)", 0, 1 << 20},
    {{"--max-layers"}, INT, AT(max_layers),
     SELDOM(GENERATES | SCORES | ON(COMPARE)) | ON(LOGITS) | ON(DECODE) | ON(BENCH), "N",
     "run the first N layers only, then the last norm and the head", 1, 256},
    {{"--lm-head"}, CHOICE, AT(lm_head), HEADS | SELDOM(ON(COMPARE)),
     "dense|preload|lazy|shortlist|exact-pruned|auto",
     "how logits are computed: dense all at once; preload and lazy tile by tile; shortlist those of few "
     "tiles (approximate); exact-pruned those of ids that can be among the best (the same ids and "
     "logits); auto the faster of dense and exact-pruned (default dense)", 0, 0},
    {{"--lm-tile"}, INT, AT(lm_tile), HEADS, "N",
     "rows of a tile, a multiple of 64 (default 2624, or all of a smaller vocabulary)", 64, 1 << 24},
    {{"--lm-quant"}, CHOICE, AT(lm_quant), HEADS, "native|group|channel|tensor",
     "weights of tiles: native, the model's own; or int8 with a scale for 32 values, a row or all, which "
     "makes it another model (default native)", 0, 0},
    {{"--lm-cache-capacity"}, AMOUNT, AT(lm_capacity), HEADS, "N",
     "the most tiles that lazy and shortlist keep in memory, or with K, M or G their bytes (default all)",
     1, 1 << 24},
    {{"--lm-shortlist-tiles"}, INT, AT(lm_shortlist), HEADS, "N",
     "the most tiles computed for a token; 0 is all (default 0, with shortlist 16)", 0, 1 << 24},
    {{"--audit"}, INT, AT(audit), HEADS, "M",
     "compute all logits at every M-th token, and compare (default: never)", 1, INT_MAX},
    {{"--min-recall"}, REAL, AT(min_recall), HEADS, "X",
     "give up a shortlist when an audit finds a smaller share of the best ids (default 0.98)", 1e-6, 1},
    {{"--weight-quant"}, CHOICE, AT(weight_quant), SELDOM(DRAWS | ON(BENCH)), "per-channel|per-tensor",
     "another name for --lm-quant channel and tensor", 0, 0},
    {{"--tap"}, TEXT, AT(tap), ON(LOGITS), "NAME",
     "write these values to --out instead, a row for each id: embed, layer.N, layer.N.attn, .q, .k, .v, "
     "final_norm", 0, 0},
    {{"--naive"}, FLAG, AT(naive), SELDOM(GENERATES) | ON(LOGITS), NULL,
     "recompute everything at every position, to check the cache", 0, 0},
    {{"--exact"}, FLAG, AT(exact), SELDOM(GENERATES | ON(SHOW) | ON(COMPARE)) | EVALUATES, NULL,
     "compute in float32, for comparisons", 0, 0},
    {{"--kv"}, CHOICE, AT(kv), SELDOM(EVALUATES | ON(SHOW) | ON(COMPARE)), kv_words,
     "type of the KV cache (default bf16, with --exact f32)", 0, 0},
    {{"-ctk", "--cache-type-k"}, CHOICE, AT(cache_k), SELDOM(EVALUATES | ON(SHOW)), cache_words,
     "with -ctv of the same type: another spelling of --kv", 0, 0},
    {{"-ctv", "--cache-type-v"}, CHOICE, AT(cache_v), SELDOM(EVALUATES | ON(SHOW)), cache_words,
     "with -ctk of the same type: another spelling of --kv", 0, 0},
    {{"--prompt-cache"}, TEXT, AT(prompt_cache), SELDOM(GENERATES), "FILE",
     "continue from the evaluated prompt in FILE, and write this one there", 0, 0},
    {{"--prompt-cache-all"}, FLAG, AT(prompt_cache_all), SELDOM(GENERATES), NULL,
     "write the answer there, too", 0, 0},
    {{"--prompt-cache-ro"}, FLAG, AT(prompt_cache_ro), SELDOM(GENERATES), NULL,
     "only read that FILE", 0, 0},
    {{"--memory"}, SIZE, AT(memory), EVALUATES, "SIZE",
     "choose the largest context, and if needed a smaller KV type, that fit into SIZE with the weights, "
     "as in 2G", 1, 0x1p60},
    {{"--snapshots"}, SIZE, AT(snapshots), ON(SHOW), "SIZE",
     "memory for snapshots, with which a session goes back without evaluating again", 0, 0x1p60},
    {{"--memory"}, MAYBE_SIZE, AT(memory), ON(SHOW), "SIZE",
     "print the memory of this context size and of others; with SIZE, what run --memory SIZE would "
     "choose", 0, 0x1p60},
    {{"-tb", "--threads-batch"}, INT, AT(threads_batch), SELDOM(GENERATES), "N",
     "number of threads for prompts (default 0: as -t)", 0, 256},
    {{"--no-profile"}, FLAG, AT(no_profile), SELDOM(GENERATES), NULL,
     "ignore a file carat.json beside the weights, which has settings for prompts and for generation",
     0, 0},
    {{"--isa"}, CHOICE, AT(isa), SELDOM(EVALUATES | ON(SHOW) | ON(VERIFY) | ON(COMPARE)), isa_words,
     "use kernels of at most this level; the last three are for Arm", 0, 0},
    GROUP("Messages"),
    {{"--explain-plan"}, FLAG, AT(explain_plan), SELDOM(GENERATES), NULL,
     "before the first token, print which kernels are used and why", 0, 0},
    {{"--stats"}, FLAG, AT(stats), SELDOM(GENERATES), NULL,
     "after the last token, print the passes and how long they took", 0, 0},
    {{"-v", "--verbose"}, FLAG, AT(verbose), GENERATES, NULL,
     "print the speed, how the model was run, and why it stopped", 0, 0},
    {{"--log-jsonl"}, WRITES, AT(log_jsonl), SELDOM(GENERATES), "FILE",
     "append a line of JSON for each load, prompt and generation: numbers only, no text", 0, 0},
    {{"--no-perf"}, FLAG, AT(no_perf), SELDOM(ON(RUN)), NULL, "do not print speed", 0, 0},
    {{"--color", "-co"}, SWITCH, AT(color), SELDOM(ANY), "on|off|auto|always|never",
     "use colours in messages (default auto: on a terminal)", 0, 0},
    {{"--man"}, FLAG, AT(man), ON(HELP), NULL, "print a man page, for man -l", 0, 0},
    {{"-h", "--help", "--usage"}, FLAG, AT(help), ANY, NULL, "print the most used options", 0, 0},
    {{"--help-all"}, FLAG, AT(help_all), ANY, NULL, "print every option", 0, 0},
};
/* clang-format on */
const int option_count = sizeof option_table / sizeof option_table[0];

static void add_word(char *words, size_t capacity, const char *word)
{
    size_t n = strlen(words);
    snprintf(words + n, capacity - n, "%s%s", n ? "|" : "", word);
}

void options_words(void)
{
    for (int i = 0; carat_isa_name(i); i++)
        add_word(isa_words, sizeof isa_words, carat_isa_name(i));
    for (int kv = 1; carat_kv_name((carat_kv)kv); kv++)
        add_word(kv_words, sizeof kv_words, carat_kv_name((carat_kv)kv));
    snprintf(cache_words, sizeof cache_words, "%s|q8_0", kv_words); /* llama.cpp's name for the last */
}

const struct exit_text exit_texts[] = {
    {DONE, ANY, "success"},
    {FAILED, ANY, "a failure while running, reading or writing"},
    {USAGE, ANY, "wrong usage"},
    {NOT_FOUND, OPENS | ON(DOCTOR), "model, or its tokenizer, not found or not readable"},
    {BAD_MODEL, OPENS | ON(DOCTOR), "unsupported or corrupt model"},
    {NO_MEMORY, ANY, "out of memory"},
    {CHECK_FAILED, ON(VERIFY) | ON(BENCH) | ON(DECODE) | ON(COMPARE) | ON(EVAL), "a check failed"},
    {INTERRUPTED, ANY, "interrupted"},
    {PIPE_CLOSED, ANY, "the reader of the output has gone"},
    {143, ANY, "terminated"},
    {0, 0, NULL},
};

const struct named_text variable_texts[] = {
    {"CARAT_ARG_<OPTION>", ANY,
     "the value of an option that is not on the command line, as in CARAT_ARG_THREADS=4 or "
     "CARAT_ARG_TOP_P=0.9; for every option that takes a number or one of several words, and for every flag "
     "(1 or 0)"},
    {"LLAMA_ARG_<OPTION>", ANY, "the same, when CARAT_ARG_<OPTION> is not set"},
    {"XDG_CACHE_HOME", CACHES,
     "the folder that holds the cache; a path that does not begin with / is ignored (default ~/.cache)"},
    {"XDG_STATE_HOME", GENERATES,
     "the folder that holds the lines typed in conversations (default ~/.local/state)"},
    {"HOME", CACHES, "your home folder, ~"},
    {"TMPDIR", ON(BENCH), "where bench timeline writes a file, which it removes (default /tmp)"},
    {"NO_COLOR", ANY, "no colours, except with --color on"},
    {"CLICOLOR_FORCE", ANY, "use colours also without a terminal"},
    {"TERM", ANY, "dumb: no colours"},
    {"COLUMNS", ANY, "the width of help, instead of the terminal's"},
    {NULL, 0, NULL},
};

const struct named_text file_texts[] = {
    {"$XDG_CACHE_HOME/carat", CACHES,
     "the cache of packed models; ~/.cache/carat when that variable is not set. Everything in it can be "
     "removed at any time; 'carat cache clear' does so."},
    {"$XDG_STATE_HOME/carat/history", GENERATES,
     "the lines typed in conversations; ~/.local/state/carat/history when that variable is not set. It can "
     "be removed at any time."},
    {"$XDG_CACHE_HOME/carat/machine.json", ON(DOCTOR),
     "the measured limits of this machine's memory and arithmetic"},
    {"$XDG_CACHE_HOME/carat/costs.json", GENERATES | ON(DOCTOR),
     "the measured cost of passes of models in the cache, on this machine"},
    {"MODEL/carat.json", GENERATES,
     "settings beside the weights, read unless --no-profile is given: {\"prefill\": {...}, \"decode\": "
     "{...}}, each with chunk, threads and isa. What decode lacks it takes from prefill. Options go first. "
     "No setting changes the text."},
    {"MODEL/config.json", OPENS,
     "the configuration of a model in a directory. Beside it are read: model.safetensors, or "
     "model.safetensors.index.json and the files that it names; tokenizer.json or tokenizer.model; "
     "tokenizer_config.json, chat_template.jinja, chat_template.json, generation_config.json, "
     "special_tokens_map.json and added_tokens.json."},
    {NULL, 0, NULL},
};

const char command_examples[] = "carat run tiny \"Turn on the kitchen lights\"\n"
                                "carat run MODEL \"Why is the sky blue?\"\n"
                                "carat show MODEL --memory\n"
                                "carat help run\n";
const char model_text[] = "MODEL is a Hugging Face directory, a GGUF file or a gemma.cpp file. The name tiny "
                          "is the small model inside this command (./tiny is a path). For any file that is "
                          "read, MODEL included, - is standard input.\n";
const char llama_text[] =
    "Options of llama.cpp are understood. Those that cannot change the text (threads of a batch, layers on a "
    "GPU, locking of memory) are accepted with a note. Those that would change it, and that carat does not "
    "have, are refused by name. A command line without a verb is understood, too: --weights F --prompt TEXT "
    "is run, --encode is tokenize, --decode detokenize, --print-config show and --bench bench.\n";
