/* SPDX-License-Identifier: Apache-2.0 */
/* option_table.c: every option, exit code and variable of the command, as data; verbs are verb_table.c's. Who
 * reads it is in options.h. */
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "carat_generate.h"
#include "carat_quality.h"
#include "cli.h"

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

/* An entry in two or three lines is a table, one value a line is not. */
/* clang-format off */
const struct option option_table[] = {
    GROUP("Model"),
    {{"-m", "--model", "--weights"}, MODEL, AT(model), OPENS, "MODEL",
     "the model, instead of the first argument", 0, 0},
    {{"--tokenizer"}, PATH, AT(tokenizer), SELDOM(OPENS), "FILE",
     "a tokenizer file, instead of the model's own", 0, 0},
    {{"--no-cache"}, FLAG, AT(no_cache), SELDOM(OPENS), NULL,
     "neither read nor write the cache of packed models", 0, 0},
    {{"--cache-size"}, SIZE, AT(cache_size), SELDOM(EVALUATES | ON(COMPARE)) | ON(PACK) | ON(CACHE) | ON(DOCTOR), "SIZE",
     "what all packed models together may take (default 4G)", 1, 1e18},
    GROUP("Input"),
    {{"-p", "--prompt"}, TEXT, AT(prompt), GENERATES | ON(LOGITS) | ON(TOKENIZE) | ON(COMPARE), "TEXT", "the prompt, the first message, or the text", 0, 0},
    {{"-f", "--file"}, READS, AT(file), ON(RUN) | ON(LOGITS) | ON(TOKENIZE) | ON(COMPARE) | ON(PERPLEXITY), "FILE", "read it from FILE", 0, 0},
    {{"-sys", "--system-prompt"}, TEXT, AT(system), GENERATES | SELDOM(ON(LOGITS) | ON(COMPARE)), "TEXT",
     "a system message before the prompt", 0, 0},
    {{"-sysf", "--system-prompt-file"}, READS, AT(system_file), SELDOM(GENERATES | ON(LOGITS) | ON(COMPARE)), "FILE",
     "read the system message from FILE", 0, 0},
    {{"--ids"}, TEXT, AT(ids), SELDOM(ON(RUN)) | ON(LOGITS) | ON(DECODE) | ON(BENCH) | ON(COMPARE), "IDS",
     "token ids instead of text, as in 2,5,9; @FILE reads them from FILE", 0, 0},
    {{"--raw", "-no-cnv", "--no-conversation"}, FLAG, AT(raw), ON(RUN) | ON(LOGITS) | ON(COMPARE), NULL, "no chat template", 0, 0},
    {{"--messages"}, READS, AT(messages), ON(RUN) | ON(LOGITS) | ON(RENDER) | ON(COMPARE), "FILE",
     "the conversation, a JSON array in OpenAI's form", 0, 0},
    {{"--messages"}, READS, AT(messages), ON(PERPLEXITY), "FILE",
     "score the model's turns of conversations: in each line a JSON array of messages, or an object with messages and "
     "perhaps tools",
     0, 0},
    {{"--tools"}, READS, AT(tools), GENERATES | SELDOM(ON(LOGITS) | ON(COMPARE)) | ON(RENDER), "FILE",
     "function tools, a JSON array in OpenAI's form", 0, 0},
    {{"--tool-command"}, TEXT, AT(tool_command), SELDOM(GENERATES), "PROGRAM",
     "a program and its arguments, separated by spaces: it gets each call as JSON on standard input, and prints the "
     "result",
     0, 0},
    {{"--tool-rounds"}, INT, AT(tool_rounds), SELDOM(GENERATES), "N",
     "answers with calls that --tool-command goes on after (default 8)", 1, 1000},
    {{"--chat-template"}, CHOICE, AT(chat_template), SELDOM(GENERATES | SCORES | ON(LOGITS) | ON(COMPARE)) | ON(RENDER),
     "gemma|gemma3|functiongemma",
     "instead of the model's own", 0, 0},
    {{"-cnv", "--conversation"}, FLAG, AT(talks), SELDOM(GENERATES), NULL,
     "a conversation, also where standard input is no terminal", 0, 0},
    {{"-st", "--single-turn"}, FLAG, AT(single_turn), SELDOM(GENERATES), NULL, "one message and its answer", 0, 0},
    {{"--no-generation-prompt"}, FLAG, AT(no_generation_prompt), ON(RENDER), NULL,
     "do not open the model's turn", 0, 0},
    {{"--no-bos"}, FLAG, AT(no_bos), ON(TOKENIZE), NULL, "do not begin with <bos>", 0, 0},
    {{"--special"}, FLAG, AT(special), ON(TOKENIZE) | ON(RENDER), NULL,
     "recognise control tokens in the text", 0, 0},
    {{"--special"}, FLAG, AT(special), ON(DETOKENIZE), NULL, "print control tokens", 0, 0},
    {{"--lossy"}, FLAG, AT(lossy), SELDOM(GENERATES | ON(LOGITS) | ON(COMPARE) | ON(PERPLEXITY)) | ON(TOKENIZE), NULL,
     "replace what is not UTF-8 by U+FFFD instead of refusing it", 0, 0},
    {{"--jsonl"}, READS, AT(jsonl), ON(TOKENIZE), "FILE",
     "one {\"text\": ...} in, one {\"ids\": ...} out per line", 0, 0},
    {{"--jsonl"}, READS, AT(jsonl), ON(DETOKENIZE), "FILE",
     "one {\"ids\": ...} in, one {\"text\": ...} out per line", 0, 0},
    GROUP("Generation"),
    {{"-n", "--predict", "--n-predict", "--max-tokens"}, INT, AT(predict), GENERATES, "N",
     "most tokens to generate (default -1: to the end of the context)", -1, INT_MAX},
    {{"--temp", "--temperature"}, REAL_OR_0, AT(temp), DRAWS, "X",
     "temperature; 0 takes the highest logit (default: the model's)", CARAT_TEMPERATURE_MIN, CARAT_TEMPERATURE_MAX},
    {{"--top-k"}, INT, AT(top_k), DRAWS, "N",
     "draw from the N most likely; 0 is all (default: the model's)", 0, INT_MAX},
    {{"--top-p"}, REAL, AT(top_p), DRAWS, "X",
     "draw from the most likely that sum up to X (default: the model's)", CARAT_TOP_P_MIN, 1},
    {{"--min-p"}, REAL, AT(min_p), SELDOM(DRAWS), "X",
     "drop what is less likely than X times the first (default: the model's)", 0, 1},
    {{"--samplers"}, TEXT, AT(samplers), SELDOM(DRAWS), "NAMES",
     "samplers in this order, as in 'top_k;temperature' (default: penalties, dry, top_k, temperature, typ_p, "
     "top_p, min_p, xtc, of which those act that have a value)", 0, 0},
    {{"--sampling-seq", "--sampler-seq"}, TEXT, AT(sampling_seq), SELDOM(DRAWS), "LETTERS",
     "the same by llama.cpp's letters, as in edktypmx", 0, 0},
    {{"-l", "--logit-bias"}, TEXTS, AT(logit_bias), SELDOM(DRAWS), "ID+X",
     "add X to the logit of an id before all samplers; ID-X, and ID-inf never draws it; several between commas, or again",
     0, MOST_TEXTS},
    {{"--repeat-penalty"}, REAL, AT(repeat_penalty), SELDOM(DRAWS), "X",
     "divide logits of ids that were there by X, or multiply those below 0 (default 1: off)", 0.001, 1000},
    {{"--frequency-penalty"}, REAL, AT(frequency_penalty), SELDOM(DRAWS), "X",
     "subtract X from the logit of an id for each time it was there (default 0)", -1000, 1000},
    {{"--presence-penalty"}, REAL, AT(presence_penalty), SELDOM(DRAWS), "X",
     "subtract X from the logits of ids that were there (default 0)", -1000, 1000},
    {{"--repeat-last-n"}, INT, AT(repeat_last_n), SELDOM(DRAWS), "N",
     "tokens that these three look back at; -1 is all, 0 none (default 64)", -1, INT_MAX},
    {{"--dry-multiplier"}, REAL, AT(dry_multiplier), SELDOM(DRAWS), "X",
     "subtract X * BASE^n from the logit of an id that would make a repetition n tokens longer than is allowed (default "
     "0: off)", 0, 1000},
    {{"--dry-base"}, REAL, AT(dry_base), SELDOM(DRAWS), "X", "that BASE (default 1.75)", 1, 1000},
    {{"--dry-allowed-length"}, INT, AT(dry_allowed_length), SELDOM(DRAWS), "N",
     "the longest repetition that is allowed (default 2)", 0, INT_MAX},
    {{"--dry-penalty-last-n"}, INT, AT(dry_penalty_last_n), SELDOM(DRAWS), "N",
     "tokens among which repetitions are looked for; -1 is all, 0 none (default -1)", -1, INT_MAX},
    {{"--dry-sequence-breaker"}, TEXTS, AT(dry_breaker), SELDOM(DRAWS), "TEXT",
     "a token that no repetition goes across, may be given again; none is none (default: newline, colon, quote and star)",
     0, CARAT_MOST_BREAKERS},
    {{"--typical", "--typical-p", "--typ"}, REAL, AT(typical), SELDOM(DRAWS), "X",
     "draw from those whose surprise is nearest to the mean, that sum up to X (default 1: off)", CARAT_TOP_P_MIN, 1},
    {{"--xtc-probability"}, REAL, AT(xtc_probability), SELDOM(DRAWS), "X",
     "with this chance drop all but the last of those above the threshold (default 0: off)", 0, 1},
    {{"--xtc-threshold"}, REAL, AT(xtc_threshold), SELDOM(DRAWS), "X", "that probability (default 0.1)", 0, 1},
    {{"-s", "--seed"}, INT64, AT(seed), GENERATES, "N", "seed of the draws; -1 is random (default -1)", 0, 0},
    {{"-s", "--seed"}, INT64, AT(seed), ON(DECODE), "N", "seed of the draws (default 0); without it or another option "
     "of sampling the highest logit is taken",
     0, 0},
    {{"--ignore-eos"}, FLAG, AT(ignore_eos), SELDOM(GENERATES), NULL,
     "never generate the ids that end generation", 0, 0},
    {{"--context-shift"}, FLAG, AT(context_shift), SELDOM(ON(RUN)), NULL,
     "where the context is full, drop the first half of it and go on", 0, 0},
    {{"--keep"}, INT, AT(keep), SELDOM(ON(RUN)), "N",
     "with --context-shift: first tokens of the prompt, besides <bos>, that stay; -1 is all (default 0)", -1, INT_MAX},
    {{"--stop-ids"}, TEXT, AT(stop_ids), SELDOM(GENERATES), "IDS",
     "ids that end generation, instead of the model's own; \"\" is none", 0, 0},
    {{"--stop", "-r", "--reverse-prompt"}, TEXTS, AT(stop), GENERATES, "TEXT",
     "end the answer before TEXT, which is not printed; up to 16 times", 0, CARAT_MOST_STOPS},
    {{"--ban"}, TEXT, AT(ban), SELDOM(GENERATES), "IDS",
     "ids that are never generated, as in 2,5,9; @FILE reads them from FILE", 0, 0},
    {{"--loop-guard"}, OFF_OR_INT, AT(loop_guard), SELDOM(GENERATES), "off|N",
     "end an answer whose last N tokens only go round, the model being sure of them (default 96)", 1, CARAT_MOST_LOOP},
    {{"--lookup"}, CHOICE, AT(lookup), GENERATES | SELDOM(ON(BENCH)), "on|off|auto",
     "draft from the text itself, which comes out sooner and never otherwise; auto where it pays (default auto)",
     0, 0},
    {{"--draft-max", "--draft", "--draft-n", "--spec-draft-n-max"}, INT, AT(draft_max), SELDOM(GENERATES | ON(BENCH)), "N",
     "most ids of a draft; 0 is none (default 7, the most that a pass verifies)", 0, INT_MAX},
    {{"--draft-min", "--draft-n-min", "--spec-draft-n-min"}, INT, AT(draft_min), SELDOM(GENERATES | ON(BENCH)), "N",
     "drafts of fewer ids are not tried (default 1)", 0, INT_MAX},
    {{"--spec-type"}, CHOICE, AT(spec_type), SELDOM(GENERATES),
     "none|ngram-simple|ngram-map-k|ngram-map-k4v|ngram-mod|ngram-cache",
     "llama.cpp's name: none is --lookup off, the others are --lookup on", 0, 0},
    {{"-n", "--max-tokens", "--max-new-tokens"}, INT, AT(predict), ON(COMPARE), "N",
     "positions of each prompt (default 64; with --driver text all)", 1, INT_MAX},
    {{"--ignore-eos"}, FLAG, AT(ignore_eos), ON(COMPARE), NULL,
     "go on behind the id that ends an answer; what comes there is measured apart", 0, 0},
    GROUP("What is compared"),
    {{"--ref"}, TEXT, AT(ref_mode), ON(COMPARE), "WORDS",
     "the mode of REF: exact, kv=TYPE, isa=LEVEL, chunk=N, threads=N, layers=N, head=STRATEGY, between commas", 0, 0},
    {{"--test"}, TEXT, AT(test_mode), ON(COMPARE), "WORDS", "the mode of TEST, likewise", 0, 0},
    {{"--hf-reference"}, MODEL, AT(hf_reference), SELDOM(ON(COMPARE)), "MODEL",
     "the same as REF, with TEST as the only argument", 0, 0},
    {{"--driver"}, CHOICE, AT(driver), ON(COMPARE), "ref|test|free|text|hf|coreml",
     "who says what comes next: the highest logit of REF or of TEST (hf and coreml are other names of these), each its "
     "own until they part, or the ids that are given (default ref)",
     0, 0},
    {{"--at"}, INTS, AT(at), ON(COMPARE), "N[,N...]", "a line for each of these lengths, from one run", 1, INT_MAX},
    {{"--ref-logits"}, PATH, AT(ref_logits), ON(COMPARE), "FILE.npy",
     "recorded logits as the reference, a row for each id of --ids: float32, as carat logits --all and numpy.save "
     "write them",
     0, 0},
    {{"--dataset"}, PATH, AT(dataset), ON(COMPARE), "FILE.jsonl",
     "the prompts of a file, one a line: \"ids\", \"messages\", \"prompt\" or \"text\"; \"answer\" or \"answer_ids\" for "
     "--driver text",
     0, 0},
    {{"--out", "--out-dir"}, TEXT, AT(out_dir), ON(COMPARE), "DIR",
     "where results, summary and report go; the same command goes on where it was stopped", 0, 0},
    {{"--restart"}, FLAG, AT(restart), SELDOM(ON(COMPARE)), NULL, "begin DIR anew", 0, 0},
    {{"--parallel"}, INT, AT(parallel), SELDOM(ON(COMPARE)), "N", "prompts that advance in a pass (default 4)", 1, 256},
    {{"--limits"}, TEXT, AT(limits), ON(COMPARE), "LIMITS",
     "of healthy and concerning (default kl=0.01:0.1, correlation=0.99:0.95, match=98:90, entropy=0.5:0.1)", 0, 0},
    {{"--top"}, INT, AT(top), SELDOM(ON(COMPARE)), "K", "compare the K highest ids of both (default 10)", 1, 1024},
    {{"--near-tie"}, REAL, AT(near_tie), SELDOM(ON(COMPARE)), "X",
     "a position is a near-tie when the reference's two highest logits are nearer than X (default 0.05)", 0, 1e6},
    {{"--bisect"}, FLAG, AT(bisect), ON(COMPARE), NULL,
     "say where the two begin to differ: the first operation that is wrong on the reference's own inputs", 0, 0},
    {{"--rows"}, INT, AT(bisect_rows), SELDOM(ON(COMPARE)), "N",
     "tokens whose values --bisect compares, spread over all (default 16)", 1, CARAT_MOST_BISECT_ROWS},
    GROUP("Output"),
    {{"--all"}, FLAG, AT(all), ON(LOGITS), NULL, "logits after every id, not only the last", 0, 0},
    {{"-o", "--out"}, WRITES, AT(out), ON(LOGITS), "FILE",
     "write float32 NPY, [vocab] or with --all [n][vocab] (- is standard output)", 0, 0},
    {{"-o", "--out"}, WRITES, AT(out), ON(PACK), "FILE", "write the packed form there, not into the cache", 0, 0},
    {{"--top"}, INT, AT(top), ON(LOGITS), "K", "print the K highest logits", 1, 1000},
    {{"--top"}, INT, AT(top), ON(DECODE), "K", "print the K highest logits of each step (default 1)", 1, 1000},
    {{"--ids"}, FLAG, AT(as_ids), ON(RENDER), NULL, "print token ids instead of text", 0, 0},
    {{"--raw-calls"}, FLAG, AT(raw_calls), SELDOM(ON(RUN)), NULL, "calls of functions as the model wrote them", 0, 0},
    {{"--logprobs"}, INT, AT(logprobs), SELDOM(DRAWS), "N",
     "how likely each token was, and the N most likely ones: with --json in OpenAI's form, else behind the answer",
     0, CARAT_MOST_LOGPROBS},
    {{"--pieces"}, FLAG, AT(pieces), ON(TOKENIZE), NULL, "each id with its piece of the vocabulary", 0, 0},
    {{"--tensors"}, FLAG, AT(tensors), ON(SHOW), NULL, "list every tensor", 0, 0},
    {{"--json"}, FLAG, AT(json), ANY & ~(ON(CHAT) | ON(RENDER) | ON(PACK) | ON(COMPLETION) | ON(HELP)), NULL, "print JSON", 0, 0},
    {{"--jsonl"}, FLAG, AT(lines), ON(DECODE) | SCORES, NULL, "print JSON line by line, as it comes", 0, 0},
    GROUP("What is measured"),
    {{"--stride"}, INT, AT(stride), ON(PERPLEXITY), "N",
     "score every id once: N of them in each window, behind those before them", 1, INT_MAX},
    {{"--chat"}, FLAG, AT(in_chat), ON(EVAL), NULL, "put the question into the user's turn of the chat template", 0, 0},
    {{"--min"}, REAL, AT(least), ON(EVAL), "X", "code 7 when the accuracy by letter is below X, as in 0.6", 0, 1},
    {{"--steps"}, INT, AT(steps), ON(DECODE), "N", "ids of a round (default 16)", 1, 1 << 20},
    {{"--steps"}, INT, AT(steps), ON(BENCH), "N", "with lm-head: ids behind --ids (default 32)", 2, 1 << 20},
    {{"--spectrum"}, CHOICE, AT(spectrum), ON(BENCH), "flat|falling",
     "with lm-head: a random model of MODEL's shape and types, whose head's energy is spread evenly, or falls along "
     "common directions, as a trained one's does",
     0, 0},
    {{"--rounds"}, INT, AT(rounds), ON(DECODE), "N", "times that it is done (default 1)", 1, 1000},
    {{"--prefill-logits"}, FLAG, AT(prefill_logits), ON(DECODE) | ON(BENCH), NULL,
     "compute the logits of the prompt, too, which nobody reads", 0, 0},
    {{"-p", "--n-prompt"}, TEXT, AT(n_prompt), ON(BENCH), "N[,N...]",
     "tokens of the prompt tests; 0 is none (default 512)", 0, 0},
    {{"-n", "--n-gen"}, TEXT, AT(n_gen), ON(BENCH), "N[,N...]",
     "tokens of the generation tests; 0 is none (default 64)", 0, 0},
    {{"-pg"}, TEXT, AT(n_pair), ON(BENCH), "N,N[,N,N...]",
     "pairs of a prompt and a generation that are timed as one", 0, 0},
    {{"-d", "--n-depth"}, TEXT, AT(n_depth), ON(BENCH), "N[,N...]",
     "tokens in the context before each test (default 0)", 0, 0},
    {{"-npl", "--n-parallel"}, TEXT, AT(n_parallel), SELDOM(ON(BENCH)), "N[,N...]",
     "sequences that the generation tests advance in one pass (default 1)", 0, 0},
    {{"-r", "--repetitions"}, INT, AT(repetitions), ON(BENCH), "N", "runs of each test (default 5)", 1, 1000},
    {{"-fa", "--flash-attn"}, TEXT, AT(flash), SELDOM(ON(BENCH)), "0|1[,...]",
     "as llama-bench has it: a row for each; there is one kernel, which is always used", 0, 0},
    {{"--prompt"}, TEXT, AT(prompt), ON(BENCH), "TEXT",
     "instead of these tests, time whole generations after TEXT, the prompt's own time included", 0, 0},
    {{"--draft-right"}, REAL, AT(draft_right), ON(BENCH), "A",
     "instead of these tests, time generations whose drafts are right with probability A, and plain ones", 0, 1},
    {{"--max-tokens"}, INT, AT(predict), ON(BENCH), "N",
     "with --prompt: most tokens of a generation (default 64)", 1, INT_MAX},
    {{"--bench-iters"}, INT, AT(iterations), ON(BENCH), "N", "with --prompt: generations (default 3)", 1, 1000},
    {{"--bench-warmup"}, INT, AT(warmup), ON(BENCH), "N",
     "with --prompt: generations before these, untimed (default 1)", 0, 1000},
    {{"--bench-json"}, WRITES, AT(bench_json), ON(BENCH), "FILE",
     "with --prompt: write mean, median and p90 as one JSON object", 0, 0},
    {{"-o", "--output"}, CHOICE, AT(output), ON(BENCH), "md|csv|json|jsonl",
     "how the result is printed (default md); --json is -o json", 0, 0},
    {{"--compare"}, READS, AT(compare), ON(BENCH), "FILE",
     "judge each test against FILE, an older result of -o json; code 7 when one is slower beyond the noise",
     0, 0},
    {{"--plot"}, WRITES, AT(plot), ON(BENCH), "FILE",
     "draw speed over depth, beside what the machine allows, as SVG", 0, 0},
    {{"--profile"}, FLAG, AT(profile), ON(BENCH), NULL,
     "also print where the time goes, operation by operation", 0, 0},
    {{"--measure"}, SWITCH, AT(measure), ON(DOCTOR), "on|off|auto",
     "measure this machine; auto measures what is not remembered (default auto)", 0, 0},
    GROUP("Computing"),
    {{"-c", "--ctx-size"}, INT, AT(context), SELDOM(ON(COMPARE)), "N",
     "positions of the context (default: what the prompts need)", 0, INT_MAX},
    {{"-c", "--ctx-size"}, INT, AT(context), DRAWS | ON(SHOW), "N",
     "positions of the context; 0 is the default: 8192 or the model's maximum, if less", 0, INT_MAX},
    {{"-c", "--ctx-size"}, INT, AT(context), ON(PERPLEXITY), "N",
     "ids of a window (default 512), or with --messages positions of the context (default: as many as are needed)", 4,
     INT_MAX},
    {{"-c", "--ctx-size"}, INT, AT(context), ON(EVAL), "N",
     "positions of the context (default: as many as are needed)", 1, INT_MAX},
    {{"-t", "--threads"}, INTS, AT(thread_list), ON(BENCH), "N[,N...]",
     "threads (default 0: the CPUs this process may use)", 0, 256},
    {{"-t", "--threads"}, INT, AT(threads), DRAWS | SCORES | ON(LOGITS) | ON(SHOW) | ON(VERIFY) | ON(COMPARE), "N",
     "threads (default 0: the CPUs this process may use)", 0, 256},
    {{"--chunk", "-ub", "--ubatch-size"}, INTS, AT(chunk_list), ON(BENCH), "N[,N...]",
     "most prompt tokens in one pass (default 0: the library's choice); several are compared pass by pass", 0,
     1 << 20},
    {{"--chunk", "-ub", "--ubatch-size"}, INT, AT(chunk), SELDOM(DRAWS | SCORES | ON(LOGITS) | ON(SHOW) | ON(COMPARE)), "N",
     "most prompt tokens in one pass (default 0: the library's choice)", 0, 1 << 20},
    {{"--max-layers"}, INT, AT(max_layers), SELDOM(GENERATES | SCORES | ON(COMPARE)) | ON(LOGITS) | ON(DECODE) | ON(BENCH), "N",
     "run the first N layers only, then the last norm and the head", 1, 256},
    {{"--lm-head"}, CHOICE, AT(lm_head), HEADS | SELDOM(ON(COMPARE)), "dense|preload|lazy|shortlist|exact-pruned|auto",
     "which logits are computed: all; tile by tile; of few tiles (approximate); of those ids alone that can be among "
     "the best (the same ids and logits); auto is what is faster (default dense)",
     0, 0},
    {{"--lm-tile"}, INT, AT(lm_tile), HEADS, "N",
     "rows of a tile, a multiple of 64 (default 2624, or all of a smaller vocabulary)", 64, 1 << 24},
    {{"--lm-quant"}, CHOICE, AT(lm_quant), HEADS, "native|group|channel|tensor",
     "weights of tiles: the model's own, or int8 with a scale for 32 values, a row or all, which is another model "
     "(default native)",
     0, 0},
    {{"--lm-cache-capacity"}, AMOUNT, AT(lm_capacity), HEADS, "N",
     "tiles that lazy and shortlist keep, or with K, M or G their bytes (default all)", 1, 1 << 24},
    {{"--lm-shortlist-tiles"}, INT, AT(lm_shortlist), HEADS, "N",
     "most tiles of a token; 0 is all (default 0, of shortlist 16)", 0, 1 << 24},
    {{"--audit"}, INT, AT(audit), HEADS, "M",
     "compute all logits beside every M-th token, and compare (default: never)", 1, INT_MAX},
    {{"--min-recall"}, REAL, AT(min_recall), HEADS, "X",
     "in audits: where fewer of the best ids are found, a shortlist is given up (default 0.98)", 1e-6, 1},
    {{"--weight-quant"}, CHOICE, AT(weight_quant), SELDOM(DRAWS | ON(BENCH)), "per-channel|per-tensor",
     "other programs' name for --lm-quant channel and tensor", 0, 0},
    {{"--tap"}, TEXT, AT(tap), ON(LOGITS), "NAME",
     "write other values to --out, a row for each id: embed, layer.N, layer.N.attn, .q, .k, .v, final_norm", 0, 0},
    {{"--naive"}, FLAG, AT(naive), SELDOM(GENERATES) | ON(LOGITS), NULL,
     "recompute everything for every position: an oracle for the cache", 0, 0},
    {{"--exact"}, FLAG, AT(exact), SELDOM(GENERATES | ON(SHOW) | ON(COMPARE)) | EVALUATES, NULL,
     "float32 arithmetic, for comparisons", 0, 0},
    {{"--kv"}, CHOICE, AT(kv), SELDOM(EVALUATES | ON(SHOW) | ON(COMPARE)), kv_words,
     "type of the KV cache (default bf16, with --exact f32)", 0, 0},
    {{"-ctk", "--cache-type-k"}, CHOICE, AT(cache_k), SELDOM(EVALUATES | ON(SHOW)), cache_words,
     "with -ctv of the same type: another spelling of --kv", 0, 0},
    {{"-ctv", "--cache-type-v"}, CHOICE, AT(cache_v), SELDOM(EVALUATES | ON(SHOW)), cache_words,
     "with -ctk of the same type: another spelling of --kv", 0, 0},
    {{"--prompt-cache"}, TEXT, AT(prompt_cache), SELDOM(GENERATES), "FILE",
     "go on from what FILE keeps of an earlier prompt, and keep this one there", 0, 0},
    {{"--prompt-cache-all"}, FLAG, AT(prompt_cache_all), SELDOM(GENERATES), NULL,
     "keep the answer there, too", 0, 0},
    {{"--prompt-cache-ro"}, FLAG, AT(prompt_cache_ro), SELDOM(GENERATES), NULL,
     "only read it", 0, 0},
    {{"--memory"}, SIZE, AT(memory), EVALUATES, "SIZE",
     "the largest context, and the KV type if need be, that fit with the weights into SIZE, as in 2G", 1, 0x1p60},
    {{"--snapshots"}, SIZE, AT(snapshots), ON(SHOW), "SIZE",
     "memory for snapshots beside the cache, with which a session goes back without evaluating", 0, 0x1p60},
    {{"--memory"}, MAYBE_SIZE, AT(memory), ON(SHOW), "SIZE",
     "the memory of this context and of others, to the page; with SIZE, what --memory SIZE would choose", 0, 0x1p60},
    {{"-tb", "--threads-batch"}, INT, AT(threads_batch), SELDOM(GENERATES), "N",
     "threads for prompts, where they shall be others than for generation (default 0: those of -t)", 0, 256},
    {{"--no-profile"}, FLAG, AT(no_profile), SELDOM(GENERATES), NULL,
     "leave alone a file carat.json beside the weights, which has settings for prompts and for generation", 0, 0},
    {{"--isa"}, CHOICE, AT(isa), SELDOM(EVALUATES | ON(SHOW) | ON(VERIFY) | ON(COMPARE)), isa_words,
     "use kernels of at most this level; the last three are of Arm",
     0, 0},
    GROUP("Messages"),
    {{"--explain-plan"}, FLAG, AT(explain_plan), SELDOM(GENERATES), NULL,
     "say before the first token which kernel serves what, and why", 0, 0},
    {{"--stats"}, FLAG, AT(stats), SELDOM(GENERATES), NULL,
     "say after the last token what the passes were and how long they took", 0, 0},
    {{"-v", "--verbose"}, FLAG, AT(verbose), GENERATES, NULL,
     "say how fast and how the model was run and why it stopped", 0, 0},
    {{"--log-jsonl"}, WRITES, AT(log_jsonl), SELDOM(GENERATES), "FILE",
     "append a line of JSON for each load, prompt and generation: numbers, never text", 0, 0},
    {{"--no-perf"}, FLAG, AT(no_perf), SELDOM(ON(RUN)), NULL, "do not print speed", 0, 0},
    {{"--color", "-co"}, SWITCH, AT(color), SELDOM(ANY), "on|off|auto|always|never",
     "colours in messages (default auto: on a terminal)", 0, 0},
    {{"--man"}, FLAG, AT(man), ON(HELP), NULL, "print a man page, for man -l", 0, 0},
    {{"-h", "--help", "--usage"}, FLAG, AT(help), ANY, NULL, "print the options that are used most", 0, 0},
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
    {FAILED, ANY, "failure while running, reading or writing"},
    {USAGE, ANY, "usage"},
    {NOT_FOUND, OPENS | ON(DOCTOR), "model, or its tokenizer, not found or not readable"},
    {BAD_MODEL, OPENS | ON(DOCTOR), "unsupported or corrupt model"},
    {NO_MEMORY, ANY, "out of memory"},
    {CHECK_FAILED, ON(VERIFY) | ON(BENCH) | ON(DECODE) | ON(COMPARE) | ON(EVAL), "a check failed"},
    {INTERRUPTED, ANY, "interrupted"},
    {PIPE_CLOSED, ANY, "nobody reads the output"},
    {143, ANY, "terminated"},
    {0, 0, NULL},
};

