/* SPDX-License-Identifier: Apache-2.0 */
/* verify_golden.c: texts in several scripts, with the ids that the reference's tokenizers (the tokenizers
 * library over the published tokenizer.json) give for them. Who compares: verify_tokenizer.c. */
#include "check/verify.h"

const struct ct_vocabulary ct_vocabulary[CT_VOCABULARIES] = {
    {"the vocabulary of Gemma 3 and 4", 0xc7ea77f7d176ac9a},
    {"the vocabulary of Gemma 1 and 2", 0x73024af965b3d09a},
};

#define IDS(...)                                                                                             \
    (const int32_t[])                                                                                        \
    {                                                                                                        \
        __VA_ARGS__, -1                                                                                      \
    }

/* clang-format off */
const struct ct_golden ct_golden[] = {
    {"The quick brown fox jumps over the lazy dog.", 0,
     {IDS(818, 3823, 8864, 37423, 38167, 1024, 506, 31770, 4799, 236761),
      IDS(651, 4320, 8426, 25341, 36271, 1163, 573, 27894, 5929, 235265)}, NULL},
    {"don't", 0, {IDS(13246, 236789, 236745), IDS(7589, 235303, 235251)}, NULL},
    {"Die Straße führt über die große Brücke nach Köln.", 0,
     {IDS(13034, 80176, 74206, 8046, 1778, 51956, 2795, 65196, 8519, 115362, 236761),
      IDS(6721, 52721, 54190, 5149, 1303, 33195, 150872, 5104, 68812, 235265)}, NULL},
    {"Программа вычисляет логиты.", 0,
     {IDS(24026, 136765, 3760, 73102, 35479, 72263, 4147, 236761),
      IDS(218597, 3993, 122130, 42415, 102781, 4396, 235265)}, NULL},
    {"السَّلامُ عَلَيْكُمْ", 0,
     {IDS(89017, 40929, 7929, 237880, 119280, 141337, 171327),
      IDS(57151, 130207, 10267, 236982, 2546, 120684, 191153, 238010, 235464, 159038, 238010)}, NULL},
    {"क्षत्रिय ज्ञान श्रृंखला", 0,
     {IDS(177970, 1878, 32798, 70561),
      IDS(23145, 27392, 19900, 75399, 12260, 166484, 237537, 209725, 17285)}, NULL},
    {"我能吞下玻璃而不伤身体。", 0,
     {IDS(237169, 237230, 241915, 237245, 75677, 107531, 239499, 39388, 236924),
      IDS(167967, 239617, 235543, 49952, 87931, 237200, 27298, 235362)}, NULL},
    {"カタカナとひらがなと漢字ｶﾅ", 0,
     {IDS(131906, 123729, 237032, 239043, 155159, 237050, 237032, 201637, 244317, 246847),
      IDS(94265, 108862, 235410, 236477, 115031, 211179, 136015, 242646, 244364)}, NULL},
    {"나는 유리를 먹을 수 있어요.", 0,
     {IDS(80232, 17920, 56079, 56916, 237293, 7344, 78927, 236761),
      IDS(156539, 46355, 176947, 222449, 236392, 22618, 215995, 237526, 235265)}, NULL},
    {"\U0001F3F3\uFE0F\u200D\U0001F308", 0, /* one emoji of four characters */
     {IDS(248177, 238178, 237243, 243712), IDS(243661, 235969, 235879, 240737)}, NULL},
    {"\U0001FAE8\U0001FABF\U0001FA77", 0, /* no pieces: bytes */
     {IDS(478, 397, 409, 406, 478, 397, 408, 429, 255171),
      IDS(457, 376, 388, 385, 457, 376, 387, 408, 252525)}, NULL},
    {"1234 5678", 0,
     {IDS(236770, 236778, 236800, 236812, 236743, 236810, 236825, 236832, 236828),
      IDS(235274, 235284, 235304, 235310, 235248, 235308, 235318, 235324, 235321)}, NULL},
    {"\tif x:\n        return 12345", 0,
     {IDS(255968, 584, 1123, 236787, 107, 144, 2060, 236743, 236770, 236778, 236800, 236812, 236810),
      IDS(226, 648, 1141, 235292, 108, 145, 773, 235248, 235274, 235284, 235304, 235310, 235308)}, NULL},
    {"Hello  world", 0, {IDS(9259, 138, 12392), IDS(4521, 139, 9097)}, NULL},
    {"a \n b", 0, {IDS(236746, 236743, 107, 518), IDS(235250, 235248, 108, 518)}, NULL},
    {"a\n\n\nb", 0, {IDS(236746, 109, 236763), IDS(235250, 110, 235268)}, NULL},
    {"<start_of_turn>user\nWhat is 2+2?<end_of_turn>\n<start_of_turn>model\n", CARAT_SPECIAL,
     {IDS(105, 2364, 107, 3689, 563, 236743, 236778, 236862, 236778, 236881, 106, 107, 105, 4368, 107),
      IDS(106, 1645, 108, 1841, 603, 235248, 235284, 235340, 235284, 235336, 107, 108, 106, 2516, 108)},
     "<start_of_turn>"},
    {"<|turn>user\nWhat is 2+2?<turn|>\n<|turn>model\n", CARAT_SPECIAL,
     {IDS(105, 2364, 107, 3689, 563, 236743, 236778, 236862, 236778, 236881, 106, 107, 105, 4368, 107), NULL},
     "<|turn>"},
    /* no ids are known: these only have to come back as they are */
    {"", 0, {NULL}, NULL},
    {" ", 0, {NULL}, NULL},
    {"  leading and trailing  ", 0, {NULL}, NULL},
    {"tabs\t\tand\r\nlines\n\n\n\n", 0, {NULL}, NULL},
    {"a no-break\u00A0space, an ideographic\u3000one", 0, {NULL}, NULL},
    {"<b>markup</b> and <unused7>", 0, {NULL}, NULL},
    {"a\xcc\x81\xcc\x82 combining, \xe2\x80\x8fright to left", 0, {NULL}, NULL},
    {"int main(void) { return x[i] << 3 & ~0xff; } /* \\n */", 0, {NULL}, NULL},
    {"\xf4\x8f\xbf\xbf\xf3\xb0\x80\x80", 0, {NULL}, NULL},
};
/* clang-format on */
const int ct_golden_count = (int)CT_COUNT(ct_golden);