const struct named_text variable_texts[] = {
    {"CARAT_ARG_<OPTION>", ANY,
     "the value of an option that is not given, as in CARAT_ARG_THREADS=4 or CARAT_ARG_TOP_P=0.9; every "
     "option "
     "that takes a number or one of several words, and every flag (1 or 0)"},
    {"LLAMA_ARG_<OPTION>", ANY, "the same, where CARAT_ARG_<OPTION> is not set"},
    {"XDG_CACHE_HOME", CACHES,
     "the folder that holds the cache; a path that does not begin with / is ignored (default ~/.cache)"},
    {"XDG_STATE_HOME", GENERATES,
     "the folder that holds the lines typed in conversations (default ~/.local/state)"},
    {"HOME", CACHES, "where ~ is"},
    {"TMPDIR", ON(BENCH), "where bench timeline makes its file, and removes it (default /tmp)"},
    {"NO_COLOR", ANY, "no colours, unless --color asks for them"},
    {"CLICOLOR_FORCE", ANY, "colours even where there is no terminal"},
    {"TERM", ANY, "dumb: no colours"},
    {"COLUMNS", ANY, "how wide help is, instead of the terminal's width"},
    {NULL, 0, NULL},
};

const struct named_text file_texts[] = {
    {"$XDG_CACHE_HOME/carat", CACHES,
     "the cache of packed models, ~/.cache/carat without that variable. Everything in it can be removed at "
     "any "
     "time; 'carat cache clear' does so."},
    {"$XDG_STATE_HOME/carat/history", GENERATES,
     "the lines typed in conversations, ~/.local/state/carat/history without that variable. It can be "
     "removed "
     "at any time."},
    {"$XDG_CACHE_HOME/carat/machine.json", ON(DOCTOR),
     "what memory and arithmetic of this machine can do at most"},
    {"$XDG_CACHE_HOME/carat/costs.json", GENERATES | ON(DOCTOR),
     "what passes of models in the cache cost on this machine, as measured"},
    {"MODEL/carat.json", GENERATES,
     "settings beside the weights, read unless --no-profile: {\"prefill\": {...}, \"decode\": {...}} with "
     "chunk, "
     "threads and isa in each; those of prefill hold for decode, too, where it has none. Options beat them; "
     "no "
     "setting changes the text."},
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
                          "is the small model inside this command "
                          "(./tiny is a path). Where a file is read, - is standard input, for MODEL too.\n";
const char llama_text[] = "Options of llama.cpp are understood. Those that cannot change the text (threads "
                          "of a batch, layers on a GPU, locking of memory) are accepted with a note; those "
                          "that would change it and that carat does not have are refused by name. A command "
                          "line without a verb is understood too: --weights F --prompt TEXT is run, "
                          "--encode tokenize, --decode detokenize, --print-config show "
                          "and --bench bench.\n";
